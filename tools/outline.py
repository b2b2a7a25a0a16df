"""Outlines: a document's sections and tasks as the tools show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workspace.document.addresses import task_address
from workspace.document.section_text import own_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document, Section, Task


TASKS = "tasks"
"""The section whose shape is that of tasks, whether it has any or not."""

# What is longer would fill a conversation; the answer says how much there is.
MAX_SHOWN = 1_000


def progress(tasks: tuple[Task, ...]) -> dict[str, int]:
    """How many tasks there are and how many are done."""
    return {"total": len(tasks), "completed": sum(task.is_done for task in tasks)}


def sections_in_brief(document: Document) -> dict[str, Any]:
    """The top sections: the addresses below each, or how far its tasks are, or both; none of too many."""
    brief: dict[str, Any] = {}
    if len(document.sections) > MAX_SHOWN:
        return brief
    for section in document.children(None):
        below = [child.key for child in document.descendants(section)]
        tasks = document.tasks(section)
        if not tasks and section.key != TASKS:
            brief[section.key] = below
        else:
            brief[section.key] = {**progress(tasks), **({"slugs": below} if below else {})}
    return brief


def sections_in_full(document: Document) -> dict[str, Any]:
    """The top sections, and every other that has subsections or tasks, by address; the first of many."""
    full: dict[str, Any] = {}
    for section in document.sections[: MAX_SHOWN + 1]:
        children = document.children(section) if not section.is_preamble else ()
        tasks = document.tasks(section)
        if section.is_preamble and not tasks:
            continue
        if section.parent is None or children or tasks:
            full[section.key] = _described(section, children, tasks)
    return full


def telling_titles(document: Document) -> dict[str, str]:
    """The titles of the sections whose addresses do not say them, by address."""
    return {
        section.key: section.title
        for section in document.sections[: MAX_SHOWN + 1]
        if not section.is_preamble and section.key.rpartition("/")[2] != section.slug
    }


def _described(section: Section, children: tuple[Section, ...], tasks: tuple[Task, ...]) -> dict[str, Any]:
    described: dict[str, Any] = {}
    if tasks or section.key == TASKS:
        active = [task_address(section, task) for task in tasks if not task.is_done]
        described |= {**progress(tasks), "active": active[:MAX_SHOWN]}
    if children or not described:
        described |= {"count": len(children), "slugs": [child.key for child in children[:MAX_SHOWN]]}
    return described


def cut_hint(document: Document) -> str | None:
    """What is said of a document that has more sections than are shown."""
    count = len(document.sections)
    if count <= MAX_SHOWN:
        return None
    return (
        f"{count:,} sections are too many to show them all; search finds those beyond the first {MAX_SHOWN:,}"
    )


def first_with_text(document: Document, sections: Sequence[Section]) -> Section | None:
    """Return the first section with text of its own, which says more than a heading; else the first one."""
    own = (item for item in sections if own_text(document, item))
    return next(own, sections[0] if sections else None)


def task_data(section: Section, task: Task) -> dict[str, Any]:
    """A task with what its sub-items say."""
    from workspace.document.tasks import TASK_FIELDS

    data: dict[str, Any] = {
        "slug": task_address(section, task),
        "title": task.title,
        "completed": task.is_done,
    }
    for name in TASK_FIELDS:
        value = task.field(name)
        if value:
            data["completed_on" if name == "completed" else name] = value
    return data
