"""update_task: the words of a task, and of the sub-items that say more of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace import markdown
from workspace.document.addresses import resolve_task
from workspace.document.splices import Edit, Splice, StructureChanged, Style
from workspace.edits.content import InvalidContent
from workspace.edits.operation import DocumentOperation
from workspace.edits.task_fields import field_value, replaced_field, task_title, with_fields, without_fields
from workspace.edits.task_text import task_answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document, Section, Task


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

    def overwrites(self, document: Document) -> Sequence[Section]:
        """The task's section, if words of the task go: its title, or a sub-item that is there."""
        section, task = resolve_task(document, self.slug)
        replaced = any(value is not None and task.field(name.lower()) for name, value in self._fields())
        return (section,) if self.title is not None or replaced else ()

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit; none where it says that already. Raises InvalidTitle, InvalidContent, TaskNotFound."""
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
            text = field_value(name, value)
            if not text:
                splices += without_fields(document, task, name.lower())
            elif task.field(name.lower()) is None:
                added.append((name, text))
            else:
                splices += replaced_field(document, task, name.lower(), text)
        if added:
            splices.append(with_fields(document, task, added))
        answer = task_answer(section, task)
        return Edit(tuple(splices), answer, f"Update task {answer['task']} of {self.file}")

    def revise(self, document: Document, style: Style) -> tuple[Document, Edit]:
        """The document as the edit leaves it. Raises what `edit` does, and StructureChanged."""
        changed, edit = DocumentOperation.revise(self, document, style)
        if edit.splices:
            _, task = resolve_task(changed, str(edit.answer["task"]))
            given = [(name.lower(), value) for name, value in self._fields() if value is not None]
            if any((task.field(name) or "") != field_value(name, value) for name, value in given) or (
                self.title is not None and task.title != markdown.plain_text(task_title(self.title))
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
        title = task_title(self.title)
        words = document.text(task.title_start, task.title_end)
        if " ".join(words.split()) == " ".join(title.split()):
            return []
        return [Splice(task.title_start, task.title_end, title.encode())]
