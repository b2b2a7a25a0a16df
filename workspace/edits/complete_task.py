"""complete_task: the box ticked, the day and a note written below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.addresses import resolve_task, task_address
from workspace.edits.content import checked_text
from workspace.edits.edit import Edit, Splice, Style
from workspace.edits.operation import DocumentOperation

if TYPE_CHECKING:
    from workspace.document import Document, Task


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
        fields: list[tuple[str, str]] = []
        splices: list[Splice] = []
        if not task.is_done:
            splices += [Splice(task.box, task.box + 1, b"x"), *_without(task, "completed")]
            fields.append(("Completed", style.today))
        if note and note not in [item.value for item in task.fields if item.name == "note"]:
            fields.append(("Note", note))
        if fields:
            splices.append(add_fields(document, task, fields))
        answer: dict[str, object] = {"completed": True, "slug": address}
        if task.is_done:
            answer["already_completed"] = True
        return Edit(tuple(splices), answer, f"Complete {address} of {self.file}")


def _without(task: Task, name: str) -> list[Splice]:
    return [Splice(item.start, item.end, b"") for item in task.fields if item.name == name]


def add_fields(document: Document, task: Task, fields: list[tuple[str, str]]) -> Splice:
    """Further sub-items of a task, after those it has."""
    ending = document.ending
    text = b"".join(
        task.indent + f"{task.marker} {name}: {value}".encode() + ending for name, value in fields
    )
    before = document.data[: task.fields_at]
    if before and not before.endswith((b"\n", b"\r")):
        return Splice(task.fields_at, task.fields_at, ending + text.removesuffix(ending))
    return Splice(task.fields_at, task.fields_at, text)
