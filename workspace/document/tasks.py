"""Tasks: list items with a checkbox, and what their sub-items say of them.

    - [x] Define API schemas
      - Criteria: OpenAPI 3.0 compatible
      - Completed: 2025-09-19
      - Note: Validated with team

A task's index counts the checkboxes of its section from 0; a checkbox below another is a sub-task (`1.0`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.markdown.lines import Lines
    from workspace.markdown.outline import ListItem

# The task list extension of GitHub Flavored Markdown 0.29 §5.3: a box, white space, and text.
_BOX = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_BULLET = re.compile(rb"[ \t]*[-*+][ \t]+")

TASK_FIELDS = ("criteria", "assignee", "note", "completed")
"""The names of the sub-items that belong to a task, in the order in which they are shown."""

_NAME = rf"[*_]{{0,2}}({'|'.join(TASK_FIELDS)})[*_]{{0,2}}[ \t]*:"
FIELD_LINE = r"[-*+][ \t]+" + _NAME
"""A pattern for the beginning of such a sub-item, whose case does not matter."""

_FIELD = re.compile(_NAME + r"[*_]{0,2}[ \t]*(.*)", re.IGNORECASE | re.DOTALL)
_COLON = re.compile(rb":[*_]{0,2}[ \t]*")


@dataclass(frozen=True, slots=True)
class TaskField:
    """A sub-item such as `- Criteria: …`. [start, end) are the bytes of its lines.

    [value_start, value_end) are those of the value, which may go over several lines.
    """

    name: str
    value: str
    start: int
    end: int
    value_start: int
    value_end: int


@dataclass(frozen=True, slots=True)
class Task:
    """A checkbox. [start, end) are the bytes of its lines; `box` is the byte between the brackets.

    [title_start, title_end) are the bytes of its title, which may go over several lines.
    `fields_at` is where a further sub-item goes, and `field_prefix` is what its line begins with.
    """

    index: str
    title: str
    is_done: bool
    start: int
    end: int
    box: int
    title_start: int
    title_end: int
    line: int
    depth: int
    fields: tuple[TaskField, ...]
    fields_at: int
    field_prefix: bytes

    def field(self, name: str) -> str | None:
        """Return what a sub-item of `TASK_FIELDS` says; of several, the last."""
        values = [item.value for item in self.fields if item.name == name]
        return values[-1] if values else None


def read_tasks(lines: Lines, items: Sequence[ListItem], section_starts: Sequence[int]) -> tuple[Task, ...]:
    """Return the tasks among a document's list items, numbered within the section in which each stands."""
    children: dict[int, list[int]] = {}
    for position, item in enumerate(items):
        if item.parent is not None:
            children.setdefault(item.parent, []).append(position)
    counts: dict[tuple[int, str], int] = {}
    prefixes: dict[int, str] = {}
    tasks: list[Task] = []
    for position, item in enumerate(items):
        prefix = "" if item.parent is None else prefixes.get(item.parent, "")
        prefixes[position] = prefix
        found = _BOX.match(item.source)
        if not found:
            continue
        start = lines.offset(item.line)
        section = bisect_right(section_starts, start)
        number = counts.get((section, prefix), 0)
        counts[section, prefix] = number + 1
        index = f"{prefix}{number}"
        prefixes[position] = index + "."
        below = [items[child] for child in children.get(position, ())]
        fields = tuple(_fields(lines, below))
        begin = _field_prefix(lines, item, below[0] if below else None)
        box = lines.offset(item.paragraph) + lines.raw(item.paragraph).index(b"[") + 1
        tasks.append(
            Task(
                index=index,
                title=to_plain_text(item.source[found.end() :]),
                is_done=found[1] != " ",
                start=start,
                end=lines.offset(_last_line(lines, item)),
                box=box,
                title_start=_first_word(lines.data, box + 2),
                title_end=_paragraph_end(lines, item),
                line=item.line + 1,
                depth=index.count("."),
                fields=fields,
                fields_at=fields[-1].end if fields else lines.offset(_fields_line(lines, item, begin)),
                field_prefix=begin,
            )
        )
    return tuple(tasks)


def _field_prefix(lines: Lines, item: ListItem, sibling: ListItem | None) -> bytes:
    """Return the prefix of a sub-item's line: that of existing ones, else a dash below the task's text."""
    found = _BULLET.match(lines.raw(sibling.line)) if sibling else None
    if found:
        return found.group()
    before, _, _ = lines.raw(item.paragraph).partition(b"[")
    return re.sub(rb"[^\t]", b" ", before) + b"- "


def _fields_line(lines: Lines, item: ListItem, prefix: bytes) -> int:
    """Return the line for the first sub-item: below the task's text, unless it would absorb what follows."""
    last = _last_line(lines, item)
    below = (lines.raw(line) for line in range(item.paragraph_end, last))
    following = next((line for line in below if line.strip(BLANK)), b"")
    indent = following[: len(following) - len(following.lstrip(b" \t"))]
    return last if len(indent.expandtabs(4)) >= len(prefix.expandtabs(4)) else item.paragraph_end


def _fields(lines: Lines, items: Sequence[ListItem]) -> list[TaskField]:
    fields: list[TaskField] = []
    for item in items:
        found = _FIELD.match(item.source)
        if found:
            span = lines.offset(item.line), lines.offset(_last_line(lines, item))
            end = _paragraph_end(lines, item)
            value = min(_value_start(lines.data, lines.offset(item.paragraph)), end)
            fields.append(TaskField(found[1].lower(), " ".join(found[2].split()), *span, value, end))
    return fields


def _value_start(data: bytes, line: int) -> int:
    """Return where the value of a field begins.

    Only marks stand before its name, and none of them is a colon.
    """
    found = _COLON.search(data, line)
    return found.end() if found else line


def _first_word(data: bytes, place: int) -> int:
    while data[place : place + 1] in (b" ", b"\t"):
        place += 1
    return place


def _paragraph_end(lines: Lines, item: ListItem) -> int:
    """Return the byte after the last one of an item's first paragraph that is not blank."""
    start, end = lines.offset(item.paragraph), lines.offset(item.paragraph_end)
    return start + len(lines.data[start:end].rstrip(BLANK))


def _last_line(lines: Lines, item: ListItem) -> int:
    """Return the line after an item's last one; blank lines after it are not its own."""
    line = item.end
    while line > item.line + 1 and not lines.raw(line - 1).strip(BLANK):
        line -= 1
    return line
