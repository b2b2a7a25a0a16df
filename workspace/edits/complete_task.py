"""complete_task: the box ticked, the day and a note written below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import resolve_task, task_address
from workspace.document.splices import Edit, Splice, Style
from workspace.edits.content import checked_text
from workspace.edits.operation import DocumentOperation
from workspace.edits.task_fields import with_fields, without_fields

if TYPE_CHECKING:
    from workspace.document.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class CompleteTask(DocumentOperation):
    """Ticks a task. One that is ticked already stays as it is, but for a note that it does not have yet."""

    name: ClassVar[str] = "complete_task"

    file: str
    slug: str
    note: str | None = None

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit; none where nothing would change. Raises SectionNotFound, TaskNotFound, InvalidAddress."""
        section, task = resolve_task(document, self.slug)
        address = task_address(section, task)
        note = " ".join(checked_text(self.note or "", "note").split())
        splices: list[Splice] = []
        added: list[tuple[str, str]] = []
        if not task.is_done:
            splices += [Splice(task.box, task.box + 1, b"x"), *without_fields(document, task, "completed")]
            added.append(("Completed", style.today))
        if note and note not in [item.value for item in task.fields if item.name == "note"]:
            added.append(("Note", note))
        if added:
            splices.append(with_fields(document, task, added))
        answer: dict[str, object] = {"completed": True, "slug": address}
        if task.is_done:
            answer["already_completed"] = True
        below = [item for item in document.tasks(section) if item.index.startswith(f"{task.index}.")]
        waiting = [task_address(section, item) for item in below if not item.is_done]
        hints = (f"sub-tasks are still open: {', '.join(waiting[:5])}",) if waiting else ()
        return Edit(tuple(splices), answer, f"Complete {address} of {self.file}", hints)
