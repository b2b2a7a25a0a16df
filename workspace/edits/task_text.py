"""Where a task goes: after the last one of a section, below another task, or before one.

It takes the indentation and the marker of the tasks that it comes to stand beside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import (
    InvalidAddress,
    read_fragment,
    resolve_section,
    resolve_task,
    task_address,
)
from workspace.document.spacing import insert_block
from workspace.document.splices import Splice
from workspace.edits.task_fields import with_lines
from workspace.markdown.lines import LIST_MARKER_BYTES, with_ending

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.document.document import Document, Section, Task

# CommonMark §5.2: the number of a list item has at most nine digits.
_LAST_NUMBER = 999_999_999
_MARKER = re.compile(rb"[ \t]*(?P<marker>%b)[ \t]+\[" % LIST_MARKER_BYTES)


class TaskPlace(NamedTuple):
    """A place for a task: its section, the task above it, and its place among those beside it."""

    section: Section
    parent: Task | None
    beside: tuple[Task, ...]
    place: int

    @property
    def address(self) -> str:
        """The address that a task has there."""
        prefix = f"{self.parent.index}." if self.parent else ""
        return f"{self.section.key}[{prefix}{self.place}]"

    @property
    def answer(self) -> dict[str, object]:
        """What an edit answers that put a task there."""
        return {"slug": self.section.key, "task_index": self.place, "task": self.address}

    def splice(
        self, document: Document, written: Callable[[bytes, bytes], str], marker: bytes = b"- "
    ) -> Splice:
        """Puts a task there: `written` gives its text for a marker and for what sub-items begin with.

        `marker` is for a list that the task begins.
        """
        if self.place < len(self.beside):
            task = self.beside[self.place]
            text = written(*_marks(document, task, following=False))
            between = document.ending * (2 if _is_loose(document, self.beside) else 1)
            return Splice(task.start, task.start, with_ending(text, document.ending) + between)
        if self.beside:
            return self._after(document, written(*_marks(document, self.beside[-1], following=True)))
        if self.parent:
            below = re.sub(rb"[^\t]", b" ", self.parent.field_prefix) + b"- "
            return with_lines(document, self.parent, written(self.parent.field_prefix, below))
        return insert_block(document, self.section.end, written(marker, b"  - "))

    def _after(self, document: Document, text: str) -> Splice:
        """After the last task; with a blank line where the list has such."""
        last = self.beside[-1]
        place = last.end
        while place > last.start and document.data[place - 1 : place] in (b"\n", b"\r"):
            place -= 1
        gap = document.ending * (2 if _is_loose(document, self.beside) else 1)
        return Splice(place, place, gap + with_ending(text, document.ending))


def place_in(document: Document, slug: str, before: str | None) -> TaskPlace:
    """The place in a section, or below a task, that a slug names: at its end, or before one of its tasks.

    Raises SectionNotFound, TaskNotFound, InvalidAddress.
    """
    section, parent = _owner(document, slug)
    prefix = f"{parent.index}." if parent else ""
    depth = parent.depth + 1 if parent else 0
    tasks = tuple(
        task for task in document.tasks(section) if task.depth == depth and task.index.startswith(prefix)
    )
    if not before:
        return TaskPlace(section, parent, tasks, len(tasks))
    owner, task = resolve_task(document, before)
    if owner.position != section.position or task not in tasks:
        raise InvalidAddress(
            f"'{before}' is no task directly in '{slug}'",
            fix="Name one of its own tasks, or for 'slug' what that task stands in.",
            tasks=[task_address(section, task) for task in tasks[:20]],
        )
    return TaskPlace(section, parent, tasks, tasks.index(task))


def place_before(document: Document, section: Section, task: Task) -> TaskPlace:
    """The place where a task stands, which is before it."""
    above, _, index = task.index.rpartition(".")
    owner = f"{section.key}[{above}]" if above else section.key
    return place_in(document, owner, None)._replace(place=int(index))


def task_answer(section: Section, task: Task) -> dict[str, object]:
    """What an edit answers of a task: its section, its index among those beside it, and its address."""
    index = int(task.index.rpartition(".")[2])
    return {"slug": section.key, "task_index": index, "task": task_address(section, task)}


def _owner(document: Document, slug: str) -> tuple[Section, Task | None]:
    """The section, and the task that is to have a sub-task."""
    if read_fragment(slug).task is None:
        return resolve_section(document, slug), None
    return resolve_task(document, slug)


def _is_loose(document: Document, tasks: Sequence[Task]) -> bool:
    """Whether a blank line stands between the last two tasks."""
    if len(tasks) < 2:
        return False
    between = document.data[tasks[-2].end : tasks[-1].start]
    return not between.strip() and (b"\n" in between or b"\r" in between)


def _marks(document: Document, beside: Task, *, following: bool) -> tuple[bytes, bytes]:
    """What a task beside another begins with up to its box, and what the lines of its sub-items do."""
    line = document.data[beside.start : beside.box]
    found = _MARKER.match(line)
    if found is None:
        return b"- ", b"  - "
    marker, prefix = line[:-1], beside.field_prefix
    if digits := found["marker"][:-1]:
        number = min(int(digits) + following, _LAST_NUMBER)
        marker = line[: found.start("marker")] + b"%d" % number + line[found.end("marker") - 1 : -1]
        # The fields stand below the text, and a number of one more digit moves that.
        prefix = re.sub(rb"[^\t]", b" ", marker) + b"- "
    return marker, prefix
