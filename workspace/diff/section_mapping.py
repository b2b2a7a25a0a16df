"""Map the address of a section or task from one version of a document to another.

A section is matched by its name (`Evidence.NAME`), a task by its title within its section. Ambiguous matches
raise ConcurrentChange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.diff.sections import Evidence, SectionMatch
from workspace.document.addresses import (
    AmbiguousAddress,
    Fragment,
    SectionNotFound,
    TaskNotFound,
    format_task_address,
    read_fragment,
    resolve_section,
    resolve_task,
)
from workspace.document.section_text import read_own_text
from workspace.errors import ConcurrentChange
from workspace.markdown.slugs import PREAMBLE
from workspace.nearest import find_nearest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

_MAX_DISPLAYED_CHARACTERS = 200


def map_address(old: Document, new: Document, address: str) -> str | None:
    """Return the address in `new` of the section or task that an address refers to in `old`.

    Return None if the address does not exist in `old`. Raises SectionNotFound or TaskNotFound if the target
    was removed, ConcurrentChange if the match is ambiguous, AmbiguousAddress if the address was ambiguous in
    `old` already.
    """
    fragment = read_fragment(address)
    try:
        if fragment.task is None:
            section, task = resolve_section(old, address), None
        else:
            section, task = resolve_task(old, address)
    except (SectionNotFound, TaskNotFound):
        return None
    if old.data == new.data or (section.is_preamble and task is None):
        return address
    new_section = _find_successor(SectionMatch(old, new, Evidence.NAME), section)
    return (
        new_section.key
        if task is None
        else format_task_address(new_section.key, _find_task(old, section, task, new, new_section))
    )


def check_not_newer(tip: Document, address: str) -> None:
    """Raise an error for an address that exists in the tip, but not in the commit that a caller names.

    The section or task was added later, so the caller cannot refer to it. `_preamble` is a position, which
    exists even if there is no text. Raises SectionNotFound, TaskNotFound.
    """
    fragment = read_fragment(address)
    if fragment == Fragment(PREAMBLE, None):
        return
    try:
        if fragment.task is None:
            resolve_section(tip, address)
        else:
            resolve_task(tip, address)
    except (SectionNotFound, TaskNotFound):
        return  # the batch added it, or it does not exist
    except AmbiguousAddress:
        pass
    display_address = (
        address if len(address) <= _MAX_DISPLAYED_CHARACTERS else address[:_MAX_DISPLAYED_CHARACTERS] + "…"
    )
    fix = "Omit base_commit, or pass the newer commit in which you read it."
    if fragment.task is None:
        message = (
            f"the section '{display_address}' of {tip.path} is not in base_commit: "
            "it was added or renamed later"
        )
        raise SectionNotFound(message, fix=fix, wanted=display_address)
    raise TaskNotFound(
        f"the task '{display_address}' of {tip.path} is not in base_commit: it was added or moved later",
        fix=fix,
    )


def _find_successor(match: SectionMatch, section: Section) -> Section:
    """Return the section of the new version that matches. Raises SectionNotFound, ConcurrentChange."""
    counterpart = match.find_successor(section)
    if counterpart is not None:
        return counterpart
    candidates = match.ambiguous_candidates.get(section.position)
    if candidates is None:
        raise _make_removed_error(match.new, section)
    raise ConcurrentChange(
        f"another writer changed {match.new.path}, and section '{section.key}' now has several candidates",
        fix="View the document again, and use the section's current address.",
        file=match.new.path,
        slugs=[section.key],
        candidates=[item.key for item in candidates][:20],
    )


def _make_removed_error(document: Document, section: Section) -> SectionNotFound:
    keys = [item.key for item in document.sections]
    return SectionNotFound(
        f"the section '{section.key}' of {document.path} is missing: "
        "another writer removed, moved or renamed it",
        fix="View the document again to see its current sections.",
        candidates=find_nearest(section.key, keys) or [name for name in keys if name != PREAMBLE][:5] or keys,
        wanted=section.key,
    )


def _find_task(old: Document, section: Section, task: Task, new: Document, new_section: Section) -> Task:
    """Return the task of the new version: by index if the section is unchanged, or else by title."""
    old_tasks, new_tasks = old.tasks(section), new.tasks(new_section)
    if read_own_text(old, section) == read_own_text(new, new_section):
        return next(item for item in new_tasks if item.index == task.index)
    title_path = _build_title_paths(old_tasks)[task.index]
    equal_count = sum(titles == title_path for titles in _build_title_paths(old_tasks).values())
    indexes = [index for index, titles in _build_title_paths(new_tasks).items() if titles == title_path]
    address = format_task_address(section.key, task)
    if not indexes:
        raise TaskNotFound(
            f"the task '{address}' of {new.path} is missing: another writer removed, moved or renamed it",
            fix="View the section again to see its tasks.",
            tasks=_format_addresses(new_section, new_tasks),
        )
    if equal_count > 1 or len(indexes) > 1:
        raise ConcurrentChange(
            f"another writer changed the tasks of '{new_section.key}' in {new.path}, and task '{address}' "
            "now has several candidates of the same title",
            fix="View the section again, and use the task's current index.",
            file=new.path,
            slugs=[address],
            candidates=[
                format_task_address(new_section.key, item) for item in new_tasks if item.index in indexes
            ][:20],
        )
    return next(item for item in new_tasks if item.index == indexes[0])


def _build_title_paths(tasks: Iterable[Task]) -> dict[str, tuple[str, ...]]:
    """Return the title of each task by its index, preceded by the titles of its parent tasks."""
    paths: dict[str, tuple[str, ...]] = {}
    for task in tasks:
        parent, _, _ = task.index.rpartition(".")
        paths[task.index] = (*paths.get(parent, ()), task.title)
    return paths


def _format_addresses(section: Section, tasks: Iterable[Task]) -> list[str]:
    return [format_task_address(section.key, task) for task in tasks][:50]
