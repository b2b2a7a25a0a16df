"""The lines of a task with all that stands below it: taken out, and set to another indentation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.addresses import InvalidAddress, resolve_task, task_address
from workspace.document.spacing import end_of_text, start_of_text
from workspace.document.splices import Edit, Splice, StructureChanged
from workspace.edits.content import InvalidContent
from workspace.markdown.lines import BLANK, BOM, LINE_END_BYTES, LIST_MARKER_BYTES, before_ending

if TYPE_CHECKING:
    from workspace.document.document import Document, Section, Task

# CommonMark 0.31 §2.2: tabs stand at every fourth column where they make up a block's structure.
_TAB = 4
_OWN_LINE = re.compile(rb"(?P<indent>[ \t]*)(?P<marker>%b)(?P<gap>[ \t]+)\[" % LIST_MARKER_BYTES)


def check_own_lines(document: Document, section: Section, task: Task) -> None:
    """Raises InvalidAddress for a task whose first line is not its own: `- - [ ] a` begins two items."""
    if _OWN_LINE.match(document.data, task.start, task.box) is None:
        raise InvalidAddress(
            f"the task '{task_address(section, task)}' shares its line with another list item",
            fix="Rewrite its list with update_content.",
        )


def without_task(document: Document, task: Task) -> Splice:
    """Takes a task's lines out, and the blank lines before it if more follow after it."""
    data = document.data
    place = end_of_text(data, 0, task.start)
    if not data[:place].removeprefix(BOM):
        return Splice(task.start, start_of_text(data, task.end, len(data)), b"")
    following = data[task.end : document.lines.offset(document.lines.line_at(task.end) + 1)]
    if task.end < len(data) and following.strip(BLANK):
        return Splice(task.start, task.end, b"")
    return Splice(place, before_ending(data, task.end), b"")


def own_marker(document: Document, task: Task) -> bytes:
    """A task's marker with the space behind it, without its indentation."""
    found = _OWN_LINE.match(document.data, task.start, task.box)
    return found["marker"] + found["gap"] if found else b"- "


def task_text(document: Document, task: Task, marker: bytes) -> str:
    """A task's lines with LF line ends, as they read behind another marker and its indentation.

    Raises InvalidContent where they are not UTF-8.
    """
    lines = LINE_END_BYTES.split(document.data[task.start : before_ending(document.data, task.end)])
    box = task.box - 1 - task.start
    was, now = _columns(lines[0][:box]), _columns(marker)
    same = was == now and b"\t" not in lines[0][:box] + marker
    rest = lines[1:] if same else [_shifted(line, was, now) for line in lines[1:]]
    try:
        return b"\n".join([marker + lines[0][box:], *rest]).decode()
    except UnicodeDecodeError as error:
        raise InvalidContent("the task is not UTF-8", fix="Save the file as UTF-8.") from error


def _shifted(line: bytes, was: int, now: int) -> bytes:
    """A line at another indentation; one that had too little, as a paragraph's may, has just enough."""
    words = line.lstrip(b" \t")
    columns = max(0, _columns(line[: len(line) - len(words)]) - was)
    return b" " * (now + columns if words or columns else 0) + words


def _columns(text: bytes) -> int:
    return len(text.expandtabs(_TAB))


def check_tasks(old: Document, taken: Task | None, new: Document, edit: Edit) -> None:
    """Compares the tasks that an edit did not take out or put in, and what it put in with what it wrote.

    Raises StructureChanged.
    """
    name = edit.answer.get("task")
    put = resolve_task(new, name)[1] if isinstance(name, str) and "removed" not in edit.answer else None
    before, gone = _parted(old, taken)
    after, there = _parted(new, put)
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


def _parted(document: Document, task: Task | None) -> tuple[list[object], list[object]]:
    """What all tasks say but one and those below it; and what that one and those below it say."""
    inside: list[object] = []
    outside: list[object] = []
    for item in document.all_tasks:
        is_inside = task is not None and task.start <= item.start < task.end
        words = (item.title, item.is_done, [(field.name, field.value) for field in item.fields])
        (inside if is_inside else outside).append(words)
    return outside, inside
