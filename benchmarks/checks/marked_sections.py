"""Content and link targets of a folder, identified independently of moves and renames.

Every section gets a line with a mark, which identifies the section after moves and renames.
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


class LinkTarget(NamedTuple):
    """The target of a link: the mark of its section, else the original path of its file."""

    original_path: str | None
    mark: int | None


def add_marks(documents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the documents with a mark in each section; omit a document if a mark changes its headings."""
    number = 0
    marked_documents: dict[str, bytes] = {}
    for path, data in documents.items():
        document = Document.parse(data, path)
        line_end = document.line_ending
        parts, position = [], 0
        for section in document.sections:
            line = b"Section-mark-%d." % number + line_end
            line_break = (
                b""
                if data[: section.body_start].endswith((b"\n", b"\r")) or not section.body_start
                else line_end
            )
            parts += [data[position : section.body_start], line_break, line_end, line, line_end]
            position, number = section.body_start, number + 1
        marked_data = b"".join((*parts, data[position:]))
        headings = [(item.level, item.title) for item in Document.parse(marked_data, path).sections]
        if headings == [(item.level, item.title) for item in document.sections]:
            marked_documents[path] = marked_data
    return marked_documents


def find_mark(document: Document, section: Section) -> int | None:
    """Return the mark of a section; None if the section has no mark."""
    match = _MARK.search(document.data, section.body_start, section.end)
    return int(match[1]) if match else None


def map_links_to_targets(
    snapshot: Snapshot, original_paths: Mapping[str, str]
) -> dict[tuple[int, int], LinkTarget | None]:
    """Return the target of each link (None for a broken link), by section mark and number in the section.

    External links, and links in sections without a mark, are omitted.
    `original_paths` has the original path of each file by its present path.
    """
    file_tree = OverlayFileTree(snapshot)
    targets: dict[tuple[int, int], LinkTarget | None] = {}
    for path in snapshot.documents:
        document = snapshot.document(path)
        sections = iter(document.sections)
        section, number, mark = next(sections, None), 0, None
        for link in read_cached_links(document).links:
            while section is not None and link.start >= section.end:
                section, number, mark = next(sections, None), 0, None
            if section is None:
                break
            mark = find_mark(document, section) if mark is None else mark
            if mark is None:
                continue
            resolved_link = resolve(file_tree, path, link)
            number += 1
            if resolved_link.status is LinkStatus.EXTERNAL:
                continue
            target: LinkTarget | None = None
            if resolved_link.status is LinkStatus.OK and resolved_link.path is not None:
                target_mark = None
                if (
                    resolved_link.fragment_target is not None
                    and resolved_link.fragment_target.section is not None
                ):
                    target_document = snapshot.document(resolved_link.path)
                    target_mark = find_mark(
                        target_document, target_document.sections[resolved_link.fragment_target.section]
                    )
                original_path = original_paths.get(resolved_link.path, resolved_link.path)
                target = LinkTarget(original_path if target_mark is None else None, target_mark)
            targets[mark, number] = target
    return targets


def map_marks_to_texts(snapshot: Snapshot) -> dict[int, bytes]:
    """Return the text of each section below its heading, by mark, without link destinations.

    Line endings are LF, and white space at both ends is removed.
    """
    texts_by_mark: dict[int, bytes] = {}
    for path in snapshot.documents:
        document = snapshot.document(path)
        for section in document.sections:
            mark = find_mark(document, section)
            if mark is not None:
                text = _remove_spans(
                    document, _find_destination_spans(document), section.body_start, section.end
                ).strip()
                texts_by_mark[mark] = text.replace(b"\r\n", b"\n")
    return texts_by_mark


def normalize_documents(snapshot: Snapshot) -> dict[str, bytes]:
    """Return the bytes of each document by path, without anchors of headings and link destinations."""
    return {path: _remove_anchors(snapshot.document(path)) for path in snapshot.documents}


def _remove_anchors(document: Document) -> bytes:
    """Return the bytes of a document without link destinations and anchors of headings."""
    headings = (section.heading for section in document.sections if section.heading is not None)
    spans = (span for heading in headings for span in _find_anchor_spans(document, heading))
    return _remove_spans(document, [*_find_destination_spans(document), *spans], 0, len(document.data))


def _find_destination_spans(document: Document) -> list[tuple[int, int]]:
    """Return the spans of the destinations of a document's links."""
    spans = ((link.destination_start, link.destination_end) for link in read_cached_links(document).links)
    return [(start, end) for start, end in spans if start < end]


def _remove_spans(document: Document, spans: list[tuple[int, int]], start: int, end: int) -> bytes:
    """Return the bytes of a document from `start` to `end` without the given spans."""
    parts, position = [], start
    for span_start, span_end in sorted(spans):
        if position <= span_start and span_end <= end:
            parts.append(document.data[position:span_start])
            position = span_end
    return b"".join((*parts, document.data[position:end]))


def _find_anchor_spans(document: Document, heading: AnchoredHeading) -> Iterator[tuple[int, int]]:
    """Yield the spans of a heading's anchors, before and after its text."""
    line = document.data[heading.heading_start : heading.body_start]
    for text in (heading.text.prefix, heading.text.suffix):
        anchors = text.encode("utf-8", "surrogateescape").rstrip()
        offset = line.find(anchors) if anchors else -1
        if offset >= 0:
            anchor_start = heading.heading_start + offset
            yield anchor_start, anchor_start + len(anchors)
