"""Tasks: list items with a checkbox, and the fields in their sub-items.

    - [x] Define API schemas {#schemas}
      - Criteria: OpenAPI 3.0 compatible
      - Depends on: plans/api.md#scope, #names
      - Claimed by: builder-2 until 2026-11-28T10:00:37Z
      - Completed: 2025-09-19
      - Note: Validated with team

A task's index counts the checkboxes of its section from 0; a checkbox below another is a sub-task (`1.0`). An
anchor at the end of the title is the task's id, which does not change when tasks are added or moved.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from workspace.document.fields import build_name_pattern, compile_field, split_entries
from workspace.markdown.anchors import TASK_ID
from workspace.markdown.inline import to_plain_text
from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.markdown.lines import Lines
    from workspace.markdown.outline import ListItem

# The task list extension of GitHub Flavored Markdown 0.29 §5.3: a box, white space, and text.
_CHECKBOX = re.compile(r"\[([ xX])\][ \t]+(?=\S)")
_BULLET = re.compile(rb"[ \t]*[-*+][ \t]+")

TASK_FIELDS = ("criteria", "assignee", "depends on", "blocked", "claimed by", "note", "completed")
"""The names of a task's fields, in display order."""

LIST_FIELDS = ("depends on", "note")
"""The fields that a task may have several times: every value counts."""

FIELD_LINE = r"[-*+][ \t]+" + build_name_pattern(TASK_FIELDS)
"""A pattern for the start of a field's line. Compile it with re.IGNORECASE."""

_FIELD = compile_field(TASK_FIELDS)
_FIELD_COLON = re.compile(rb":[*_]{0,2}[ \t]*")


_CLAIM = re.compile(r"(?P<name>.*\S)[ \t]+until[ \t]+(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d)(?P<seconds>:\d\d)?Z")
CLAIM_TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


class Claim(NamedTuple):
    """The value of a field `Claimed by: name until time`. `until` is None if the field has no valid time.

    The time is UTC, and may be written without seconds.
    """

    name: str
    until: datetime | None

    @classmethod
    def parse(cls, value: str) -> Claim:
        """Return the claim of a field's value."""
        match = _CLAIM.fullmatch(value)
        if match is not None:
            with suppress(ValueError):  # such as a month 13
                text = f"{match['time']}{match['seconds'] or ':00'}Z"
                until = datetime.strptime(text, CLAIM_TIME_FORMAT).replace(tzinfo=UTC)
                return cls(match["name"], until)
        return cls(value, None)

    def __str__(self) -> str:
        return self.name if self.until is None else f"{self.name} until {self.until:{CLAIM_TIME_FORMAT}}"

    def is_valid_at(self, time: datetime) -> bool:
        """Return True if the claim has not expired. A claim without a time does not expire."""
        return self.until is None or time < self.until


@dataclass(frozen=True, slots=True)
class TaskField:
    """A sub-item such as `- Criteria: …`. [start, end) are the bytes of its lines.

    [value_start, value_end) are the bytes of its value, which may have several lines.
    """

    name: str
    value: str
    start: int
    end: int
    value_start: int
    value_end: int

    def list_entries(self) -> tuple[str, ...]:
        """Return the parts of the value that are separated by commas, without code marks around them."""
        return split_entries(self.value)


@dataclass(frozen=True, slots=True)
class Task:
    """A checkbox. [start, end) are the bytes of its lines; `box_offset` is the byte between the brackets.

    [title_start, title_end) are the bytes of its title without its id; the title may have several lines.
    `fields_end` is the position for a new field, and `field_prefix` is the start of its line.
    """

    index: str
    id: str | None
    title: str
    is_done: bool
    start: int
    end: int
    box_offset: int
    title_start: int
    title_end: int
    line: int
    depth: int
    fields: tuple[TaskField, ...]
    fields_end: int
    field_prefix: bytes

    def field(self, name: str) -> str | None:
        """Return the value of a field in `TASK_FIELDS`; the last value if the field is repeated."""
        values = self.list_values(name)
        return values[-1] if values else None

    def list_values(self, name: str) -> list[str]:
        """Return the values of a field in `TASK_FIELDS`, in order."""
        return [item.value for item in self.fields if item.name == name]

    @property
    def claim(self) -> Claim | None:
        """The claim of the task, which may have expired; None without one."""
        value = self.field("claimed by")
        return Claim.parse(value) if value else None

    @property
    def dependencies(self) -> tuple[str, ...]:
        """The addresses of the tasks that must be done first: `path#id`, or `#id` in the same document."""
        fields = (item for item in self.fields if item.name == "depends on")
        return tuple(dict.fromkeys(entry for item in fields for entry in item.list_entries()))


