"""move_task: a task put elsewhere in its document, with all that stands below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import InvalidAddress, resolve_task, task_address
from workspace.document.splices import Edit, Splice, Style, apply_edit
from workspace.edits.operation import DocumentOperation
from workspace.edits.task_block import (
    check_own_lines,
    check_tasks,
    own_marker,
    task_text,
    without_task,
)
from workspace.edits.task_text import TaskPlace, place_before, place_in, task_answer

if TYPE_CHECKING:
    from workspace.document.document import Document, Task


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
        """The edit; none where it stands there. Raises SectionNotFound, TaskNotFound, InvalidAddress."""
        section, task = resolve_task(document, self.slug)
        place = self._place(document, task)
        here = place_before(document, section, task)
        summary = f"Move task {task_address(section, task)} of {self.file}"
        if place[:2] == here[:2] and place.place - here.place in (0, 1):
            return Edit((), task_answer(section, task), summary)
        check_own_lines(document, section, task)
        taken = without_task(document, task)
        removal = Edit((taken,), {}, summary)
        rest = apply_edit(document, removal)
        check_tasks(document, task, rest, removal)
        place = _after_removal(document, rest, task, place)
        splice = place.splice(
            rest, lambda marker, _: task_text(document, task, marker), own_marker(document, task)
        )
        summary += f" to {place.address}"
        return Edit(_composed(taken, splice), place.answer, summary)

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """The document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        if edit.splices:
            check_tasks(document, resolve_task(document, self.slug)[1], changed, edit)
        return changed, edit

    def _place(self, document: Document, task: Task) -> TaskPlace:
        """Where it is to go, as the document stands now."""
        if not self.to_slug and not self.before:
            raise InvalidAddress(
                "'to_slug' and 'before' are both missing",
                fix="Give 'to_slug', a section or task that it goes to the end of, or 'before', a task.",
            )
        if self.to_slug:
            place = place_in(document, self.to_slug, self.before)
        else:
            owner, beside = resolve_task(document, self.before or "")
            place = place_before(document, owner, beside)
        if place.parent is not None and task.start <= place.parent.start < task.end:
            raise InvalidAddress(
                f"'{self.slug}' cannot be moved below itself", fix="Name a place outside of it."
            )
        return place


def _after_removal(document: Document, rest: Document, task: Task, place: TaskPlace) -> TaskPlace:
    """A place of a document as it is once the task is taken out."""
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


def _composed(taken: Splice, put: Splice) -> tuple[Splice, ...]:
    """What takes something out of a text and puts it into the rest, as splices of the text as it was."""
    if put.start == taken.start:
        return (Splice(taken.start, taken.end, put.replacement),)
    later = taken.end - taken.start if put.start > taken.start else 0
    return taken, Splice(put.start + later, put.end + later, put.replacement)
