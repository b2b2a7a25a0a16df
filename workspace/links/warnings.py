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

# Every link that an edit adds contains one of these marks, on the lines that it writes or next to them.
_MARKS = (b"](", b"]:", b"[[", b"<")
_MAX_NAMED = 5


class LinkWarning(NamedTuple):
    """A link that was broken when an operation wrote it.

    `path` is the path of its document at that time.
    """

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
        broken = _find_broken(tree, path, written_links)
        if not broken:
            continue
        old_document = before.find(path)
        old_counts = (
            Counter(link.destination for link in _list_links_with_destination(old_document, after))
            if old_document
            else Counter[str]()
        )
        added = (
            Counter(link.destination for link in _list_links_with_destination(document, after)) - old_counts
        )
        warnings += (LinkWarning(path, link.destination) for link, _ in broken if link.destination in added)
    return list(dict.fromkeys(warnings))


def format_warnings(overlay: Overlay, warnings: Sequence[LinkWarning]) -> tuple[str, ...]:
    """Return the messages for links that are still broken after the batch, which name at most five links."""
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
            broken_links += _find_broken(tree, document.path, links)
    messages = tuple(_format_warning(tree, link, resolved) for link, resolved in broken_links[:_MAX_NAMED])
    omitted = len(broken_links) - len(messages)
    return (
        messages if not omitted else (*messages[:-1], f"{messages[-1]}; and {omitted} more links are broken")
    )


def _list_links_with_destination(document: Document, overlay: Overlay) -> Iterator[Link]:
    """Yield the links of a document that have a destination of their own."""
    # Imported late because these modules import the parser, which most edits do not need.
    from workspace.links.link import LinkKind
    from workspace.links.reader import read_cached_links

    links = read_cached_links(document, wiki=overlay.snapshot.config.links.wiki).links
    return (link for link in links if link.kind not in (LinkKind.REFERENCE, LinkKind.AUTOLINK))


def _make_file_tree(overlay: Overlay) -> FileTree:
    from workspace.links.world import OverlayFileTree

    return OverlayFileTree(overlay)


def _find_broken(tree: FileTree, path: str, links: Sequence[Link]) -> list[tuple[Link, ResolvedLink]]:
    from workspace.links.resolver import resolve

    results: dict[tuple[str, str], ResolvedLink] = {}
    for link in links:
        if (link.destination, link.kind) not in results:
            results[link.destination, link.kind] = resolve(tree, path, link)
    resolved = [(link, results[link.destination, link.kind]) for link in links]
    return [(link, result) for link, result in resolved if result.is_broken]


def _may_contain_link(data: bytes, spans: Sequence[tuple[int, int]]) -> bool:
    """Return True if new text may form a link, by itself or together with the rest of its lines."""
    stop = 0
    for start, end in spans:
        if end < stop:  # the line was already checked
            continue
        if data[start : start + 1] not in (b"\n", b"\r"):
            start = max(stop, data.rfind(b"\n", stop, start) + 1)
        stop = end
        if data[end - 1 : end] not in (b"\n", b"\r"):
            stop = data.find(b"\n", end)
            stop = len(data) if stop < 0 else stop
        text = data[start:stop]
        if any(mark in text for mark in _MARKS):
            return True
    return False


def _overlaps(spans: Sequence[tuple[int, int]], link: Link) -> bool:
    """Return True if one of the sorted spans contains a byte of a link."""
    index = bisect_left(spans, link.start + 1, key=lambda span: span[1])
    return index < len(spans) and spans[index][0] < link.end


def _format_warning(tree: FileTree, link: Link, resolved: ResolvedLink) -> str:
    from workspace.links.link import display_destination
    from workspace.links.resolver import LinkStatus, suggest_destination

    target = resolved.target
    subject = "image" if link.is_image else "link to"
    reason = f"there is no '{display_destination(target.path)}'" if target else "there is no such file"
    if resolved.status is LinkStatus.MISSING_FRAGMENT and target:
        path = display_destination(resolved.path or target.path)
        reason = f"no section '{display_destination(target.fragment or '')}' in {path}"
    suggestion = suggest_destination(tree, resolved)
    hint = f"; did you mean '{display_destination(suggestion)}'?" if suggestion else ""
    destination = display_destination(link.destination)
    return f"{subject} '{destination}' on line {link.line} is broken: {reason}{hint}"
