"""The files that a document or a section describes, as globs.

`covers` in the front matter names those of the document:

    covers: ["src/session/**", "src/cookies.py"]

A list item names those of its section with its subsections:

    ## Sessions {#sessions}

    - Covers: `src/session/**`, `src/cookies.py`
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.fields import compile_field, split_entries
from workspace.globs import Glob, find_problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.document.document import Document
    from workspace.document.sections import Section

COVERS_KEY = "covers"
"""The key of front matter, and the name of the field."""

MAX_GLOBS = 100
"""The number of globs of one document or section that count; further globs are ignored."""

_WILDCARDS = "*?["
_FIELD = compile_field([COVERS_KEY])
_WORD = re.compile(COVERS_KEY.encode(), re.IGNORECASE)


class Coverage(NamedTuple):
    """The globs of a document, or of a section with its subsections.

    `section` is None for the document. [start, end) are the bytes of the field, or of the front matter.
    """

    section: Section | None
    globs: tuple[str, ...]
    start: int
    end: int

    @property
    def valid_globs(self) -> tuple[str, ...]:
        """The first `MAX_GLOBS` globs, without those that have a problem."""
        return tuple(glob for glob in self.globs[:MAX_GLOBS] if find_problem(glob) is None)

    def matches(self, path: str) -> bool:
        """Return True if a valid glob matches a path."""
        return any(Glob.compile(glob).matches(path) for glob in self.valid_globs)


def read_coverages(document: Document) -> tuple[Coverage, ...]:
    """Return the coverage of the document, if it has one, and those of its sections, in order."""
    if not may_have_coverage(document.data):
        return ()
    return (*_read_front_matter(document), *_read_fields(document))


def may_have_coverage(data: bytes) -> bool:
    """Return True if a document contains the word, so that it must be parsed."""
    return _WORD.search(data) is not None


def _read_front_matter(document: Document) -> Iterator[Coverage]:
    value = document.front_matter.get(COVERS_KEY)
    values = value if isinstance(value, list) else [value]
    globs = tuple(dict.fromkeys(item.strip() for item in values if isinstance(item, str)))
    if globs:
        yield Coverage(None, globs, 0, document.front_matter_end)


def _read_fields(document: Document) -> Iterator[Coverage]:
    """Yield the coverage of each section with a field; several fields of a section are one coverage."""
    coverages: dict[int, Coverage] = {}
    for field in _list_fields(document):
        if field.section is None or not field.globs:
            continue
        earlier = coverages.get(field.section.position)
        if earlier is None:
            coverages[field.section.position] = field
        else:
            all_globs = tuple(dict.fromkeys((*earlier.globs, *field.globs)))
            coverages[field.section.position] = earlier._replace(globs=all_globs)
    yield from coverages.values()


def list_empty_fields(document: Document) -> list[tuple[int, int]]:
    """Return the bytes [start, end) of each field of a section that names no glob."""
    return [(field.start, field.end) for field in _list_fields(document) if not field.globs]


def _list_fields(document: Document) -> Iterator[Coverage]:
    """Yield the fields of all sections, each as the coverage of its section."""
    if not may_have_coverage(document.data):
        return
    for item in document.outline.items:
        match = _FIELD.match(item.source) if item.parent is None else None
        start = document.lines.offset(item.line)
        section = document.section_at(start) if match else None
        if match is not None and section is not None:
            end = document.lines.offset(item.paragraph_end)
            yield Coverage(section, split_entries(match[2]), start, end)


def find_literal_folder(glob: str) -> str:
    """Return the folder below which a glob matches, with its final slash; empty for the top folder.

    A glob without wildcards may name a folder.
    """
    wildcard = min((glob.find(character) for character in _WILDCARDS if character in glob), default=None)
    if wildcard is None:
        return f"{glob.rstrip('/')}/"
    return glob[: glob.rfind("/", 0, wildcard) + 1]
