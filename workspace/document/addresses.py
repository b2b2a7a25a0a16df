"""Addresses of documents, sections and tasks, and the functions that resolve them.

path.md                              a document
path.md#endpoints/search-endpoint    a section
path.md#_preamble                    the title and introduction
path.md#tasks[0]  path.md#tasks[1.0] a task, a sub-task
path.md#build-parser                 a task whose title ends in {#build-parser}
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.errors import SuggestionKind, SuggestionSource, WorkspaceError
from workspace.markdown.slugs import PREAMBLE, make_heading_slug
from workspace.nearest import MAX_NEAREST_NAMES, find_nearest
from workspace.paths import MAX_PATH_BYTES

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

_TASK_ADDRESS = re.compile(r"(?P<section>[^\[]*)(?P<index>(?:\[\d{1,9}(?:\.\d{1,9})*\])+)$", re.DOTALL)
_MAX_EXAMPLE_TASKS = 20
_MAX_LISTED_TASKS = 50
_MAX_SHOWN_LENGTH = 200


class SectionNotFound(WorkspaceError):
    """An error: no section has this address. `candidates` are the most similar addresses, else the first."""

    code = "SECTION_NOT_FOUND"


class TaskNotFound(WorkspaceError):
    """An error: the section has no such task. `tasks` are the addresses of its tasks."""

    code = "TASK_NOT_FOUND"


class AmbiguousAddress(WorkspaceError):
    """An error: several sections match an address. `candidates` are their keys, titles, lines and parents."""

    code = "AMBIGUOUS_ADDRESS"


class InvalidAddress(WorkspaceError):
    """An error: a text is not an address of the required kind."""

    code = "INVALID_ADDRESS"


@dataclass(frozen=True, slots=True)
class Fragment:
    """The fragment after the `#`: a section's address, and the index of a task in the section, or None."""

    section: str
    task: str | None


def split_address(address: str, paths: Container[str]) -> tuple[str, str | None]:
    """Return the path and the fragment of an address; the fragment is None if the address is a path.

    The path is the longest existing one, so `C#.md#setup` is a section of `C#.md`.
    """
    # No path is longer than MAX_PATH_BYTES. The limit bounds the number of look-ups in a text with many `#`.
    path_end = min(len(address), MAX_PATH_BYTES + 1)
    while (path_end := address.rfind("#", 0, path_end)) != -1:
        if address[:path_end] in paths:
            return (address, None) if address in paths else (address[:path_end], address[path_end + 1 :])
    if address in paths or "#" not in address:
        return address, None
    path, _, fragment = address.partition("#")
    return path, fragment


def read_fragment(fragment: str) -> Fragment:
    """Split `tasks[0]` into section and task. A leading `#` is removed, and `[1][0]` is read as `[1.0]`."""
    text = fragment.strip().removeprefix("#")
    match = _TASK_ADDRESS.match(text)
    if match is None:
        return Fragment(text, None)
    return Fragment(match["section"], match["index"][1:-1].replace("][", "."))


def resolve_section(document: Document, slug: str) -> Section:
    """Return the section with a name (see `find_sections_by_name`), else by its heading and those above it.

    Raises SectionNotFound, AmbiguousAddress, or InvalidAddress for a task's address.
    """
    fragment = read_fragment(slug)
    if fragment.task is not None:
        raise InvalidAddress(
            f"'{slug}' is the address of a task, but the address of a section is required",
            fix=f"Use '{fragment.section}'.",
            candidates=[fragment.section],
            wanted=slug,
        )
    name = fragment.section
    matches = find_sections_by_name(document, name) or _find_by_headings(document, name)
    if len(matches) > 1:
        raise _make_ambiguous_error(document, name, matches)
    if not matches:
        raise make_section_not_found_error(document, name)
    return matches[0]


def find_sections_by_name(document: Document, name: str) -> Sequence[Section]:
    """Return the sections that match a name.

    The first of these with a match counts: address, key, alias, slug, name in Docyard 0.1.0.
    """
    section = document.section_by_key(name)
    return document.sections_by_address(name) or (
        (section,) if section else _find_by_alias_or_slug(document, name)
    )


def _find_by_alias_or_slug(document: Document, name: str) -> Sequence[Section]:
    """Return the sections with this alias or anchor, else this slug, else this name in Docyard 0.1.0."""
    if name == PREAMBLE:
        return ()
    sections_by_alias = [item for item in document.sections if name in item.aliases or name == item.anchor]
    if sections_by_alias:
        return sections_by_alias
    sections_by_slug = [item for item in document.sections if item.slug == name and not item.is_preamble]
    return sections_by_slug or document.earlier_names.get(name, ())


