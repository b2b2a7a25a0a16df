"""add_task: a further checkbox in a section, or below another task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.document.addresses import SectionNotFound
from workspace.document.splices import Edit, Style
from workspace.edits.operation import DocumentOperation
from workspace.edits.task_block import check_tasks
from workspace.edits.task_fields import field_value, task_title
from workspace.edits.task_text import place_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document


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
        """The edit. Raises InvalidTitle, SectionNotFound, TaskNotFound, InvalidAddress."""
        title = task_title(self.title)
        given = (("Criteria", self.criteria), ("Assignee", self.assignee))
        fields = [(name, text) for name, value in given if (text := field_value(name, value or ""))]
        try:
            place = place_in(document, self.slug, self.before)
        except SectionNotFound as error:
            raise _task_section_not_found(document, error) from error
        splice = place.splice(document, lambda marker, below: _lines(marker, below, title, fields))
        return Edit((splice,), place.answer, f"Add task {place.address} to {self.file}")

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """The document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
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
