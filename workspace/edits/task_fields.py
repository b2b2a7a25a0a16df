"""The sub-items of a task: written below it, and taken out again.

A line takes the line ending before it along rather than the one behind it, so that a file without a final
newline keeps having none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from workspace.document.spacing import blank_line
from workspace.document.splices import Splice
from workspace.edits.content import InvalidTitle, checked_text, checked_title
from workspace.markdown.lines import before_ending, with_ending

if TYPE_CHECKING:
    from workspace.document.document import Document, Task

_CHECKBOX = re.compile(r"^(?:[-*+][ \t]+)?\[[ xX]\](?:[ \t]+|$)")


def task_title(title: str) -> str:
    """A task's title on one line, without a box before it. Raises InvalidTitle, InvalidContent."""
    text = _CHECKBOX.sub("", checked_title(title))
    if not text.strip():
        raise InvalidTitle("'title' is empty", fix="Say what is to be done.")
    return text


def field_value(name: str, value: str) -> str:
    """What a sub-item says, on one line; empty for one that says nothing. Raises InvalidContent."""
    return " ".join(checked_text(value, name.lower()).split())


def with_fields(document: Document, task: Task, fields: list[tuple[str, str]]) -> Splice:
    """Further sub-items of a task, after those it has."""
    return with_lines(
        document, task, "\n".join(f"{task.field_prefix.decode()}{name}: {value}" for name, value in fields)
    )


def with_lines(document: Document, task: Task, lines: str) -> Splice:
    """Further lines below a task, after the sub-items it has; they bring their own indentation."""
    place = before_ending(document.data, task.fields_at)
    text = document.ending + with_ending(lines, document.ending)
    return Splice(place, place, text + blank_line(document, "- x", place, task.fields_at))


def without_fields(document: Document, task: Task, name: str) -> list[Splice]:
    """Every sub-item of this name taken out."""
    return [
        Splice(before_ending(document.data, item.start), before_ending(document.data, item.end), b"")
        for item in task.fields
        if item.name == name
    ]


def replaced_field(document: Document, task: Task, name: str, value: str) -> list[Splice]:
    """The value of the last sub-item of this name replaced, which is the one that counts."""
    item = next(item for item in reversed(task.fields) if item.name == name)
    if item.value == value:
        return []
    space = b"" if document.data[item.value_start - 1 : item.value_start] in (b" ", b"\t") else b" "
    return [Splice(item.value_start, item.value_end, space + value.encode())]
