"""reopen_task: the box unticked, and its day of completion taken out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import resolve_task, task_address
from workspace.document.splices import Edit, Splice, Style
from workspace.edits.operation import DocumentOperation
from workspace.edits.task_fields import without_fields

if TYPE_CHECKING:
    from workspace.document.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class ReopenTask(DocumentOperation):
    """Unticks a task and removes its `Completed:` line; notes stay. An open one stays as it is."""

    name: ClassVar[str] = "reopen_task"

    file: str
    slug: str

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit; none where the task is open. Raises SectionNotFound, TaskNotFound, InvalidAddress."""
        section, task = resolve_task(document, self.slug)
        address = task_address(section, task)
        answer: dict[str, object] = {"reopened": True, "status": "active", "slug": address}
        if not task.is_done:
            answer["already_open"] = True
            return Edit((), answer, f"Reopen {address} of {self.file}")
        splices = (Splice(task.box, task.box + 1, b" "), *without_fields(document, task, "completed"))
        hints = ("its note stays, and was written when the task was completed",) if task.field("note") else ()
        return Edit(splices, answer, f"Reopen {address} of {self.file}", hints)
