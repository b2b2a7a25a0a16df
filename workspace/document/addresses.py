"""Addresses: one way to name a document, a section or a task, and the one resolver that answers them.

path.md                              a document
path.md#endpoints/search-endpoint    a section
path.md#_preamble                    the title and introduction
path.md#tasks[0]  path.md#tasks[1.0] a task, a sub-task
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.errors import HintKind, SuggestionSource, WorkspaceError
from workspace.markdown.slugs import PREAMBLE, make_heading_slug
from workspace.nearest import _NEAREST, find_nearest
from workspace.paths import MAX_PATH

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

_TASK = re.compile(r"(?P<section>[^\[]*)(?P<index>(?:\[\d{1,9}(?:\.\d{1,9})*\])+)$", re.DOTALL)


class SectionNotFound(WorkspaceError):
    """No section has this address. `candidates` are the nearest addresses."""

    code = "SECTION_NOT_FOUND"


class TaskNotFound(WorkspaceError):
    """The section has no such task. `tasks` are the indexes that it has."""

    code = "TASK_NOT_FOUND"


class AmbiguousAddress(WorkspaceError):
    """Several sections answer to this address. `candidates` are their keys, titles and lines."""

    code = "AMBIGUOUS_ADDRESS"


class InvalidAddress(WorkspaceError):
    """A text that cannot be an address of the kind that was asked for."""

    code = "INVALID_ADDRESS"


@dataclass(frozen=True, slots=True)
class Fragment:
    """The fragment behind the `#`: a section's address, and the index of a task in the section."""

    section: str
    task: str | None


def split_address(address: str, paths: Container[str]) -> tuple[str, str | None]:
    """Return a path and a fragment.

    The longest path that exists wins, so `C#.md#setup` reads as people mean it.
    """
    # No path is longer; each `#` in a longer text would be a further look-up of all that stands before it.
    cut = min(len(address), MAX_PATH + 1)
    while (cut := address.rfind("#", 0, cut)) != -1:
        if address[:cut] in paths:
            return (address, None) if address in paths else (address[:cut], address[cut + 1 :])
    if address in paths or "#" not in address:
        return address, None
    path, _, fragment = address.partition("#")
    return path, fragment


def read_fragment(fragment: str) -> Fragment:
    """Part `tasks[0]` into section and task; a leading `#` is dropped. `[1][0]` is read as `[1.0]`."""
    text = fragment.strip().removeprefix("#")
    found = _TASK.match(text)
    if found is None:
        return Fragment(text, None)
    return Fragment(found["section"], found["index"][1:-1].replace("][", "."))


def resolve_section(document: Document, slug: str) -> Section:
    """Return the section of a slug: by address, else alias, else the slug of its heading if unique.

    Raises SectionNotFound, AmbiguousAddress, or InvalidAddress for a task's address.
    """
    fragment = read_fragment(slug)
    if fragment.task is not None:
        raise InvalidAddress(
            f"'{slug}' is the address of a task, and a section is meant here",
            fix=f"Use '{fragment.section}'.",
            candidates=[fragment.section],
            wanted=slug,
        )
    wanted = fragment.section
    matches = find_sections_by_name(document, wanted)
    if len(matches) > 1:
        raise _ambiguous(document, wanted, matches)
    if not matches:
        raise section_not_found(document, wanted)
    return matches[0]


def find_sections_by_name(document: Document, name: str) -> Sequence[Section]:
    """Return the sections that match a name by address, else alias, else slug; several are ambiguous."""
    known = document.section_by_key(name)
    return document.sections_by_address(name) or ((known,) if known else _answering(document, name))


def _answering(document: Document, name: str) -> Sequence[Section]:
    """Return the sections that have a name as an alias; else those whose own heading has it as its slug.

    Else those that an earlier version gave the name.
    """
    if name == PREAMBLE:
        return ()
    aliases = [item for item in document.sections if name in item.aliases or name == item.anchor]
    if aliases:
        return aliases
    slugs = [item for item in document.sections if item.slug == name and not item.is_preamble]
    return slugs or document.earlier_names.get(name, ())


def resolve_task(document: Document, slug: str) -> tuple[Section, Task]:
    """Return the task that an address such as `tasks[0]` names, and its section."""
    fragment = read_fragment(slug)
    if fragment.task is None:
        section = resolve_section(document, slug)
        tasks = document.tasks(section)
        example = format_task_address(section, tasks[0]) if tasks else f"{section.address}[0]"
        raise InvalidAddress(
            f"'{slug}' is the address of a section, and a task is meant here",
            fix=f"Name a task by its index, counted from 0: '{example}'.",
            tasks=[format_task_address(section, task) for task in tasks[:20]],
        )
    section = resolve_section(document, fragment.section)
    tasks = document.tasks(section)
    index = ".".join(str(int(number)) for number in fragment.task.split("."))
    for task in tasks:
        if task.index == index:
            return section, task
    known = [format_task_address(section, task) for task in tasks]
    last = f"the last is {known[-1]}" if known else "it has none"
    raise TaskNotFound(
        f"the section '{section.address}' of {document.path} has no task [{index}]; {last}",
        fix="They are counted from 0." if known else "Name the section alone, or add a task first.",
        among=SuggestionSource(HintKind.TASKS, document.path, section.key) if known else None,
        tasks=known[:50],
    )


def format_task_address(section: Section, task: Task) -> str:
    """Return the address of a task within its file."""
    return f"{section.key}[{task.index}]"


def format_full_address(path: str, section: Section) -> str:
    """Return the address of a section within the workspace."""
    return f"{path}#{section.address}"


def section_not_found(document: Document, slug: str) -> SectionNotFound:
    """Return the error for a slug that names no section, with the nearest addresses."""
    known = [section.address for section in document.sections]
    renamed = [section for section in document.sections if _titled(document, section) == slug]
    close = [section.key for section in renamed] or find_nearest(slug, known)
    among = None
    if renamed:
        fix = f"Use '{close[0]}': the section of that title has this address."
    elif close:
        fix = f"Did you mean '{close[0]}'?"
    elif known:
        fix = "Name a section that it has."
        among = SuggestionSource(HintKind.SECTIONS, document.path)
    else:
        fix = "The document has no sections yet: name it alone, or add a section first."
    shown = slug if len(slug) <= 200 else slug[:200] + "…"
    return SectionNotFound(
        f"no section '{shown}' in {document.path}",
        fix=fix,
        among=among,
        candidates=close or [name for name in known if name != PREAMBLE][:_NEAREST] or known,
        wanted=shown,
    )


def _titled(document: Document, section: Section) -> str:
    """Return the address that a section would have if its own title and those above it gave it."""
    return "/".join(make_heading_slug(title) for title in document.breadcrumb(section))


def _ambiguous(document: Document, slug: str, matches: Sequence[Section]) -> AmbiguousAddress:
    candidates = [
        {
            "slug": section.key,
            "title": section.title,
            "line": section.line,
            "parent": _parent(document, section),
        }
        for section in matches
    ]
    lines = ", ".join(str(section.line) for section in matches)
    same = all(section.address == slug for section in matches)
    fix = (
        f"Use one of the candidates, such as '{matches[0].key}', and give each heading an anchor of its own."
        if same
        else "Use one of the candidates' full addresses."
    )
    return AmbiguousAddress(
        f"'{slug}' names {len(matches)} sections of {document.path}, on lines {lines}",
        fix=fix,
        candidates=candidates,
        wanted=slug,
    )


def _parent(document: Document, section: Section) -> str | None:
    return None if section.parent is None else document.sections[section.parent].address
