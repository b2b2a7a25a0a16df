"""The links of a document or section as view_document shows them: where they lead, and who links there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.answers import visible
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Collection

    from index.links.backlinks import Linked
    from tools.context import Context
    from workspace.document import Document, Section
    from workspace.snapshot import Snapshot

MAX_LINKS = 20
_MAX_DESTINATION = 200
_PATIENCE = 1.0  # seconds to wait while every document's links are read


def links_data(
    context: Context, snapshot: Snapshot, document: Document, sections: Collection[Section] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The first links from and to a document, or some of its sections, and how many there are; and hints.

    Nothing where there are none. Links to the document without a fragment are the preamble's.
    """
    from index.links.backlinks import outgoing
    from workspace.links.worlds import OverlayWorld

    world = OverlayWorld(snapshot)
    chosen = None if sections is None else {section.key for section in sections}
    leaving = [link for link in outgoing(world, document) if chosen is None or link.section in chosen]
    data, hints = _first("outgoing", [_outgoing(link) for link in leaving])
    coming = _backlinks(context, snapshot, document)
    if coming is None:
        return data, [*hints, "links to this are still being looked for; ask again in a moment to see them"]
    if chosen is not None:
        preamble = document.preamble.key if document.preamble else None
        coming = [link for link in coming if (link.to or preamble) in chosen]
    back, more = _first("backlinks", [{"from": link.source_address, "line": link.line} for link in coming])
    return {**data, **back}, [*hints, *more]


def _backlinks(context: Context, snapshot: Snapshot, document: Document) -> list[Linked] | None:
    """The links to a document; None if nobody knows them yet."""
    from index.links.backlinks import backlinks
    from workspace.links.worlds import OverlayWorld

    graph = context.index.links
    try:
        records = graph.records(snapshot, document.path)
        if records is None:
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
