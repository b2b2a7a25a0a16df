"""add_task: a further checkbox in a section, or below another task.

complete_task: the box ticked, the day and a note written below it.

reopen_task: the box unticked, and its day of completion taken out.

remove_task: a task taken out, with all that stands below it.

update_task: the words of a task, and of the sub-items that say more of it.

move_task: a task put elsewhere in its document, with all that stands below it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import InvalidAddress, SectionNotFound, format_task_address, resolve_task
from workspace.document.splices import Edit, Splice, StructureChanged, Style, apply_edit
from workspace.edits.content import InvalidContent, check_text
from workspace.edits.operation import DocumentOperation
from workspace.edits.task_text import (
    TaskPlace,
    add_fields,
    build_task_answer,
    check_field_value,
    check_own_lines,
    check_task_title,
    check_tasks,
    cut_task,
    find_place_before,
    find_place_in,
    format_task_lines,
    read_own_marker,
    remove_fields,
    replace_field,
)
from workspace.markdown.inline import to_plain_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

TASKS = "tasks"
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTask(DocumentOperation):
    """Adds an open task after the last one of a section (of a task: a sub-task), or before another."""

    name: ClassVar[str] = "add_task"
    names_task: ClassVar[bool | None] = None
    implied_by: ClassVar[frozenset[str]] = frozenset({"criteria", "assignee"})

    file: str
    slug: str
    title: str
    criteria: str | None = None
    assignee: str | None = None
    before: str | None = None

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit. Raises InvalidTitle, SectionNotFound, TaskNotFound, InvalidAddress."""
        title = check_task_title(self.title)
        given = (("Criteria", self.criteria), ("Assignee", self.assignee))
        fields = [(name, text) for name, value in given if (text := check_field_value(name, value or ""))]
        try:
            place = find_place_in(document, self.slug, self.before)
        except SectionNotFound as error:
            raise _task_section_not_found(document, error) from error
        splice = place.splice(document, lambda marker, below: _lines(marker, below, title, fields))
        return Edit((splice,), place.answer, f"Add task {place.address} to {self.file}")

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """Return the document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        check_tasks(document, None, changed, edit)
        return changed, edit


def _task_section_not_found(document: Document, error: SectionNotFound) -> SectionNotFound:
    """Return the error of a wrong section with those proposed that hold tasks, `tasks` before all others."""
    known = [item.key for item in document.sections if item.key == TASKS or document.tasks(item)]
    known.sort(key=lambda key: key != TASKS)
    if not known:
        return SectionNotFound(
            f"{error.message}, and no section of it has tasks",
            fix="Add a section 'Tasks' with add_section, then send the call again with slug 'tasks'.",
            **error.details,
        )
    near = [key for key in error.details.get("candidates", ()) if key not in known]
    return SectionNotFound(
        error.message,
        fix=f"Did you mean '{known[0]}'?",
        **{**error.details, "candidates": [*known[:_SHOWN], *near][:_SHOWN]},
    )


def _lines(marker: bytes, prefix: bytes, title: str, fields: Sequence[tuple[str, str]]) -> str:
    return "\n".join(
        [f"{marker.decode()}[ ] {title}", *(f"{prefix.decode()}{name}: {value}" for name, value in fields)]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteTask(DocumentOperation):
    """Ticks a task. One that is ticked already stays as it is, but for a note that it does not have yet."""

    name: ClassVar[str] = "complete_task"

    file: str
    slug: str
    note: str | None = None

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit; none where nothing would change.

        Raises SectionNotFound, TaskNotFound, InvalidAddress.
        """
        section, task = resolve_task(document, self.slug)
        address = format_task_address(section, task)
        note = " ".join(check_text(self.note or "", "note").split())
        splices: list[Splice] = []
        added: list[tuple[str, str]] = []
        if not task.is_done:
            splices += [Splice(task.box, task.box + 1, b"x"), *remove_fields(document, task, "completed")]
            added.append(("Completed", style.today))
        if note and note not in [item.value for item in task.fields if item.name == "note"]:
            added.append(("Note", note))
        if added:
            splices.append(add_fields(document, task, added))
        answer: dict[str, object] = {"completed": True, "slug": address}
        if task.is_done:
            answer["already_completed"] = True
        below = [item for item in document.tasks(section) if item.index.startswith(f"{task.index}.")]
        waiting = [format_task_address(section, item) for item in below if not item.is_done]
        hints = (f"sub-tasks are still open: {', '.join(waiting[:5])}",) if waiting else ()
        return Edit(tuple(splices), answer, f"Complete {address} of {self.file}", hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenTask(DocumentOperation):
    """Unticks a task and removes its `Completed:` line; notes stay. An open one stays as it is."""

    name: ClassVar[str] = "reopen_task"

    file: str
    slug: str

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit; none where the task is open.

        Raises SectionNotFound, TaskNotFound, InvalidAddress.
        """
        section, task = resolve_task(document, self.slug)
        address = format_task_address(section, task)
        answer: dict[str, object] = {"reopened": True, "status": "active", "slug": address}
        if not task.is_done:
            answer["already_open"] = True
            return Edit((), answer, f"Reopen {address} of {self.file}")
        splices = (Splice(task.box, task.box + 1, b" "), *remove_fields(document, task, "completed"))
        hints = ("its note stays, and was written when the task was completed",) if task.field("note") else ()
        return Edit(splices, answer, f"Reopen {address} of {self.file}", hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTask(DocumentOperation):
    """Removes a task with its sub-tasks and sub-items. The numbers of an ordered list stay as they are."""

    name: ClassVar[str] = "remove_task"
    names_task: ClassVar[bool | None] = True

    file: str
    slug: str

    def list_overwritten(self, document: Document) -> Sequence[Section]:
        """Return the section that the task stands in."""
        return (resolve_task(document, self.slug)[0],)

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit. Raises SectionNotFound, TaskNotFound, InvalidAddress."""
        section, task = resolve_task(document, self.slug)
        check_own_lines(document, section, task)
        answer = build_task_answer(section, task)
        summary = f"Remove task {answer['task']} from {self.file}"
        return Edit((cut_task(document, task),), {**answer, "removed": "task"}, summary)

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """Return the document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        check_tasks(document, resolve_task(document, self.slug)[1], changed, edit)
        return changed, edit


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTask(DocumentOperation):
    """Changes a task's title, criteria, note or assignee; an empty text removes that sub-item.

    The box, sub-tasks and all other sub-items stay as they are.
    """

    name: ClassVar[str] = "update_task"
    names_task: ClassVar[bool | None] = True
    implied_by: ClassVar[frozenset[str]] = frozenset({"criteria", "assignee"})

    file: str
    slug: str
    title: str | None = None
    criteria: str | None = None
    note: str | None = None
    assignee: str | None = None

    def list_overwritten(self, document: Document) -> Sequence[Section]:
        """Return the task's section, if words of the task go: its title, or a sub-item that is there."""
        section, task = resolve_task(document, self.slug)
        replaced = any(value is not None and task.field(name.lower()) for name, value in self._fields())
        return (section,) if self.title is not None or replaced else ()

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit; none where it says that already.

        Raises InvalidTitle, InvalidContent, TaskNotFound.
        """
        section, task = resolve_task(document, self.slug)
        given = [(name, value) for name, value in self._fields() if value is not None]
        if self.title is None and not given:
            raise InvalidContent(
                "'title', 'criteria', 'note' and 'assignee' are all missing",
                fix="Give what is to change; an empty text removes a sub-item.",
            )
        splices = self._titled(document, task)
        added: list[tuple[str, str]] = []
        for name, value in given:
            text = check_field_value(name, value)
            if not text:
                splices += remove_fields(document, task, name.lower())
            elif task.field(name.lower()) is None:
                added.append((name, text))
            else:
                splices += replace_field(document, task, name.lower(), text)
        if added:
            splices.append(add_fields(document, task, added))
        answer = build_task_answer(section, task)
        return Edit(tuple(splices), answer, f"Update task {answer['task']} of {self.file}")

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """Return the document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        if edit.splices:
            _, task = resolve_task(changed, str(edit.answer["task"]))
            given = [(name.lower(), value) for name, value in self._fields() if value is not None]
            if any((task.field(name) or "") != check_field_value(name, value) for name, value in given) or (
                self.title is not None and task.title != to_plain_text(check_task_title(self.title))
            ):
                raise StructureChanged(
                    f"after this edit '{edit.answer['task']}' of {document.path} would not read as was asked",
                    fix="Write plain words, without Markdown that begins a block.",
                )
        return changed, edit

    def _fields(self) -> tuple[tuple[str, str | None], ...]:
        return ("Criteria", self.criteria), ("Assignee", self.assignee), ("Note", self.note)

    def _titled(self, document: Document, task: Task) -> list[Splice]:
        if self.title is None:
            return []
        title = check_task_title(self.title)
        words = document.text(task.title_start, task.title_end)
        if " ".join(words.split()) == " ".join(title.split()):
            return []
        return [Splice(task.title_start, task.title_end, title.encode())]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveTask(DocumentOperation):
    """Moves a task to the end of another section's (or below another task), or before a task.

    It goes with its sub-tasks and sub-items, in the indentation and with the marker of its new place.
    """

    name: ClassVar[str] = "move_task"
    names_task: ClassVar[bool | None] = True
    implied_by: ClassVar[frozenset[str]] = frozenset({"to_slug"})
    addresses: ClassVar[tuple[str, ...]] = ("slug", "to_slug", "before")

    file: str
    slug: str
    to_slug: str | None = None
    before: str | None = None

    def edit(self, document: Document, style: Style) -> Edit:
        """Return the edit; none where it stands there.

        Raises SectionNotFound, TaskNotFound, InvalidAddress.
        """
        section, task = resolve_task(document, self.slug)
        place = self._place(document, task)
        here = find_place_before(document, section, task)
        summary = f"Move task {format_task_address(section, task)} of {self.file}"
        if place[:2] == here[:2] and place.place - here.place in (0, 1):
            return Edit((), build_task_answer(section, task), summary)
        check_own_lines(document, section, task)
        taken = cut_task(document, task)
        removal = Edit((taken,), {}, summary)
        rest = apply_edit(document, removal)
        check_tasks(document, task, rest, removal)
        place = _after_removal(document, rest, task, place)
        splice = place.splice(
            rest, lambda marker, _: format_task_lines(document, task, marker), read_own_marker(document, task)
        )
        summary += f" to {place.address}"
        return Edit(_compose_splices(taken, splice), place.answer, summary)

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """Return the document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        if edit.splices:
            check_tasks(document, resolve_task(document, self.slug)[1], changed, edit)
        return changed, edit

    def _place(self, document: Document, task: Task) -> TaskPlace:
        """Return where it is to go, as the document stands now."""
        if not self.to_slug and not self.before:
            raise InvalidAddress(
                "'to_slug' and 'before' are both missing",
                fix="Give 'to_slug', a section or task that it goes to the end of, or 'before', a task.",
            )
        if self.to_slug:
            place = find_place_in(document, self.to_slug, self.before)
        else:
            owner, beside = resolve_task(document, self.before or "")
            place = find_place_before(document, owner, beside)
        if place.parent is not None and task.start <= place.parent.start < task.end:
            raise InvalidAddress(
                f"'{self.slug}' cannot be moved below itself", fix="Name a place outside of it."
            )
        return place


def _after_removal(document: Document, rest: Document, task: Task, place: TaskPlace) -> TaskPlace:
    """Return a place of a document as it is once the task is taken out."""
    others = [item for item in document.all_tasks if not task.start <= item.start < task.end]
    twins = {item.start: twin for item, twin in zip(others, rest.all_tasks, strict=True)}
    before = sum(item.start in twins for item in place.beside[: place.place])
    return TaskPlace(
        # Only a preamble without a title may be gone with its task, and it comes first.
        rest.sections[place.section.position - len(document.sections)],
        twins[place.parent.start] if place.parent else None,
        tuple(twins[item.start] for item in place.beside if item.start in twins),
        before,
    )


def _compose_splices(taken: Splice, put: Splice) -> tuple[Splice, ...]:
    """Return a removal and an insertion as splices of the original text."""
    if put.start == taken.start:
        return (Splice(taken.start, taken.end, put.replacement),)
    later = taken.end - taken.start if put.start > taken.start else 0
    return taken, Splice(put.start + later, put.end + later, put.replacement)
