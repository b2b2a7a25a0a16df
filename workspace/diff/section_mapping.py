"""Carrying an address from one version of a document to another: the same section, the same task.

A section is matched by its name alone (`section_pairs`). A task is found by its title within its section.
What cannot be told is a conflict, never a guess.
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

_SHOWN = 200


def map_address(old: Document, new: Document, address: str) -> str | None:
    """Return the address in `new` of the section or task that an address means in `old`.

    None where it means nothing in `old`. Raises SectionNotFound or TaskNotFound for what is gone, Conflict
    for what cannot be told from its like, AmbiguousAddress for an address that was ambiguous already.
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
    twin = _successor(SectionMatch(old, new, Evidence.NAME), section)
    return twin.key if task is None else format_task_address(twin, _same_task(old, section, task, new, twin))


def check_not_newer(tip: Document, address: str) -> None:
    """Refuse an address that means nothing in the commit that a caller names, and something in the tip.

    What is there was added since, so the caller cannot mean it. `_preamble` names a place, whether something
    stands there or not. Raises SectionNotFound, TaskNotFound.
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
        return  # this batch made it, or there is no such thing at all
    except AmbiguousAddress:
        pass
    shown = address if len(address) <= _SHOWN else address[:_SHOWN] + "…"
    fix = "Leave base_commit out, or give the newer commit that you read it in."
    if fragment.task is None:
        message = f"the section '{shown}' of {tip.path} is not in base_commit: it was added or renamed later"
        raise SectionNotFound(message, fix=fix, wanted=shown)
    raise TaskNotFound(
        f"the task '{shown}' of {tip.path} is not in base_commit: it was added or moved later", fix=fix
    )


def _successor(match: SectionMatch, section: Section) -> Section:
    """Return the section of the new version that was this one. Raises SectionNotFound, Conflict."""
    twin = match.successor(section)
    if twin is not None:
        return twin
    candidates = match.ambiguous.get(section.position)
    if candidates is None:
        raise _removed_error(match.new, section)
    raise ConcurrentChange(
        f"another writer changed {match.new.path} meanwhile, and which section '{section.key}' is now "
        "cannot be told",
        fix="View the document again, and name the section by the address that it has there.",
        file=match.new.path,
        slugs=[section.key],
        candidates=[item.key for item in candidates][:20],
    )


def _removed_error(document: Document, section: Section) -> SectionNotFound:
    known = [item.key for item in document.sections]
    return SectionNotFound(
        f"the section '{section.key}' of {document.path} is gone: another writer removed, moved or retitled "
        "it meanwhile",
        fix="View the document again to see what there is now.",
        candidates=find_nearest(section.key, known)
        or [name for name in known if name != PREAMBLE][:5]
        or known,
        wanted=section.key,
    )


def _same_task(old: Document, section: Section, task: Task, new: Document, twin: Section) -> Task:
    """Return the task of the new version: by index if the section is unchanged, else by title."""
    before, after = old.tasks(section), new.tasks(twin)
    if read_own_text(old, section) == read_own_text(new, twin):
        return next(item for item in after if item.index == task.index)
    name = _titles(before)[task.index]
    alike = sum(titles == name for titles in _titles(before).values())
    indexes = [index for index, titles in _titles(after).items() if titles == name]
    address = format_task_address(section, task)
    if not indexes:
        raise TaskNotFound(
            f"the task '{address}' of {new.path} is gone: another writer removed, moved or retitled it "
            "meanwhile",
            fix="View the section again to see its tasks.",
            tasks=_addresses(twin, after),
        )
    if alike > 1 or len(indexes) > 1:
        raise ConcurrentChange(
            f"another writer changed the tasks of '{twin.key}' in {new.path} meanwhile, and which of those "
            f"of the same title '{address}' is now cannot be told",
            fix="View the section again, and name the task by the index that it has there.",
            file=new.path,
            slugs=[address],
            candidates=[format_task_address(twin, item) for item in after if item.index in indexes][:20],
        )
    return next(item for item in after if item.index == indexes[0])


def _titles(tasks: Iterable[Task]) -> dict[str, tuple[str, ...]]:
    """Return what a task is called, by its index: its title after those of the tasks above it."""
    names: dict[str, tuple[str, ...]] = {}
    for task in tasks:
        above, _, _ = task.index.rpartition(".")
        names[task.index] = (*names.get(above, ()), task.title)
    return names


def _addresses(section: Section, tasks: Iterable[Task]) -> list[str]:
    return [format_task_address(section, task) for task in tasks][:50]
