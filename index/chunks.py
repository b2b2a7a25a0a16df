"""A document becomes chunks: the units that a search finds, one for each section and one for the preamble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from index.analysis import terms_of_heading, terms_of_text
from workspace.document import Document, Section

HEADING_WEIGHT = 2
"""A word of the own heading counts as this many in the text; a word of the headings above it as one."""


class Record(NamedTuple):
    """What lists need of a chunk, so that no document is parsed to show a hit.

    `start`, `body` (after the heading) and `end` are byte offsets in the blob, `line` and `end_line` count
    from 1 and are inclusive, `position` is the chunk's place among the `total` chunks of its file, from 1.
    """

    path: str
    key: str
    blob: str
    start: int
    body: int
    end: int
    line: int
    end_line: int
    heading: str
    breadcrumb: tuple[str, ...]
    type: str | None
    tags: tuple[str, ...]
    position: int
    total: int

    @property
    def chunk_id(self) -> str:
        return chunk_id(self.path, self.key)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A record, and the weight of each index term that finds it."""

    record: Record
    terms: Mapping[str, int]


def chunk_id(path: str, key: str) -> str:
    """Give the address of a chunk, which is its id: `guides/retries.md#backoff-strategy`."""
    return f"{path}#{key}"


def chunks(document: Document, blob: str) -> Iterator[Chunk]:
    """Cut a document into chunks, in order; a document with neither title nor text has none."""
    total = len(document.sections)
    for position, section in enumerate(document.sections, 1):
        record = Record(
            path=document.path,
            key=section.key,
            blob=blob,
            start=section.start,
            body=section.body,
            end=section.end,
            line=section.line,
            end_line=section.end_line,
            heading=section.title,
            breadcrumb=document.breadcrumb(section),
            type=document.type,
            tags=document.tags,
            position=position,
            total=total,
        )
        yield Chunk(record, _terms(document, section, record))


def _terms(document: Document, section: Section, record: Record) -> dict[str, int]:
    # The heading line is left out of the text: its words come from the title, without anchors and markup.
    text = document.data[section.start : section.heading_start] + document.data[section.body : section.end]
    terms = terms_of_text(text.decode("utf-8", "replace"))
    _add(terms, section.title, HEADING_WEIGHT)
    if not section.is_preamble:
        for heading in (document.title, *record.breadcrumb[:-1]):
            _add(terms, heading, 1)
    return terms


def _add(terms: dict[str, int], heading: str, weight: int) -> None:
    for term, count in terms_of_heading(heading).items():
        terms[term] = terms.get(term, 0) + weight * count
