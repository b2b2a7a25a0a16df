"""add_task: a further checkbox in a section, or below another task."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workspace.addresses import (
    InvalidAddress,
    read_fragment,
    resolve_section,
    resolve_task,
    task_address,
)
from workspace.edits.content import InvalidTitle, checked_text, checked_title
from workspace.edits.edit import Edit, Splice, Style
from workspace.edits.operation import DocumentOperation
from workspace.edits.spacing import insert_block
from workspace.edits.task_fields import with_lines
from workspace.lines import with_ending

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document import Document, Section, Task

_CHECKBOX = re.compile(r"^(?:[-*+][ \t]+)?\[[ xX]\](?:[ \t]+|$)")
# CommonMark §5.2: the number of a list item has at most nine digits.
_LAST_NUMBER = 999_999_999
_MARKER = re.compile(rb"[ \t]*(?:[-*+]|(?P<number>\d{1,9})[.)])[ \t]+\[")


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTask(DocumentOperation):
    """Adds an open task after the last one of a section (of a task: a sub-task), or before another."""

    name: ClassVar[str] = "add_task"
    implied_by: ClassVar[frozenset[str]] = frozenset({"criteria", "assignee"})

    file: str
    slug: str
    title: str
    criteria: str | None = None
    assignee: str | None = None
    before: str | None = None

    def edit(self, document: Document, style: Style) -> Edit:
        """The edit. Raises InvalidTitle, SectionNotFound, TaskNotFound, InvalidAddress."""
        title = _CHECKBOX.sub("", checked_title(self.title))
        if not title.strip():
            raise InvalidTitle("'title' is empty", fix="Say what is to be done.")
        section, parent = self._place(document)
        prefix = f"{parent.index}." if parent else ""
        depth = parent.depth + 1 if parent else 0
        tasks = [
            task for task in document.tasks(section) if task.depth == depth and task.index.startswith(prefix)
        ]
        fields = [
            (name, " ".join(checked_text(value, name.lower()).split()))
            for name, value in (("Criteria", self.criteria), ("Assignee", self.assignee))
            if value and value.strip()
        ]
        index = len(tasks)
        if self.before:
            owner, task = resolve_task(document, self.before)
            if owner.position != section.position or task not in tasks:
                raise InvalidAddress(
                    f"'{self.before}' is no task directly in '{self.slug}'",
                    fix="Name one of its own tasks, or for 'slug' what that task stands in.",
                    tasks=[task_address(section, task) for task in tasks[:20]],
                )
            index = tasks.index(task)
            text = _task_text(document, task, title, fields, following=False)
            between = document.ending * (2 if _is_loose(document, tasks) else 1)
            splice = Splice(task.start, task.start, with_ending(text, document.ending) + between)
        elif tasks:
            splice = _after(document, tasks, title, fields)
        elif parent:
            below = re.sub(rb"[^\t]", b" ", parent.field_prefix) + b"- "
            splice = with_lines(document, parent, _lines(parent.field_prefix, below, title, fields))
        else:
            splice = insert_block(document, section.end, _lines(b"- ", b"  - ", title, fields))
        address = f"{section.key}[{prefix}{index}]"
        answer: dict[str, object] = {"slug": section.key, "task_index": index, "task": address}
        return Edit((splice,), answer, f"Add task {address} to {self.file}")

    def _place(self, document: Document) -> tuple[Section, Task | None]:
        """The section, and the task that is to have a sub-task."""
        if read_fragment(self.slug).task is None:
            return resolve_section(document, self.slug), None
        return resolve_task(document, self.slug)


def _after(
    document: Document, tasks: Sequence[Task], title: str, fields: Sequence[tuple[str, str]]
) -> Splice:
    """After the last task, in its own indentation and marker; with a blank line where the list has such."""
    last = tasks[-1]
    text = with_ending(_task_text(document, last, title, fields, following=True), document.ending)
    place = last.end
    while place > last.start and document.data[place - 1 : place] in (b"\n", b"\r"):
        place -= 1
    gap = document.ending * (2 if _is_loose(document, tasks) else 1)
    return Splice(place, place, gap + text)


def _is_loose(document: Document, tasks: Sequence[Task]) -> bool:
    """Whether a blank line stands between the last two tasks."""
    if len(tasks) < 2:
        return False
    between = document.data[tasks[-2].end : tasks[-1].start]
    return not between.strip() and (b"\n" in between or b"\r" in between)


def _task_text(
    document: Document, beside: Task, title: str, fields: Sequence[tuple[str, str]], *, following: bool
) -> str:
    """A task in the indentation and with the marker of the one that it stands beside."""
    line = document.data[beside.start : beside.box]
    found = _MARKER.match(line)
    if found is None:
        return _lines(b"- ", b"  - ", title, fields)
    marker, prefix = line[:-1], beside.field_prefix
    if found["number"]:
        number = min(int(found["number"]) + following, _LAST_NUMBER)
        marker = line[: found.start("number")] + b"%d" % number + line[found.end("number") : -1]
        # The fields stand below the text, and a number of one more digit moves that.
        prefix = re.sub(rb"[^\t]", b" ", marker) + b"- "
    return _lines(marker, prefix, title, fields)


def _lines(marker: bytes, prefix: bytes, title: str, fields: Sequence[tuple[str, str]]) -> str:
    return "\n".join(
        [f"{marker.decode()}[ ] {title}", *(f"{prefix.decode()}{name}: {value}" for name, value in fields)]
    )
