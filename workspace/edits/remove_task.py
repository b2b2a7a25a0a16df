"""remove_task: a task taken out, with all that stands below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import resolve_task
from workspace.document.splices import Edit, Style
from workspace.edits.operation import DocumentOperation
from workspace.edits.task_block import check_own_lines, check_tasks, without_task
from workspace.edits.task_text import task_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTask(DocumentOperation):
    """Removes a task with its sub-tasks and sub-items. The numbers of an ordered list stay as they are."""

    name: ClassVar[str] = "remove_task"
    names_task: ClassVar[bool | None] = True

    file: str
    slug: str

    def overwrites(self, document: Document) -> Sequence[Section]:
        """The section that the task stands in."""
        return (resolve_task(document, self.slug)[0],)

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit. Raises SectionNotFound, TaskNotFound, InvalidAddress."""
        section, task = resolve_task(document, self.slug)
        check_own_lines(document, section, task)
        answer = task_answer(section, task)
        summary = f"Remove task {answer['task']} from {self.file}"
        return Edit((without_task(document, task),), {**answer, "removed": "task"}, summary)

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """The document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        check_tasks(document, resolve_task(document, self.slug)[1], changed, edit)
        return changed, edit
