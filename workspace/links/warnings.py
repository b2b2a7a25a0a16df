"""Warnings about broken links that an operation wrote.

They are looked for after the operation, and looked at again after the whole batch: what they lead to may come
with a later operation.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.document.document import Document
    from workspace.links.link import Link
    from workspace.links.resolver import FileTree, ResolvedLink
    from workspace.links.survival import OffsetMap
    from workspace.snapshot.overlay import Overlay

# Every link holds one of these, in the lines that an edit writes or right beside them.
_MARKS = (b"](", b"]:", b"[[", b"<")
_MAX_NAMED = 5


class LinkWarning(NamedTuple):
    """A link that was broken when an operation wrote it: the document's path then, and the destination."""

    path: str
    destination: str


def find_link_warnings(before: Overlay, after: Overlay, survival: OffsetMap) -> Sequence[LinkWarning]:
    """Return the broken links in `after` that an operation added."""
    world: FileTree | None = None
    found: list[LinkWarning] = []
    for path in survival.new_paths:
        document = after.find(path)
        spans = survival.written(document) if document else ()
        if document is None or not _may_hold_link(document.data, spans):
            continue
        written = [link for link in _links(document, after) if _meets(spans, link)]
        if not written:
            continue
        world = world or _world(after)
        broken = _broken(world, path, written)
        if not broken:
            continue
        old = before.find(path)
        known = Counter(link.destination for link in _links(old, after)) if old else Counter[str]()
        added = Counter(link.destination for link in _links(document, after)) - known
        found += (LinkWarning(path, link.destination) for link, _ in broken if link.destination in added)
    return list(dict.fromkeys(found))


def format_warnings(overlay: Overlay, doubted: Sequence[LinkWarning]) -> tuple[str, ...]:
    """Return the messages for links that are still broken after the batch; five are named."""
    world = _world(overlay)
    found: list[tuple[Link, ResolvedLink]] = []
    for path in dict.fromkeys(doubt.path for doubt in doubted):
        document = overlay.find(overlay.now_at(path) or path)
        if document is not None:
            destinations = {doubt.destination for doubt in doubted if doubt.path == path}
            links = [link for link in _links(document, overlay) if link.destination in destinations]
            found += _broken(world, document.path, links)
    told = tuple(_format_warning(world, link, resolved) for link, resolved in found[:_MAX_NAMED])
    more = len(found) - len(told)
    return told if not more else (*told[:-1], f"{told[-1]}; and {more} more links lead nowhere")


def _links(document: Document, overlay: Overlay) -> Iterator[Link]:
    """Yield the links of a document that have a destination of their own."""
    # Imported here because the parser is, and most edits do without.
    from workspace.links.link import LinkKind
    from workspace.links.reader import read_cached_links

    links = read_cached_links(document, wiki=overlay.snapshot.config.links.wiki).links
    return (link for link in links if link.kind not in (LinkKind.REFERENCE, LinkKind.AUTOLINK))


def _world(overlay: Overlay) -> FileTree:
    from workspace.links.world import OverlayFileTree

    return OverlayFileTree(overlay)


def _broken(world: FileTree, path: str, links: Sequence[Link]) -> list[tuple[Link, ResolvedLink]]:
    from workspace.links.resolver import resolve

    known: dict[tuple[str, str], ResolvedLink] = {}
    for link in links:
        if (link.destination, link.kind) not in known:
            known[link.destination, link.kind] = resolve(world, path, link)
    resolved = [(link, known[link.destination, link.kind]) for link in links]
    return [(link, what) for link, what in resolved if what.is_broken]


def _may_hold_link(data: bytes, spans: Sequence[tuple[int, int]]) -> bool:
    """Return True if new text may form a link, by itself or with the rest of its lines."""
    stop = 0
    for start, end in spans:
        if end < stop:  # on a line that was looked at
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


def _meets(spans: Sequence[tuple[int, int]], link: Link) -> bool:
    """Return True if one of some spans in order holds a byte of a link."""
    place = bisect_left(spans, link.start + 1, key=lambda span: span[1])
    return place < len(spans) and spans[place][0] < link.end


def _format_warning(world: FileTree, link: Link, resolved: ResolvedLink) -> str:
    from workspace.links.link import display_destination
    from workspace.links.resolver import LinkStatus, suggest_destination

    target = resolved.target
    named = "image" if link.is_image else "link to"
    reason = f"there is no '{display_destination(target.path)}'" if target else "there is no such file"
    if resolved.status is LinkStatus.MISSING_FRAGMENT and target:
        path = display_destination(resolved.path or target.path)
        reason = f"no section '{display_destination(target.fragment or '')}' in {path}"
    close = suggest_destination(world, resolved)
    meant = f"; did you mean '{display_destination(close)}'?" if close else ""
    destination = display_destination(link.destination)
    return f"{named} '{destination}' on line {link.line} leads nowhere: {reason}{meant}"
