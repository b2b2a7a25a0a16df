"""The links of a document or section as view_document shows them: where they lead, and who links there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.errors import visible
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Collection

    from index.link_graph.backlinks import Linked
    from tools.read_context import Pinned
    from workspace.document.document import Document, Section

MAX_LINKS = 20
_MAX_DESTINATION = 200
_PATIENCE = 1.0  # seconds to wait while every document's links are read
_NOT_YET = "links to this are still being looked for; ask again in a moment to see them"
_NOT_AT_REF = "links to this are known near the tip of the branch only, and this ref is far from it"


def links_data(
    place: Pinned, document: Document, sections: Collection[Section] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The first links from and to a document, or some of its sections, and how many there are; and hints.

    Nothing where there are none. Links to the document without a fragment are the preamble's.
    """
    from index.link_graph.backlinks import outgoing
    from workspace.links.world import OverlayWorld

    world = OverlayWorld(place.snapshot)
    chosen = None if sections is None else {section.key for section in sections}
    leaving = [link for link in outgoing(world, document) if chosen is None or link.section in chosen]
    data, hints = _first("outgoing", [_outgoing(link) for link in leaving])
    coming = _backlinks(place, document)
    if coming is None:
        return data, [*hints, _NOT_YET if place.ref is None else _NOT_AT_REF]
    if chosen is not None:
        preamble = document.preamble.key if document.preamble else None
        coming = [link for link in coming if (link.to or preamble) in chosen]
    back, more = _first("backlinks", [{"from": link.source_address, "line": link.line} for link in coming])
    return {**data, **back}, [*hints, *more]


def _backlinks(place: Pinned, document: Document) -> list[Linked] | None:
    """The links to a document; None if nobody knows them yet. The graph follows the branch, and no ref."""
    from index.link_graph.backlinks import backlinks
    from workspace.links.world import OverlayWorld

    graph, snapshot = place.context.index.links, place.snapshot
    try:
        records = graph.records(snapshot, document.path)
        if records is None and place.ref is None:
            graph.begin(snapshot).join(_PATIENCE)
            records = graph.records(snapshot, document.path)
    except WorkspaceError:  # another process is at work, or the disk is full
        return None
    return None if records is None else backlinks(OverlayWorld(snapshot), document, records)


def _first(name: str, links: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    if not links:
        return {}, []
    data = {name: links[:MAX_LINKS], f"{name}_total": len(links)}
    hint = f"the first {MAX_LINKS} of {len(links):,} {name} links are shown; view a section to see its own"
    return data, [hint] if len(links) > MAX_LINKS else []


def _outgoing(link: Linked) -> dict[str, Any]:
    address = visible(link.address)
    shown = address if len(address) <= _MAX_DESTINATION else address[:_MAX_DESTINATION] + "…"
    data: dict[str, Any] = {"to": shown, "line": link.line, "kind": link.kind.value}
    if link.is_image:
        data["image"] = True
    if link.is_broken:
        data["broken"] = True
    return data
