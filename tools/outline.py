"""Outlines of documents in answers: sections, tasks and links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tools.pages import EntryBudget, exceeds, measure_tokens
from workspace.document.addresses import format_task_address
from workspace.document.section_text import read_own_text
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from index.link_graph.backlinks import DocumentLink
    from tools.read_context import ReadContext
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

TASKS_KEY = "tasks"
"""The key of the section that is always described as a list of tasks, even without tasks."""

# More entries would fill a model's context; an answer reports the total.
MAX_ENTRIES_SHOWN = 1_000


def count_progress(tasks: tuple[Task, ...]) -> dict[str, int]:
    """Return the number of tasks, and of completed tasks."""
    return {"total": len(tasks), "completed": sum(task.is_done for task in tasks)}


def summarize_sections(document: Document) -> dict[str, Any]:
    """Return the top sections, each with the addresses below it or its task progress.

    The result is empty if there are too many sections.
    """
    summary: dict[str, Any] = {}
    if len(document.sections) > MAX_ENTRIES_SHOWN:
        return summary
    for section in document.children(None):
        descendant_keys = [child.key for child in document.descendants(section)]
        tasks = document.tasks(section)
        if not tasks and section.key != TASKS_KEY:
            summary[section.key] = descendant_keys
        else:
            summary[section.key] = {
                **count_progress(tasks),
                **({"slugs": descendant_keys} if descendant_keys else {}),
            }
    return summary


_MAX_TITLED_TASKS = 20
_MIN_ENTRY_TOKENS = 30


class Outline(NamedTuple):
    """A part of an outline. `end` is the position of the section with which the next part begins."""

    entries: dict[str, Any]
    end: int


def build_outline(document: Document, first_index: int, tokens: int) -> Outline:
    """Return top sections and sections with subsections or tasks, by address, up to a maximum.

    A section that no entry of the part names has an entry too: its parent is in the part before, or does not
    name all of its subsections. The part has about `tokens` tokens at most, and at least one entry.
    """
    budget = EntryBudget(tokens)
    entries: dict[str, Any] = {}
    named_keys: set[str] = set()
    sections = document.sections[first_index : first_index + MAX_ENTRIES_SHOWN + 1]
    for section in sections:
        children = document.children(section) if not section.is_preamble else ()
        tasks = document.tasks(section)
        if section.is_preamble and not tasks:
            continue
        if section.parent is None or children or tasks or section.key not in named_keys:
            entry = _shorten_entry(_describe_section(section, children, tasks), tokens)
            if not budget.take({section.key: entry}) and entries:
                return Outline(entries, section.position)
            entries[section.key] = entry
            named_keys.update(entry.get("slugs", ()))
    return Outline(entries, first_index + len(sections))


def _shorten_entry(entry: dict[str, Any], tokens: int) -> dict[str, Any]:
    """Return an entry whose lists are cut so that it has about a number of tokens at most."""
    tokens = max(tokens, _MIN_ENTRY_TOKENS)
    while exceeds(entry, tokens):
        size = measure_tokens(entry)
        longest_name = max(entry, key=lambda name: measure_tokens(entry[name]))
        values = entry[longest_name]
        if not isinstance(values, list | dict) or not values:
            break
        count = min(len(values) * tokens // size, len(values) - 1)
        entry = {
            **entry,
            longest_name: dict([*values.items()][:count]) if isinstance(values, dict) else values[:count],
        }
    return entry


def list_titles_not_in_addresses(
    document: Document, first_index: int = 0, end: int = MAX_ENTRIES_SHOWN + 1
) -> dict[str, str]:
    """Return the titles of the sections whose addresses do not contain their titles, by address."""
    return {
        section.key: section.title
        for section in document.sections[first_index:end]
        if not section.is_preamble and section.key.rpartition("/")[2] != section.slug
    }


def _describe_section(
    section: Section, children: tuple[Section, ...], tasks: tuple[Task, ...]
) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if tasks or section.key == TASKS_KEY:
        open_addresses = [format_task_address(section.key, task) for task in tasks if not task.is_done]
        data |= {**count_progress(tasks), "active": open_addresses[:MAX_ENTRIES_SHOWN]}
        if 0 < len(tasks) <= _MAX_TITLED_TASKS:
            data["titles"] = {format_task_address(section.key, task): task.title for task in tasks}
    if children or not data:
        data |= {"count": len(children), "slugs": [child.key for child in children[:MAX_ENTRIES_SHOWN]]}
    return data


def build_truncation_hint(document: Document) -> str | None:
    """Return the hint for a document with more sections than are shown; None if all are shown."""
    count = len(document.sections)
    if count <= MAX_ENTRIES_SHOWN:
        return None
    return f"the first {MAX_ENTRIES_SHOWN:,} of {count:,} sections are shown; use search to find the others"


def find_first_section_with_text(document: Document, sections: Sequence[Section]) -> Section | None:
    """Return the first section with own text; else the first section."""
    sections_with_text = (item for item in sections if read_own_text(document, item))
    return next(sections_with_text, sections[0] if sections else None)


def describe_task(section: Section, task: Task) -> dict[str, Any]:
    """Return a task with the values of its sub-items."""
    from workspace.document.tasks import TASK_FIELDS

    data: dict[str, Any] = {
        "slug": format_task_address(section.key, task),
        "title": task.title,
        "completed": task.is_done,
    }
    if task.id is not None:
        data["id"] = task.id
    for name in TASK_FIELDS:
        value = task.field(name)
        if value:
            data["completed_on" if name == "completed" else name.replace(" ", "_")] = value
    if task.dependencies:
        data["depends_on"] = list(task.dependencies)
    return data


MAX_LINKS = 20
_MAX_DESTINATION_CHARACTERS = 200
_GRAPH_TIMEOUT_S = 1.0  # time to wait until all links of the workspace are read
_BACKLINKS_PENDING = "links to this document are not indexed yet; repeat the call later to see them"
_BACKLINKS_UNAVAILABLE = (
    "links to this document are not shown: they are indexed only near the tip of the branch"
)


def describe_links(
    read_context: ReadContext, document: Document, sections: Collection[Section] | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the first links from and to a document, or from and to `sections`, with counts, and hints.

    The data is empty without links. Links to the document without a fragment count as links to its preamble.
    """
    from index.link_graph.backlinks import resolve_outgoing
    from workspace.links.file_tree import OverlayFileTree

    file_tree = OverlayFileTree(read_context.snapshot)
    section_keys = None if sections is None else {section.key for section in sections}
    outgoing = [
        link
        for link in resolve_outgoing(file_tree, document)
        if section_keys is None or link.section in section_keys
    ]
    data, hints = _limit_links("outgoing", [_describe_outgoing(link) for link in outgoing])
    backlinks = _find_backlinks(read_context, document)
    if backlinks is None:
        return data, [*hints, _BACKLINKS_PENDING if read_context.ref is None else _BACKLINKS_UNAVAILABLE]
    if section_keys is not None:
        preamble = document.preamble.key if document.preamble else None
        backlinks = [link for link in backlinks if (link.target_key or preamble) in section_keys]
    backlink_data, backlink_hints = _limit_links(
        "backlinks", [{"from": link.source_address, "line": link.line} for link in backlinks]
    )
    return {**data, **backlink_data}, [*hints, *backlink_hints]


