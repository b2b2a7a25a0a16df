"""Content and link targets of a folder, identified independently of moves and renames.

Every section gets a line with a mark that identifies it after moves and renames.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workspace.document.document import Document
from workspace.document.headings import AnchoredHeading
from workspace.document.sections import Section
from workspace.links.file_tree import OverlayFileTree
from workspace.links.reader import read_cached_links
from workspace.links.resolver import LinkStatus, resolve
from workspace.snapshot.snapshot import Snapshot

_MARK = re.compile(rb"Section-mark-(\d+)\.")


class Place(NamedTuple):
    """The target of a link: the mark of its section, else the original path of its file."""

    file: str | None
    mark: int | None


def add_marks(documents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the documents with a mark in each section; omit a document that cannot be marked."""
    number = 0
    found: dict[str, bytes] = {}
    for path, data in documents.items():
        document = Document.parse(data, path)
        ending = document.ending
        parts, position = [], 0
        for section in document.sections:
            line = b"Section-mark-%d." % number + ending
            before = b"" if data[: section.body].endswith((b"\n", b"\r")) or not section.body else ending
            parts += [data[position : section.body], before, ending, line, ending]
            position, number = section.body, number + 1
        written = b"".join((*parts, data[position:]))
        shape = [(item.level, item.title) for item in Document.parse(written, path).sections]
        if shape == [(item.level, item.title) for item in document.sections]:
            found[path] = written
    return found


def mark_of(document: Document, section: Section) -> int | None:
    """Return the mark of a section."""
    found = _MARK.search(document.data, section.body, section.end)
    return int(found[1]) if found else None


def links(snapshot: Snapshot, called: Mapping[str, str]) -> dict[tuple[int, int], Place | None]:
    """Return the target of each link by the mark of its section and its number there; None if broken.

    `called` has the original path of each file by its present path.
    """
    world = OverlayFileTree(snapshot)
    found: dict[tuple[int, int], Place | None] = {}
    for path in snapshot.documents:
        document = snapshot.document(path)
        sections = iter(document.sections)
        section, number, mark = next(sections, None), 0, None
        for link in read_cached_links(document).links:
            while section is not None and link.start >= section.end:
                section, number, mark = next(sections, None), 0, None
            if section is None:
                break
            mark = mark_of(document, section) if mark is None else mark
            if mark is None:
                continue
            resolved = resolve(world, path, link)
            number += 1
            if resolved.status is LinkStatus.EXTERNAL:
                continue
            place: Place | None = None
            if resolved.status is LinkStatus.OK and resolved.path is not None:
                inside = None
                if resolved.fragment_target is not None and resolved.fragment_target.section is not None:
                    other = snapshot.document(resolved.path)
                    inside = mark_of(other, other.sections[resolved.fragment_target.section])
                file = called.get(resolved.path, resolved.path)
                place = Place(file if inside is None else None, inside)
            found[mark, number] = place
    return found


def texts(snapshot: Snapshot) -> dict[int, bytes]:
    """Return the text of each section by its mark, without destinations."""
    found: dict[int, bytes] = {}
    for path in snapshot.documents:
        document = snapshot.document(path)
        for section in document.sections:
            mark = mark_of(document, section)
            if mark is not None:
                text = _without(document, _destinations(document), section.body, section.end).strip()
                found[mark] = text.replace(b"\r\n", b"\n")
    return found


def document_bytes(snapshot: Snapshot) -> dict[str, bytes]:
    """Return the bytes of each document, without anchors of headings and destinations."""
    return {path: _unanchored(snapshot.document(path)) for path in snapshot.documents}


def _unanchored(document: Document) -> bytes:
    """Return a document without destinations and anchors of headings, but with the headings' markers."""
    headings = (section.heading for section in document.sections if section.heading is not None)
    spans = (span for heading in headings for span in _anchors(document, heading))
    return _without(document, [*_destinations(document), *spans], 0, len(document.data))


def _destinations(document: Document) -> list[tuple[int, int]]:
    """Return the spans of the destinations of a document's links."""
    found = ((link.destination_start, link.destination_end) for link in read_cached_links(document).links)
    return [(start, end) for start, end in found if start < end]


def _without(document: Document, spans: list[tuple[int, int]], start: int, end: int) -> bytes:
    """Return the bytes of a part of a document, except those of some spans."""
    parts, position = [], start
    for first, last in sorted(spans):
        if position <= first and last <= end:
            parts.append(document.data[position:first])
            position = last
    return b"".join((*parts, document.data[position:end]))


def _anchors(document: Document, heading: AnchoredHeading) -> Iterator[tuple[int, int]]:
    """Yield the spans of a heading's anchors, before and after its text."""
    line = document.data[heading.heading_start : heading.body]
    for text in (heading.text.prefix, heading.text.suffix):
        anchors = text.encode("utf-8", "surrogateescape").rstrip()
        place = line.find(anchors) if anchors else -1
        if place >= 0:
            first = heading.heading_start + place
            yield first, first + len(anchors)
