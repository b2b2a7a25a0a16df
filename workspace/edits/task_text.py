"""The target of a task: at the end of a section, below another task, or before one.

It takes the indentation and the marker of the tasks that it comes to stand beside.

The lines of a task with all that stands below it: taken out, and set to another indentation.

The sub-items of a task: written below it, and taken out again.

A line takes the line ending before it along rather than the one behind it, so that a file without a final
newline keeps having none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.addresses import (
    InvalidAddress,
    format_task_address,
    read_fragment,
    resolve_section,
    resolve_task,
)
from workspace.document.splices import (
    Edit,
    Splice,
    StructureChanged,
    find_needed_blank_line,
    find_text_end,
    find_text_start,
    insert_block,
)
from workspace.edits.content import InvalidContent, InvalidTitle, check_text, check_title
from workspace.markdown.lines import (
    BLANK,
    BOM,
    LINE_END_BYTES,
    LIST_MARKER_BYTES,
    encode_with_ending,
    find_content_end,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

_CHECKBOX = re.compile(r"^(?:[-*+][ \t]+)?\[[ xX]\](?:[ \t]+|$)")


def check_task_title(title: str) -> str:
    """Return a task's title on one line, without a box before it. Raises InvalidTitle, InvalidContent."""
    text = _CHECKBOX.sub("", check_title(title))
    if not text.strip():
        raise InvalidTitle("'title' is empty", fix="Say what is to be done.")
    return text


def check_field_value(name: str, value: str) -> str:
    """Return what a sub-item says, on one line; empty for one that says nothing. Raises InvalidContent."""
    return " ".join(check_text(value, name.lower()).split())


def add_fields(document: Document, task: Task, fields: list[tuple[str, str]]) -> Splice:
    """Return further sub-items of a task, after those it has."""
    return add_lines(
        document, task, "\n".join(f"{task.field_prefix.decode()}{name}: {value}" for name, value in fields)
    )


def add_lines(document: Document, task: Task, lines: str) -> Splice:
    """Return further lines below a task, after the sub-items it has; they bring their own indentation."""
    place = find_content_end(document.data, task.fields_at)
    text = document.ending + encode_with_ending(lines, document.ending)
    return Splice(place, place, text + find_needed_blank_line(document, "- x", place, task.fields_at))


def remove_fields(document: Document, task: Task, name: str) -> list[Splice]:
    """Return every sub-item of this name taken out."""
    return [
        Splice(find_content_end(document.data, item.start), find_content_end(document.data, item.end), b"")
        for item in task.fields
        if item.name == name
    ]


def replace_field(document: Document, task: Task, name: str, value: str) -> list[Splice]:
    """Return the value of the last sub-item of this name replaced, which is the one that counts."""
    item = next(item for item in reversed(task.fields) if item.name == name)
    if item.value == value:
        return []
    space = b"" if document.data[item.value_start - 1 : item.value_start] in (b" ", b"\t") else b" "
    return [Splice(item.value_start, item.value_end, space + value.encode())]


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
        """The fields of the answer of an edit that put a task there."""
        return {"slug": self.section.key, "task_index": self.place, "task": self.address}

    def splice(
        self, document: Document, written: Callable[[bytes, bytes], str], marker: bytes = b"- "
    ) -> Splice:
        """Put a task there: `written` gives its text for a marker and for what sub-items begin with.

        `marker` is for a list that the task begins.
        """
        if self.place < len(self.beside):
            task = self.beside[self.place]
            text = written(*_marks(document, task, following=False))
            between = document.ending * (2 if _is_loose(document, self.beside) else 1)
            return Splice(task.start, task.start, encode_with_ending(text, document.ending) + between)
        if self.beside:
            return self._after(document, written(*_marks(document, self.beside[-1], following=True)))
        if self.parent:
            below = re.sub(rb"[^\t]", b" ", self.parent.field_prefix) + b"- "
            return add_lines(document, self.parent, written(self.parent.field_prefix, below))
        return insert_block(document, self.section.end, written(marker, b"  - "))

    def _after(self, document: Document, text: str) -> Splice:
        """Return the splice after the last task, with a blank line if the list has such."""
        last = self.beside[-1]
        place = last.end
        while place > last.start and document.data[place - 1 : place] in (b"\n", b"\r"):
            place -= 1
        gap = document.ending * (2 if _is_loose(document, self.beside) else 1)
        return Splice(place, place, gap + encode_with_ending(text, document.ending))


def find_place_in(document: Document, slug: str, before: str | None) -> TaskPlace:
    """Return the place in a section or below a task: at its end, or before one of its tasks.

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
            tasks=[format_task_address(section, task) for task in tasks[:20]],
        )
    return TaskPlace(section, parent, tasks, tasks.index(task))


def find_place_before(document: Document, section: Section, task: Task) -> TaskPlace:
    """Return the place where a task stands, which is before it."""
    above, _, index = task.index.rpartition(".")
    owner = f"{section.key}[{above}]" if above else section.key
    return find_place_in(document, owner, None)._replace(place=int(index))


def build_task_answer(section: Section, task: Task) -> dict[str, object]:
    """Return the answer's fields for a task: its section, its index among its siblings, and its address."""
    index = int(task.index.rpartition(".")[2])
    return {"slug": section.key, "task_index": index, "task": format_task_address(section, task)}


