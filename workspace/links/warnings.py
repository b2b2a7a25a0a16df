"""Warnings about broken links that an operation wrote.

Warnings are collected after each operation and checked again after the batch, because a later operation may
create the target of a link.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.document.document import Document
    from workspace.links.link import Link
    from workspace.links.offset_map import OffsetMap
    from workspace.links.resolver import FileTree, ResolvedLink
    from workspace.snapshot.overlay import Overlay

# A link that an edit adds has one of these marks on a line that the edit changed.
_LINK_MARKS = (b"](", b"]:", b"[[", b"<")
_MAX_LINKS_IN_MESSAGES = 5


class LinkWarning(NamedTuple):
    """A link that was broken when an operation wrote it; `path` is the document's path at that time."""

    path: str
    destination: str


def find_link_warnings(before: Overlay, after: Overlay, offset_map: OffsetMap) -> Sequence[LinkWarning]:
    """Return the broken links in `after` that an operation added."""
    tree: FileTree | None = None
    warnings: list[LinkWarning] = []
    for path in offset_map.new_paths:
        document = after.find(path)
        spans = offset_map.find_written_spans(document) if document else ()
        if document is None or not _may_contain_link(document.data, spans):
            continue
        written_links = [
            link for link in _list_links_with_destination(document, after) if _overlaps(spans, link)
        ]
        if not written_links:
            continue
        tree = tree or _make_file_tree(after)
        broken_links = _find_broken_links(tree, path, written_links)
        if not broken_links:
            continue
        old_document = before.find(path)
        old_counts = (
            Counter(link.destination for link in _list_links_with_destination(old_document, after))
            if old_document
            else Counter[str]()
        )
        added_counts = (
            Counter(link.destination for link in _list_links_with_destination(document, after)) - old_counts
        )
        warnings += (
            LinkWarning(path, link.destination)
            for link, _ in broken_links
            if link.destination in added_counts
        )
    return list(dict.fromkeys(warnings))


def format_warnings(overlay: Overlay, warnings: Sequence[LinkWarning]) -> tuple[str, ...]:
    """Return messages for at most five links that are still broken after the batch."""
    tree = _make_file_tree(overlay)
    broken_links: list[tuple[Link, ResolvedLink]] = []
    for path in dict.fromkeys(warning.path for warning in warnings):
        document = overlay.find(overlay.find_moved_path(path) or path)
        if document is not None:
            destinations = {warning.destination for warning in warnings if warning.path == path}
            links = [
                link
                for link in _list_links_with_destination(document, overlay)
                if link.destination in destinations
            ]
            broken_links += _find_broken_links(tree, document.path, links)
    messages = tuple(
        _format_warning(tree, link, resolved_link)
        for link, resolved_link in broken_links[:_MAX_LINKS_IN_MESSAGES]
    )
    omitted_count = len(broken_links) - len(messages)
    return (
        messages
        if not omitted_count
        else (*messages[:-1], f"{messages[-1]}; and {omitted_count} more links are broken")
    )


def _list_links_with_destination(document: Document, overlay: Overlay) -> Iterator[Link]:
    """Yield the links whose own destination can be broken: no autolinks, and no references."""
    # Imported late because these modules import the parser, which most edits do not need.
    from workspace.links.link import LinkKind
    from workspace.links.reader import read_cached_links

    links = read_cached_links(document, wiki=overlay.snapshot.config.links.wiki).links
    return (link for link in links if link.kind not in (LinkKind.REFERENCE, LinkKind.AUTOLINK))


def _make_file_tree(overlay: Overlay) -> FileTree:
    from workspace.links.file_tree import OverlayFileTree

    return OverlayFileTree(overlay)


def _find_broken_links(tree: FileTree, path: str, links: Sequence[Link]) -> list[tuple[Link, ResolvedLink]]:
    from workspace.links.resolver import resolve

    results: dict[tuple[str, str], ResolvedLink] = {}
    for link in links:
        if (link.destination, link.kind) not in results:
            results[link.destination, link.kind] = resolve(tree, path, link)
    resolved_links = [(link, results[link.destination, link.kind]) for link in links]
    return [(link, result) for link, result in resolved_links if result.is_broken]


def _may_contain_link(data: bytes, spans: Sequence[tuple[int, int]]) -> bool:
    """Return True if the lines that contain new text may contain a link."""
    line_end = 0
    for start, end in spans:
        if end < line_end:  # the line was already checked
            continue
        if data[start : start + 1] not in (b"\n", b"\r"):
            start = max(line_end, data.rfind(b"\n", line_end, start) + 1)
        line_end = end
        if data[end - 1 : end] not in (b"\n", b"\r"):
            line_end = data.find(b"\n", end)
            line_end = len(data) if line_end < 0 else line_end
        text = data[start:line_end]
        if any(mark in text for mark in _LINK_MARKS):
            return True
    return False


def _overlaps(spans: Sequence[tuple[int, int]], link: Link) -> bool:
    """Return True if one of the sorted spans contains a byte of a link."""
    index = bisect_left(spans, link.start + 1, key=lambda span: span[1])
    return index < len(spans) and spans[index][0] < link.end


def _format_warning(tree: FileTree, link: Link, resolved_link: ResolvedLink) -> str:
    from workspace.links.link import display_destination
    from workspace.links.resolver import LinkStatus, suggest_destination

    target = resolved_link.target
    subject = "image" if link.is_image else "link to"
    reason = f"there is no '{display_destination(target.path)}'" if target else "there is no such file"
    if resolved_link.status is LinkStatus.MISSING_FRAGMENT and target:
        path = display_destination(resolved_link.path or target.path)
        reason = f"no section '{display_destination(target.fragment or '')}' in {path}"
    suggestion = suggest_destination(tree, resolved_link)
    suggestion_text = f"; did you mean '{display_destination(suggestion)}'?" if suggestion else ""
    destination = display_destination(link.destination)
    return f"{subject} '{destination}' on line {link.line} is broken: {reason}{suggestion_text}"
