"""Outlines: a document's sections, tasks and links as the tools show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.errors import escape_invisible
from workspace.document.addresses import format_task_address
from workspace.document.section_text import read_own_text
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from index.link_graph.backlinks import DocumentLink
    from tools.read_context import ReadContext
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

TASKS = "tasks"
"""The section whose shape is that of tasks, whether it has any or not."""

# What is longer would fill a conversation; the answer says how much there is.
MAX_SHOWN = 1_000


def count_progress(tasks: tuple[Task, ...]) -> dict[str, int]:
    """Return how many tasks there are and how many are done."""
    return {"total": len(tasks), "completed": sum(task.is_done for task in tasks)}


def summarize_sections(document: Document) -> dict[str, Any]:
    """Return the top sections with the addresses below each, its task progress, or both; none if too many."""
    brief: dict[str, Any] = {}
    if len(document.sections) > MAX_SHOWN:
        return brief
    for section in document.children(None):
        below = [child.key for child in document.descendants(section)]
        tasks = document.tasks(section)
        if not tasks and section.key != TASKS:
            brief[section.key] = below
        else:
            brief[section.key] = {**count_progress(tasks), **({"slugs": below} if below else {})}
    return brief


def list_sections(document: Document) -> dict[str, Any]:
    """Return the top sections, and all others with subsections or tasks, by address; the first of many."""
    full: dict[str, Any] = {}
    for section in document.sections[: MAX_SHOWN + 1]:
        children = document.children(section) if not section.is_preamble else ()
        tasks = document.tasks(section)
        if section.is_preamble and not tasks:
            continue
        if section.parent is None or children or tasks:
            full[section.key] = _describe_section(section, children, tasks)
    return full


def extra_titles(document: Document) -> dict[str, str]:
    """Return, by address, the titles of the sections whose addresses do not contain them."""
    return {
        section.key: section.title
        for section in document.sections[: MAX_SHOWN + 1]
        if not section.is_preamble and section.key.rpartition("/")[2] != section.slug
    }


def _describe_section(
    section: Section, children: tuple[Section, ...], tasks: tuple[Task, ...]
) -> dict[str, Any]:
    described: dict[str, Any] = {}
    if tasks or section.key == TASKS:
        active = [format_task_address(section, task) for task in tasks if not task.is_done]
        described |= {**count_progress(tasks), "active": active[:MAX_SHOWN]}
    if children or not described:
        described |= {"count": len(children), "slugs": [child.key for child in children[:MAX_SHOWN]]}
    return described


def cut_hint(document: Document) -> str | None:
    """Return what is said of a document that has more sections than are shown."""
    count = len(document.sections)
    if count <= MAX_SHOWN:
        return None
    return (
        f"{count:,} sections are too many to show them all; search finds those beyond the first {MAX_SHOWN:,}"
    )


def first_with_text(document: Document, sections: Sequence[Section]) -> Section | None:
    """Return the first section with text of its own, which says more than a heading; else the first one."""
    own = (item for item in sections if read_own_text(document, item))
    return next(own, sections[0] if sections else None)


def task_data(section: Section, task: Task) -> dict[str, Any]:
    """Return a task with what its sub-items say."""
    from workspace.document.tasks import TASK_FIELDS

    data: dict[str, Any] = {
        "slug": format_task_address(section, task),
        "title": task.title,
        "completed": task.is_done,
    }
    for name in TASK_FIELDS:
        value = task.field(name)
        if value:
            data["completed_on" if name == "completed" else name] = value
    return data


MAX_LINKS = 20
_MAX_DESTINATION = 200
_PATIENCE = 1.0  # seconds to wait while every document's links are read
_NOT_YET = "links to this are still being looked for; ask again in a moment to see them"
_NOT_AT_REF = "links to this are known near the tip of the branch only, and this ref is far from it"


def links_data(
    place: ReadContext, document: Document, sections: Collection[Section] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the first links from and to a document, or some of its sections, with their counts and hints.

    The result is empty if there are none. Links to the document without a fragment are the preamble's.
    """
    from index.link_graph.backlinks import resolve_outgoing
    from workspace.links.world import OverlayFileTree

    world = OverlayFileTree(place.snapshot)
    chosen = None if sections is None else {section.key for section in sections}
    leaving = [link for link in resolve_outgoing(world, document) if chosen is None or link.section in chosen]
    data, hints = _first("outgoing", [_outgoing(link) for link in leaving])
    coming = _backlinks(place, document)
    if coming is None:
        return data, [*hints, _NOT_YET if place.ref is None else _NOT_AT_REF]
    if chosen is not None:
        preamble = document.preamble.key if document.preamble else None
        coming = [link for link in coming if (link.to or preamble) in chosen]
    back, more = _first("backlinks", [{"from": link.source_address, "line": link.line} for link in coming])
    return {**data, **back}, [*hints, *more]


def _backlinks(place: ReadContext, document: Document) -> list[DocumentLink] | None:
    """Return the links to a document; None if nobody knows them yet.

    The graph follows the branch, and no ref.
    """
    from index.link_graph.backlinks import resolve_backlinks
    from workspace.links.world import OverlayFileTree

    graph, snapshot = place.context.index.links, place.snapshot
    try:
        records = graph.records(snapshot, document.path)
        if records is None and place.ref is None:
            graph.begin(snapshot).join(_PATIENCE)
            records = graph.records(snapshot, document.path)
    except WorkspaceError:  # another process is at work, or the disk is full
        return None
    return None if records is None else resolve_backlinks(OverlayFileTree(snapshot), document, records)


def _first(name: str, links: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    if not links:
        return {}, []
    data = {name: links[:MAX_LINKS], f"{name}_total": len(links)}
    hint = f"the first {MAX_LINKS} of {len(links):,} {name} links are shown; view a section to see its own"
    return data, [hint] if len(links) > MAX_LINKS else []


def _outgoing(link: DocumentLink) -> dict[str, Any]:
    address = escape_invisible(link.address)
    shown = address if len(address) <= _MAX_DESTINATION else address[:_MAX_DESTINATION] + "…"
    data: dict[str, Any] = {"to": shown, "line": link.line, "kind": link.kind.value}
    if link.is_image:
        data["image"] = True
    if link.is_broken:
        data["broken"] = True
    return data