def _owner(document: Document, slug: str) -> tuple[Section, Task | None]:
    """Return the section, and the task that is to have a sub-task."""
    if read_fragment(slug).task is None:
        return resolve_section(document, slug), None
    return resolve_task(document, slug)


def _is_loose(document: Document, tasks: Sequence[Task]) -> bool:
    """Return True if a blank line stands between the last two tasks."""
    if len(tasks) < 2:
        return False
    between = document.data[tasks[-2].end : tasks[-1].start]
    return not between.strip() and (b"\n" in between or b"\r" in between)


def _marks(document: Document, beside: Task, *, following: bool) -> tuple[bytes, bytes]:
    """Return what a task beside another begins with up to its box, and what the lines of its sub-items do."""
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


# CommonMark 0.31 §2.2: tabs stand at every fourth column where they make up a block's structure.
_TAB = 4
_OWN_LINE = re.compile(rb"(?P<indent>[ \t]*)(?P<marker>%b)(?P<gap>[ \t]+)\[" % LIST_MARKER_BYTES)


def check_own_lines(document: Document, section: Section, task: Task) -> None:
    """Raise InvalidAddress for a task whose first line is not its own: `- - [ ] a` begins two items."""
    if _OWN_LINE.match(document.data, task.start, task.box) is None:
        raise InvalidAddress(
            f"the task '{format_task_address(section, task)}' shares its line with another list item",
            fix="Rewrite its list with update_content.",
        )


def cut_task(document: Document, task: Task) -> Splice:
    """Take a task's lines out, and the blank lines before it if more follow after it."""
    data = document.data
    place = find_text_end(data, 0, task.start)
    if not data[:place].removeprefix(BOM):
        return Splice(task.start, find_text_start(data, task.end, len(data)), b"")
    following = data[task.end : document.lines.offset(document.lines.line_at(task.end) + 1)]
    if task.end < len(data) and following.strip(BLANK):
        return Splice(task.start, task.end, b"")
    return Splice(place, find_content_end(data, task.end), b"")


def read_own_marker(document: Document, task: Task) -> bytes:
    """Return a task's marker with the space behind it, without its indentation."""
    found = _OWN_LINE.match(document.data, task.start, task.box)
    return found["marker"] + found["gap"] if found else b"- "


def format_task_lines(document: Document, task: Task, marker: bytes) -> str:
    """Return a task's lines with LF line ends, as they read behind another marker and its indentation.

    Raises InvalidContent where they are not UTF-8.
    """
    lines = LINE_END_BYTES.split(document.data[task.start : find_content_end(document.data, task.end)])
    box = task.box - 1 - task.start
    was, now = _columns(lines[0][:box]), _columns(marker)
    same = was == now and b"\t" not in lines[0][:box] + marker
    rest = lines[1:] if same else [_shift_line(line, was, now) for line in lines[1:]]
    try:
        return b"\n".join([marker + lines[0][box:], *rest]).decode()
    except UnicodeDecodeError as error:
        raise InvalidContent("the task is not UTF-8", fix="Save the file as UTF-8.") from error


def _shift_line(line: bytes, was: int, now: int) -> bytes:
    """Return a line at another indentation; a line that had too little gets just enough."""
    words = line.lstrip(b" \t")
    columns = max(0, _columns(line[: len(line) - len(words)]) - was)
    return b" " * (now + columns if words or columns else 0) + words


def _columns(text: bytes) -> int:
    return len(text.expandtabs(_TAB))


def check_tasks(old: Document, taken: Task | None, new: Document, edit: Edit) -> None:
    """Compare the tasks that an edit did not take out or put in, and what it put in with what it wrote.

    Raises StructureChanged.
    """
    name = edit.answer.get("task")
    put = resolve_task(new, name)[1] if isinstance(name, str) and "removed" not in edit.answer else None
    before, gone = _split_tasks(old, taken)
    after, there = _split_tasks(new, put)
    written = b"".join(splice.replacement for splice in edit.splices).strip(BLANK)
    if (
        before != after
        or (taken and put and gone != there)
        or (put and new.data[put.start : put.end].strip(BLANK) != written)
    ):
        raise StructureChanged(
            f"this edit would also change other tasks of {old.path}",
            fix="Close every code fence and comment in the list, or rewrite it with update_content.",
        )


def _split_tasks(document: Document, task: Task | None) -> tuple[list[object], list[object]]:
    """Return what all tasks say but one and those below it; and what that one and those below it say."""
    inside: list[object] = []
    outside: list[object] = []
    for item in document.all_tasks:
        is_inside = task is not None and task.start <= item.start < task.end
        words = (item.title, item.is_done, [(field.name, field.value) for field in item.fields])
        (inside if is_inside else outside).append(words)
    return outside, inside