def read_tasks(lines: Lines, items: Sequence[ListItem], section_starts: Sequence[int]) -> tuple[Task, ...]:
    """Return the tasks among a document's list items, numbered within their section."""
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
        match = _CHECKBOX.match(item.source)
        if not match:
            continue
        start = lines.offset(item.line)
        section = bisect_right(section_starts, start)
        number = counts.get((section, prefix), 0)
        counts[section, prefix] = number + 1
        index = f"{prefix}{number}"
        prefixes[position] = index + "."
        sub_items = [items[child] for child in children.get(position, ())]
        fields = tuple(_read_fields(lines, sub_items))
        field_prefix = _read_field_prefix(lines, item, sub_items[0] if sub_items else None)
        box_offset = lines.offset(item.paragraph_line) + lines.line_bytes(item.paragraph_line).index(b"[") + 1
        title = item.source[match.end() :].rstrip()
        id_match = TASK_ID.search(title)
        id_bytes = len(id_match.group().encode()) if id_match else 0
        tasks.append(
            Task(
                index=index,
                id=id_match["id"] if id_match else None,
                title=to_plain_text(title[: id_match.start()] if id_match else title),
                is_done=match[1] != " ",
                start=start,
                end=lines.offset(_find_end_line(lines, item)),
                box_offset=box_offset,
                title_start=_skip_blanks(lines.data, box_offset + 2),
                title_end=_find_paragraph_end(lines, item) - id_bytes,
                line=item.line + 1,
                depth=index.count("."),
                fields=fields,
                fields_end=fields[-1].end
                if fields
                else lines.offset(_find_fields_line(lines, item, field_prefix)),
                field_prefix=field_prefix,
            )
        )
    return tuple(tasks)


def _read_field_prefix(lines: Lines, item: ListItem, first_sub_item: ListItem | None) -> bytes:
    """Return the start of a new field's line: as in the first sub-item, else a dash below the task's text."""
    match = _BULLET.match(lines.line_bytes(first_sub_item.line)) if first_sub_item else None
    if match:
        return match.group()
    text_before_box, _, _ = lines.line_bytes(item.paragraph_line).partition(b"[")
    return re.sub(rb"[^\t]", b" ", text_before_box) + b"- "


def _find_fields_line(lines: Lines, item: ListItem, prefix: bytes) -> int:
    """Return the line before which the first field is inserted.

    The field comes directly below the task's text, unless the next lines would then belong to the field.
    """
    end_line = _find_end_line(lines, item)
    lines_below = (lines.line_bytes(line) for line in range(item.paragraph_end, end_line))
    next_line = next((line for line in lines_below if line.strip(BLANK)), b"")
    indent = next_line[: len(next_line) - len(next_line.lstrip(b" \t"))]
    return end_line if len(indent.expandtabs(4)) >= len(prefix.expandtabs(4)) else item.paragraph_end


def _read_fields(lines: Lines, items: Sequence[ListItem]) -> list[TaskField]:
    fields: list[TaskField] = []
    for item in items:
        match = _FIELD.match(item.source)
        if match:
            span = lines.offset(item.line), lines.offset(_find_end_line(lines, item))
            end = _find_paragraph_end(lines, item)
            value_start = min(_find_value_start(lines.data, lines.offset(item.paragraph_line)), end)
            fields.append(
                TaskField(
                    " ".join(match[1].lower().split()), " ".join(match[2].split()), *span, value_start, end
                )
            )
    return fields


def _find_value_start(data: bytes, line: int) -> int:
    """Return the start of the value of a field.

    The first colon of the line ends the field's name, because no marker before the name contains a colon.
    """
    match = _FIELD_COLON.search(data, line)
    return match.end() if match else line


def _skip_blanks(data: bytes, position: int) -> int:
    while data[position : position + 1] in (b" ", b"\t"):
        position += 1
    return position


def _find_paragraph_end(lines: Lines, item: ListItem) -> int:
    """Return the end of an item's first paragraph without its trailing white space."""
    start, end = lines.offset(item.paragraph_line), lines.offset(item.paragraph_end)
    return start + len(lines.data[start:end].rstrip(BLANK))


def _find_end_line(lines: Lines, item: ListItem) -> int:
    """Return the number of the line after the last line of an item that is not blank."""
    line = item.end
    while line > item.line + 1 and not lines.line_bytes(line - 1).strip(BLANK):
        line -= 1
    return line
