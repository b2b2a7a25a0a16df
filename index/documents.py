"""Documents as the index reads them, and section records as it returns them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.sections import build_breadcrumb

if TYPE_CHECKING:
    from workspace.config.taxonomy import Values
    from workspace.document.document import Document
    from workspace.document.sections import Section


DIGEST_BYTES = 16


@dataclass(frozen=True)
class IndexedDocument:
    """A document at one commit: its bytes, and its sections in order, as offsets in the bytes.

    `facets` has the values by which the sections can be filtered, for each taxonomy key of the document.
    `dates` has the dates of the front matter, `YYYY-MM-DD`, by key.
    """

    path: str
    blob: str
    title: str
    facets: Mapping[str, tuple[str, ...]]
    data: bytes
    sections: tuple[Section, ...]
    dates: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Document, blob: str, facets: Values | None = None) -> IndexedDocument:
        """Return the indexed form of a parsed document. A document without title and text has no sections."""
        return cls(
            document.path,
            blob,
            document.title,
            facets or {},
            document.data,
            document.sections,
            find_dates(document.front_matter),
        )

    @cached_property
    def sections_by_key(self) -> tuple[Section, ...]:
        """The sections in order of their keys, which is the order of their addresses."""
        return tuple(sorted(self.sections, key=lambda section: section.key))

    @cached_property
    def digests(self) -> tuple[bytes, ...]:
        """The digest of the headings and the text of each section, in the order of `sections_by_key`.

        A section is embedded from these values, so sections with equal digests have equal vectors.
        """
        return tuple(map(self._compute_digest, self.sections_by_key))

    def text(self, section: Section) -> bytes:
        """Return the text of a section without its heading. The heading is indexed from the plain title."""
        data = self.data
        if section.start == section.heading_start:
            return data[section.body_start : section.end]
        return data[section.start : section.heading_start] + data[section.body_start : section.end]

    def breadcrumb(self, section: Section) -> tuple[str, ...]:
        """Return the document's title and the titles from the top section down to this one.

        A preamble has the document's title alone.
        """
        return (
            (self.title,) if section.is_preamble else (self.title, *build_breadcrumb(self.sections, section))
        )

    def _compute_digest(self, section: Section) -> bytes:
        headings = "\0".join(self.breadcrumb(section)).encode("utf-8", "surrogatepass")
        return blake2b(b"%s\0\0%s" % (headings, self.text(section)), digest_size=DIGEST_BYTES).digest()

    def headings_above(self, section: Section) -> tuple[str, ...]:
        """Return the document's title and the headings above a section; a preamble has none."""
        return self.breadcrumb(section)[:-1]


@dataclass(frozen=True, slots=True)
class UnreadableDocument:
    """A document that Git could not read. The index leaves the document out and reports it."""

    path: str
    blob: str


_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ].*)?", re.DOTALL)
_DATE_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_MAX_DATES = 16


def find_dates(front_matter: Mapping[str, object]) -> dict[str, str]:
    """Return the first 16 dates of some front matter by key, each as YYYY-MM-DD.

    Keys are skipped unless they are ASCII names of at most 64 characters.
    """
    dates: dict[str, str] = {}
    for key, value in front_matter.items():
        if len(dates) < _MAX_DATES and _DATE_KEY.fullmatch(key) and (day := _parse_date(value)) is not None:
            dates[key] = day
    return dates


def _parse_date(value: object) -> str | None:
    if isinstance(value, str) and (match := _DATE.fullmatch(value.strip())):
        try:
            return date.fromisoformat(match[1]).isoformat()
        except ValueError:
            return None
    # A datetime is also a date.
    return f"{value:%Y-%m-%d}".zfill(10) if isinstance(value, date) else None


class SectionRecord(NamedTuple):
    """The data of a section that results need, so that no document is parsed to show a hit.

    `start`, `heading_start`, `body` (after the heading) and `end` are byte offsets in the blob. `line` and
    `end_line` count from 1 and are inclusive. `position` is the section's number in its
    file, from 1, and `total` the number of sections of the file.
    """

    path: str
    key: str
    blob: str
    start: int
    heading_start: int
    body: int
    end: int
    line: int
    end_line: int
    heading: str
    breadcrumb: tuple[str, ...]
    facets: Mapping[str, tuple[str, ...]]
    position: int
    total: int

    @property
    def chunk_id(self) -> str:
        return format_chunk_id(self.path, self.key)


def format_chunk_id(path: str, key: str) -> str:
    """Return the address of a section, which is its id: `guides/retries.md#backoff-strategy`."""
    return f"{path}#{key}"
