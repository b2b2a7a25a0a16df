"""Operations that add, complete, reopen, remove, update and move tasks.

`complete_task` checks the box, removes the claim, and writes the date and a note below the task.
`reopen_task` clears the box, and removes the date. `update_task` changes the title and the fields.
`remove_task` and `move_task` include the sub-items of the task.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import InvalidAddress, SectionNotFound, format_task_address, resolve_task
from workspace.document.splices import Edit, EditContext, Splice, StructureChanged, apply_edit
from workspace.edits.content import InvalidContent, check_text
from workspace.edits.operation import DocumentOperation, Outcome
from workspace.edits.task_text import (
    TaskPosition,
    build_task_result,
    check_field_value,
    check_separate_line,
    check_task_title,
    check_tasks,
    cut_task,
    find_position_before,
    find_position_in,
    format_task_lines,
    read_task_marker,
    remove_fields,
    write_fields,
)
from workspace.errors import WorkspaceError
from workspace.markdown.inline import to_plain_text
from workspace.task_graph import TaskLocation, list_open_dependencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task
    from workspace.snapshot.overlay import Overlay

TASKS_SECTION_KEY = "tasks"
_MAX_CANDIDATES = 5
_MAX_LISTED_TASKS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTask(DocumentOperation):
    """The addition of an open task at the end of a section, below a task, or before a task."""

    name: ClassVar[str] = "add_task"
    targets_task: ClassVar[bool | None] = None
    implied_by: ClassVar[frozenset[str]] = frozenset({"criteria", "assignee"})

    file: str
    slug: str
    title: str
    criteria: str | None = None
    assignee: str | None = None
    before: str | None = None

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit.

        Raises InvalidTitle, InvalidContent, StructureChanged, and the errors of `find_position_in`.
        """
        title = check_task_title(self.title)
        requested_fields = (("Criteria", self.criteria), ("Assignee", self.assignee))
        fields = [
            (name, text) for name, value in requested_fields if (text := check_field_value(name, value or ""))
        ]
        try:
            position = find_position_in(document, self.slug, self.before)
        except SectionNotFound as error:
            raise _make_section_error(document, error) from error
        splice = position.make_splice(
            document, lambda marker, prefix: _format_task(marker, prefix, title, fields)
        )
        return Edit((splice,), position.result_fields, f"Add task {position.address} to {self.file}")

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit. Raises the errors of `make_edit`, and StructureChanged."""
        new_document, edit = DocumentOperation.revise(self, document, context)
        check_tasks(document, None, new_document, edit)
        return new_document, edit


def _make_section_error(document: Document, error: SectionNotFound) -> SectionNotFound:
    """Return the error for an unknown section, with the sections that have tasks; `tasks` comes first."""
    keys = [item.key for item in document.sections if item.key == TASKS_SECTION_KEY or document.tasks(item)]
    keys.sort(key=lambda key: key != TASKS_SECTION_KEY)
    if not keys:
        return SectionNotFound(
            f"{error.message}, and none of its sections has tasks",
            fix="Add a section 'Tasks' with add_section, then send the call again with slug 'tasks'.",
            **error.details,
        )
    other_keys = [key for key in error.details.get("candidates", ()) if key not in keys]
    return SectionNotFound(
        error.message,
        fix=f"Did you mean '{keys[0]}'?",
        **{**error.details, "candidates": [*keys[:_MAX_CANDIDATES], *other_keys][:_MAX_CANDIDATES]},
    )


def _format_task(marker: bytes, prefix: bytes, title: str, fields: Sequence[tuple[str, str]]) -> str:
    return "\n".join(
        [f"{marker.decode()}[ ] {title}", *(f"{prefix.decode()}{name}: {value}" for name, value in fields)]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteTask(DocumentOperation):
    """The completion of a task. If the task is already completed, only a new note is added."""

    name: ClassVar[str] = "complete_task"

    file: str
    slug: str
    note: str | None = None

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if nothing changes.

        Raises InvalidContent for the note, and the errors of `resolve_task`.
        """
        section, task = resolve_task(document, self.slug)
        address = format_task_address(section.key, task)
        note = " ".join(check_text(self.note or "", "note").split())
        splices: list[Splice] = []
        fields: list[tuple[str, str]] = []
        if not task.is_done:
            splices.append(Splice(task.box_offset, task.box_offset + 1, b"x"))
            fields = [("Claimed by", ""), ("Completed", context.today)]
        is_new_note = note and note not in [item.value for item in task.fields if item.name == "note"]
        splices += write_fields(document, task, fields, [("Note", note)] if is_new_note else [])
        result: dict[str, object] = {"completed": True, "slug": address}
        if task.is_done:
            result["already_completed"] = True
        sub_tasks = [item for item in document.tasks(section) if item.index.startswith(f"{task.index}.")]
        open_tasks = [format_task_address(section.key, item) for item in sub_tasks if not item.is_done]
        hints = (
            [f"sub-tasks are still open: {', '.join(open_tasks[:_MAX_LISTED_TASKS])}"] if open_tasks else []
        )
        if task.claim is not None and not task.is_done:
            hints.append(f"the claim is removed: {task.claim}")
        return Edit(tuple(splices), result, f"Complete {address} of {self.file}", tuple(hints))

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Complete the task, with a hint if its dependencies are open.

        Raises the errors of `DocumentOperation.apply`.
        """
        outcome = DocumentOperation.apply(self, overlay, context)
        if "already_completed" in outcome.result:
            return outcome
        document = overlay.document(outcome.path)
        location = TaskLocation(outcome.path, *resolve_task(document, str(outcome.result["slug"])))
        references: Sequence[str] = ()
        with suppress(WorkspaceError):  # a dependency that cannot be read is no reason to refuse
            references = list_open_dependencies(overlay.find, location)
        if not references:
            return outcome
        hint = f"dependencies are still open: {', '.join(references[:_MAX_LISTED_TASKS])}"
        return replace(outcome, hints=(*outcome.hints, hint))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenTask(DocumentOperation):
    """The reopening of a task: its box is cleared and its `Completed:` line removed. Notes are preserved."""

    name: ClassVar[str] = "reopen_task"

    file: str
    slug: str

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if the task is open. Raises the errors of `resolve_task`."""
        section, task = resolve_task(document, self.slug)
        address = format_task_address(section.key, task)
        result: dict[str, object] = {"reopened": True, "status": "active", "slug": address}
        if not task.is_done:
            result["already_open"] = True
            return Edit((), result, f"Reopen {address} of {self.file}")
        splices = (
            Splice(task.box_offset, task.box_offset + 1, b" "),
            *remove_fields(document, task, "completed"),
        )
        hints = ("the note of the task was not removed",) if task.field("note") else ()
        return Edit(splices, result, f"Reopen {address} of {self.file}", hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTask(DocumentOperation):
    """The removal of a task with its sub-tasks and fields. The numbers of an ordered list do not change."""

    name: ClassVar[str] = "remove_task"
    targets_task: ClassVar[bool | None] = True

    file: str
    slug: str

    def list_overwritten_sections(self, document: Document) -> Sequence[Section]:
        """Return the section of the task."""
        return (resolve_task(document, self.slug)[0],)

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit.

        Raises InvalidAddress if another list item is on the task's line, and the errors of `resolve_task`.
        """
        section, task = resolve_task(document, self.slug)
        check_separate_line(document, section, task)
        result = build_task_result(section, task)
        summary = f"Remove task {result['task']} from {self.file}"
        return Edit((cut_task(document, task),), {**result, "removed": "task"}, summary)

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit. Raises the errors of `make_edit`, and StructureChanged."""
        new_document, edit = DocumentOperation.revise(self, document, context)
        check_tasks(document, resolve_task(document, self.slug)[1], new_document, edit)
        return new_document, edit


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTask(DocumentOperation):
    """The update of a task's title, criteria, note or assignee; an empty text removes the field.

    The box, the sub-tasks and the other sub-items do not change.
    """

    name: ClassVar[str] = "update_task"
    targets_task: ClassVar[bool | None] = True
    implied_by: ClassVar[frozenset[str]] = frozenset({"criteria", "assignee"})

    file: str
    slug: str
    title: str | None = None
    criteria: str | None = None
    note: str | None = None
    assignee: str | None = None

    def list_overwritten_sections(self, document: Document) -> Sequence[Section]:
        """Return the task's section if the operation replaces the title or an existing field."""
        section, task = resolve_task(document, self.slug)
        replaces_field = any(
            value is not None and task.field(name.lower()) for name, value in self._list_fields()
        )
        return (section,) if self.title is not None or replaces_field else ()

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if nothing changes.

        Raises InvalidTitle, InvalidContent, and the errors of `resolve_task`.
        """
        section, task = resolve_task(document, self.slug)
        fields = [
            (name, check_field_value(name, value)) for name, value in self._list_fields() if value is not None
        ]
        if self.title is None and not fields:
            raise InvalidContent(
                "'title', 'criteria', 'note' and 'assignee' are all missing",
                fix="Set at least one of them; an empty text removes a field.",
            )
        splices = self._replace_title(document, task) + write_fields(document, task, fields)
        result = build_task_result(section, task)
        return Edit(tuple(splices), result, f"Update task {result['task']} of {self.file}")

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit. Raises the errors of `make_edit`, and StructureChanged."""
        new_document, edit = DocumentOperation.revise(self, document, context)
        if edit.splices:
            _, task = resolve_task(new_document, str(edit.result["task"]))
            requested_fields = [
                (name.lower(), value) for name, value in self._list_fields() if value is not None
            ]
            if any(
                (task.field(name) or "") != check_field_value(name, value) for name, value in requested_fields
            ) or (self.title is not None and task.title != to_plain_text(check_task_title(self.title))):
                raise StructureChanged(
                    f"after this edit '{edit.result['task']}' of {document.path} would not have the new text",
                    fix="Write plain words, without Markdown that begins a block.",
                )
        return new_document, edit

    def _list_fields(self) -> tuple[tuple[str, str | None], ...]:
        return ("Criteria", self.criteria), ("Assignee", self.assignee), ("Note", self.note)

    def _replace_title(self, document: Document, task: Task) -> list[Splice]:
        if self.title is None:
            return []
        title = check_task_title(self.title)
        old_title = document.text(task.title_start, task.title_end)
        if " ".join(old_title.split()) == " ".join(title.split()):
            return []
        return [Splice(task.title_start, task.title_end, title.encode())]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveTask(DocumentOperation):
    """The move of a task to the end of a section, below a task, or before a task.

    The task moves with its sub-tasks and fields, and gets the indentation and the marker of its new siblings.
    """

    name: ClassVar[str] = "move_task"
    targets_task: ClassVar[bool | None] = True
    implied_by: ClassVar[frozenset[str]] = frozenset({"to_slug"})
    address_fields: ClassVar[tuple[str, ...]] = ("slug", "to_slug", "before")

    file: str
    slug: str
    to_slug: str | None = None
    before: str | None = None

    def make_edit(self, document: Document, context: EditContext) -> Edit:
        """Return the edit, which has no splices if the task is already at the target position.

        Raises InvalidAddress for an impossible move, StructureChanged, and the errors of `resolve_section`
        and `resolve_task`.
        """
        section, task = resolve_task(document, self.slug)
        position = self._find_position(document, task)
        current_position = find_position_before(document, section, task)
        summary = f"Move task {format_task_address(section.key, task)} of {self.file}"
        has_same_parent = (position.section, position.parent) == (
            current_position.section,
            current_position.parent,
        )
        # The positions before and after the task are both its current position.
        if has_same_parent and position.sibling_index - current_position.sibling_index in (0, 1):
            return Edit((), build_task_result(section, task), summary)
        check_separate_line(document, section, task)
        cut_splice = cut_task(document, task)
        removal = Edit((cut_splice,), {}, summary)
        remaining_document = apply_edit(document, removal)
        check_tasks(document, task, remaining_document, removal)
        position = _map_position(document, remaining_document, task, position)
        paste_splice = position.make_splice(
            remaining_document,
            lambda marker, _: format_task_lines(document, task, marker),
            read_task_marker(document, task),
        )
        summary += f" to {position.address}"
        return Edit(_compose_splices(cut_splice, paste_splice), position.result_fields, summary)

    def revise(self, document: Document, context: EditContext) -> tuple[Document, Edit]:
        """Return the edited document and the edit. Raises the errors of `make_edit`, and StructureChanged."""
        new_document, edit = DocumentOperation.revise(self, document, context)
        if edit.splices:
            check_tasks(document, resolve_task(document, self.slug)[1], new_document, edit)
        return new_document, edit

    def _find_position(self, document: Document, task: Task) -> TaskPosition:
        """Return the target position in the current document."""
        if not self.to_slug and not self.before:
            raise InvalidAddress(
                "'to_slug' and 'before' are both missing",
                fix="Set 'to_slug' to move the task to the end of a section or task, or 'before' to a task.",
            )
        if self.to_slug:
            position = find_position_in(document, self.to_slug, self.before)
        else:
            section, sibling = resolve_task(document, self.before or "")
            position = find_position_before(document, section, sibling)
        if position.parent is not None and task.start <= position.parent.start < task.end:
            raise InvalidAddress(
                f"'{self.slug}' cannot be moved below itself",
                fix=f"Choose a target outside '{self.slug}'.",
            )
        return position


def _map_position(
    document: Document, remaining_document: Document, task: Task, position: TaskPosition
) -> TaskPosition:
    """Map a position to the document that remains after the removal of a task."""
    other_tasks = [item for item in document.all_tasks if not task.start <= item.start < task.end]
    remaining_tasks = {
        item.start: remaining_task
        for item, remaining_task in zip(other_tasks, remaining_document.all_tasks, strict=True)
    }
    sibling_index = sum(item.start in remaining_tasks for item in position.siblings[: position.sibling_index])
    return TaskPosition(
        # The section is found from the end: only the first section, an untitled preamble, can disappear.
        remaining_document.sections[position.section.position - len(document.sections)],
        remaining_tasks[position.parent.start] if position.parent else None,
        tuple(remaining_tasks[item.start] for item in position.siblings if item.start in remaining_tasks),
        sibling_index,
    )


def _compose_splices(cut_splice: Splice, paste_splice: Splice) -> tuple[Splice, ...]:
    """Return a removal and an insertion as splices of the original text."""
    if paste_splice.start == cut_splice.start:
        return (Splice(cut_splice.start, cut_splice.end, paste_splice.replacement),)
    shift = cut_splice.end - cut_splice.start if paste_splice.start > cut_splice.start else 0
    return cut_splice, Splice(paste_splice.start + shift, paste_splice.end + shift, paste_splice.replacement)