def _find_by_headings(document: Document, name: str) -> Sequence[Section]:
    """Return the sections whose own heading and the headings above it have these slugs.

    For example, `limits/burst` names the section `burst` under the heading `Limits`.
    """
    if "/" not in name:
        return ()
    return [section for section in document.sections if _derive_title_address(document, section) == name]


def resolve_task(document: Document, slug: str) -> tuple[Section, Task]:
    """Return the task of an address such as `tasks[0]`, or of its id, and its section.

    Raises TaskNotFound, InvalidAddress for a section's address, and the errors of `resolve_section`.
    """
    fragment = read_fragment(slug)
    if fragment.task is None:
        if (found := document.find_task(fragment.section)) is not None:
            return found
        section = resolve_section(document, slug)
        tasks = document.tasks(section)
        example = format_task_address(section.key, tasks[0]) if tasks else f"{section.address}[0]"
        raise InvalidAddress(
            f"'{slug}' is the address of a section, but the address of a task is required",
            fix=f"Add the index of a task, counted from 0: '{example}'.",
            tasks=[format_task_address(section.key, task) for task in tasks[:_MAX_EXAMPLE_TASKS]],
        )
    section = resolve_section(document, fragment.section)
    tasks = document.tasks(section)
    index = ".".join(str(int(number)) for number in fragment.task.split("."))
    for task in tasks:
        if task.index == index:
            return section, task
    addresses = [format_task_address(section.key, task) for task in tasks]
    existing_tasks_text = f"the last task is {addresses[-1]}" if addresses else "the section has no tasks"
    raise TaskNotFound(
        f"the section '{section.address}' of {document.path} has no task [{index}]; {existing_tasks_text}",
        fix="Use an existing index; indexes start at 0."
        if addresses
        else "Use the section's address, or add a task first.",
        suggestion_source=SuggestionSource(SuggestionKind.TASKS, document.path, section.key)
        if addresses
        else None,
        tasks=addresses[:_MAX_LISTED_TASKS],
    )


def format_task_address(section_key: str, task: Task) -> str:
    """Return the address of a task within its file."""
    return f"{section_key}[{task.index}]"


def make_section_not_found_error(document: Document, slug: str) -> SectionNotFound:
    """Return the error for a slug that matches no section, with the most similar addresses."""
    addresses = [section.address for section in document.sections]
    nearest = find_nearest(slug, addresses)
    suggestion_source = None
    if nearest:
        fix = f"Did you mean '{nearest[0]}'?"
    elif addresses:
        fix = f"Use the address of a section of {document.path}."
        suggestion_source = SuggestionSource(SuggestionKind.SECTIONS, document.path)
    else:
        fix = f"{document.path} has no sections: use its path alone, or add a section first."
    short_slug = slug if len(slug) <= _MAX_SHOWN_LENGTH else slug[:_MAX_SHOWN_LENGTH] + "…"
    return SectionNotFound(
        f"no section '{short_slug}' in {document.path}",
        fix=fix,
        suggestion_source=suggestion_source,
        candidates=nearest
        or [name for name in addresses if name != PREAMBLE][:MAX_NEAREST_NAMES]
        or addresses,
        wanted=short_slug,
    )


def _derive_title_address(document: Document, section: Section) -> str:
    """Return the address that a section would have if no heading had an anchor or a number."""
    return "/".join(make_heading_slug(title) for title in document.breadcrumb(section))


def _make_ambiguous_error(document: Document, slug: str, matches: Sequence[Section]) -> AmbiguousAddress:
    candidates = [
        {
            "slug": section.key,
            "title": section.title,
            "line": section.line,
            "parent": _find_parent_address(document, section),
        }
        for section in matches
    ]
    lines = ", ".join(str(section.line) for section in matches)
    is_duplicate = all(section.address == slug for section in matches)
    fix = (
        f"Use one of the candidates, such as '{matches[0].key}', and give each heading its own anchor."
        if is_duplicate
        else "Use the full address of one of the candidates."
    )
    return AmbiguousAddress(
        f"'{slug}' matches {len(matches)} sections of {document.path}, on lines {lines}",
        fix=fix,
        candidates=candidates,
        wanted=slug,
    )


def _find_parent_address(document: Document, section: Section) -> str | None:
    return None if section.parent is None else document.sections[section.parent].address