def describe_related(
    read_context: ReadContext, document: Document, sections: Collection[Section] | None = None
) -> list[dict[str, Any]]:
    """Return the sections of other documents that are nearest in meaning; empty unless the tip is read."""
    if read_context.ref is not None or not read_context.context.index.has_vectors:
        return []
    keys = None if sections is None else {section.key for section in sections}
    return [
        {"to": f"{related.path}#{related.key}", "title": " > ".join(related.breadcrumb)}
        for related in read_context.context.index.find_related(read_context.snapshot, document, keys)
    ]


def _find_backlinks(read_context: ReadContext, document: Document) -> list[DocumentLink] | None:
    """Return the links to a document; None if they are not indexed yet, or cannot be read.

    The link graph covers commits near the tip of the branch.
    """
    from index.link_graph.backlinks import resolve_backlinks
    from workspace.links.file_tree import OverlayFileTree

    graph, snapshot = read_context.context.index.links, read_context.snapshot
    try:
        records = graph.find_records(snapshot, document.path)
        if records is None and read_context.ref is None:
            graph.update_in_background(snapshot).join(_GRAPH_TIMEOUT_S)
            records = graph.find_records(snapshot, document.path)
    except WorkspaceError:  # such as a lock of another process, or a full disk
        return None
    return None if records is None else resolve_backlinks(OverlayFileTree(snapshot), document, records)


def _limit_links(name: str, links: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    if not links:
        return {}, []
    data = {name: links[:MAX_LINKS], f"{name}_total": len(links)}
    hint = f"the first {MAX_LINKS} of {len(links):,} {name} links are shown; view a section to see its links"
    return data, [hint] if len(links) > MAX_LINKS else []


def _describe_outgoing(link: DocumentLink) -> dict[str, Any]:
    address = escape_invisible(link.address)
    short_address = (
        address
        if len(address) <= _MAX_DESTINATION_CHARACTERS
        else address[:_MAX_DESTINATION_CHARACTERS] + "…"
    )
    data: dict[str, Any] = {"to": short_address, "line": link.line, "kind": link.kind.value}
    if link.is_image:
        data["image"] = True
    if link.is_broken:
        data["broken"] = True
    return data
