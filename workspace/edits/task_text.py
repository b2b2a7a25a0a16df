"""The lines of tasks and their fields, and the target position of a task.

A task is inserted at the end of a section, below another task, or before another task. It gets the
indentation and the marker of its siblings. To move a task, its lines and those of its sub-items are removed,
and written with another indentation. Fields are added to a task, and removed from it.

At the end of a file, lines are inserted and removed with the line ending before them. So a file without a
final newline does not get one.
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
    make_insertion_splice,
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
from workspace.markdown.slugs import UniqueNames, make_heading_slug

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task

_CHECKBOX = re.compile(r"^(?:[-*+][ \t]+)?\[[ xX]\](?:[ \t]+|$)")
_ANY_LIST_ITEM = "- x"  # the text of an item does not decide whether a heading after it belongs to the list


def check_task_title(title: str) -> str:
    """Return a task's title on one line, without a checkbox. Raises InvalidTitle, InvalidContent."""
    text = _CHECKBOX.sub("", check_title(title))
    if not text.strip():
        raise InvalidTitle("'title' is empty", fix="Set 'title' to the text of the task.")
    return text


def check_field_value(name: str, value: str) -> str:
    """Return the value of a field on one line. Raises InvalidContent."""
    return " ".join(check_text(value, name.lower()).split())


def add_id(document: Document, task: Task) -> tuple[str, Splice]:
    """Return an id that no section and no other task of the document has, and the splice that writes it.

    The id is derived from the task's title.
    """
    slug = make_heading_slug(task.title).replace("/", "-") or "task"
    id = UniqueNames("-", 2, list_used_names(document)).make_unique(slug)
    return id, Splice(task.title_end, task.title_end, f" {{#{id}}}".encode())


def list_used_names(document: Document) -> set[str]:
    """Return the names of sections and the ids of tasks, which a new id must not have."""
    used_names = {item.id for item in document.all_tasks if item.id is not None}
    for section in document.sections:
        used_names |= {section.key, section.address, section.slug, *section.aliases}
        if section.anchor:
            used_names.add(section.anchor)
    return used_names


def write_fields(
    document: Document,
    task: Task,
    fields: Sequence[tuple[str, str]],
    added_fields: Sequence[tuple[str, str]] = (),
) -> list[Splice]:
    """Return the splices that write fields: the last field with a name gets the value, else one is added.

    An empty value removes every field with the name. `added_fields` are added below the existing fields.

    Raises InvalidContent if a field to remove has text below it.
    """
    splices: list[Splice] = []
    new_fields: list[tuple[str, str]] = []
    for name, value in fields:
        if not value:
            splices += remove_fields(document, task, name)
        elif task.field(name.lower()) is None:
            new_fields.append((name, value))
        else:
            splices += replace_field(document, task, name, value)
    if new_fields or added_fields:
        splices.append(add_fields(document, task, [*new_fields, *added_fields]))
    return splices


def add_fields(document: Document, task: Task, fields: list[tuple[str, str]]) -> Splice:
    """Return the splice that adds fields to a task, after its existing fields."""
    return add_lines(
        document, task, "\n".join(f"{task.field_prefix.decode()}{name}: {value}" for name, value in fields)
    )


def add_lines(document: Document, task: Task, lines: str) -> Splice:
    """Return the splice that adds indented lines below a task, after its fields."""
    position = find_content_end(document.data, task.fields_end)
    text = document.line_ending + encode_with_ending(lines, document.line_ending)
    blank_line = find_needed_blank_line(document, _ANY_LIST_ITEM, position, task.fields_end)
    return Splice(position, position, text + blank_line)


def remove_fields(document: Document, task: Task, name: str, *, keep_last: bool = False) -> list[Splice]:
    """Return the splices that remove every field with this name, or all but the last one.

    Raises InvalidContent if a field has text or tasks below it, which would be removed too.
    """
    fields = [field for field in task.fields if field.name == name.lower()]
    removed_fields = fields[:-1] if keep_last else fields
    for field in removed_fields:
        if document.data[field.value_end : field.end].strip():
            raise InvalidContent(
                f"the field '{name}' has text below it, which would be removed",
                fix="Move this text out of the field with replace_text or in an editor, then try again.",
            )
    return [
        Splice(find_content_end(document.data, field.start), find_content_end(document.data, field.end), b"")
        for field in removed_fields
    ]


def replace_field(document: Document, task: Task, name: str, value: str) -> list[Splice]:
    """Return the splices that replace the value of the last field with this name, which is in effect."""
    item = next(item for item in reversed(task.fields) if item.name == name.lower())
    if item.value == value:
        return []
    space = b"" if document.data[item.value_start - 1 : item.value_start] in (b" ", b"\t") else b" "
    return [Splice(item.value_start, item.value_end, space + value.encode())]


# CommonMark §5.2: the number of a list item has at most nine digits.
_MAX_ITEM_NUMBER = 999_999_999
_MARKER = re.compile(rb"[ \t]*(?P<marker>%b)[ \t]+\[" % LIST_MARKER_BYTES)


class TaskPosition(NamedTuple):
    """A position for a task: its section, its parent task, the siblings there, and the index among them."""

    section: Section
    parent: Task | None
    siblings: tuple[Task, ...]
    sibling_index: int

    @property
    def address(self) -> str:
        """The address of a task at this position."""
        prefix = f"{self.parent.index}." if self.parent else ""
        return f"{self.section.key}[{prefix}{self.sibling_index}]"

    @property
    def result_fields(self) -> dict[str, object]:
        """The result fields of an edit that inserts a task at this position."""
        return {"slug": self.section.key, "task_index": self.sibling_index, "task": self.address}

    def make_splice(
        self, document: Document, format_text: Callable[[bytes, bytes], str], marker: bytes = b"- "
    ) -> Splice:
        """Return the splice that inserts a task at this position.

        `format_text` returns the text of the task for a marker and for the prefix of fields. `marker` is used
        if the task begins a new list.
        """
        if self.sibling_index < len(self.siblings):
            task = self.siblings[self.sibling_index]
            text = format_text(*_read_marker_and_field_prefix(document, task, is_next=False))
            gap = document.line_ending * (2 if _is_loose(document, self.siblings) else 1)
            return Splice(task.start, task.start, encode_with_ending(text, document.line_ending) + gap)
        if self.siblings:
            text = format_text(*_read_marker_and_field_prefix(document, self.siblings[-1], is_next=True))
            return self._insert_after_siblings(document, text)
        if self.parent:
            prefix = re.sub(rb"[^\t]", b" ", self.parent.field_prefix) + b"- "
            return add_lines(document, self.parent, format_text(self.parent.field_prefix, prefix))
        return make_insertion_splice(document, self.section.end, format_text(marker, b"  - "))

    def _insert_after_siblings(self, document: Document, text: str) -> Splice:
        """Return the splice that inserts a task after the last sibling.

        A blank line separates the two if the list has blank lines.
        """
        last_sibling = self.siblings[-1]
        position = last_sibling.end
        while position > last_sibling.start and document.data[position - 1 : position] in (b"\n", b"\r"):
            position -= 1
        gap = document.line_ending * (2 if _is_loose(document, self.siblings) else 1)
        return Splice(position, position, gap + encode_with_ending(text, document.line_ending))


def find_position_in(document: Document, slug: str, before: str | None) -> TaskPosition:
    """Return the position at the end of a section or task, or before one of its tasks.

    Raises InvalidAddress if `before` is not directly in `slug`, and the errors of `resolve_section` and
    `resolve_task`.
    """
    section, parent = _resolve_parent(document, slug)
    prefix = f"{parent.index}." if parent else ""
    depth = parent.depth + 1 if parent else 0
    tasks = tuple(
        task for task in document.tasks(section) if task.depth == depth and task.index.startswith(prefix)
    )
    if not before:
        return TaskPosition(section, parent, tasks, len(tasks))
    task_section, task = resolve_task(document, before)
    if task_section.position != section.position or task not in tasks:
        raise InvalidAddress(
            f"'{before}' is not a task directly in '{slug}'",
            fix=f"Set 'before' to a task directly in '{slug}', or 'slug' to the parent of '{before}'.",
            tasks=[format_task_address(section.key, task) for task in tasks[:20]],
        )
    return TaskPosition(section, parent, tasks, tasks.index(task))


def find_position_before(document: Document, section: Section, task: Task) -> TaskPosition:
    """Return the position directly before a task."""
    parent_index, _, index = task.index.rpartition(".")
    parent = f"{section.key}[{parent_index}]" if parent_index else section.key
    return find_position_in(document, parent, None)._replace(sibling_index=int(index))


def build_task_result(section: Section, task: Task) -> dict[str, object]:
    """Return the result fields for a task: its section, its index among its siblings, and its address."""
    index = int(task.index.rpartition(".")[2])
    return {"slug": section.key, "task_index": index, "task": format_task_address(section.key, task)}


def _resolve_parent(document: Document, slug: str) -> tuple[Section, Task | None]:
    """Return the section of a slug, and its task if the slug is the address of a task."""
    if read_fragment(slug).task is None:
        return resolve_section(document, slug), None
    return resolve_task(document, slug)


def _is_loose(document: Document, tasks: Sequence[Task]) -> bool:
    """Return True if a blank line separates the last two tasks."""
    if len(tasks) < 2:
        return False
    separator = document.data[tasks[-2].end : tasks[-1].start]
    return not separator.strip() and (b"\n" in separator or b"\r" in separator)


def _read_marker_and_field_prefix(document: Document, sibling: Task, *, is_next: bool) -> tuple[bytes, bytes]:
    """Return the text before the box of a new sibling, and the prefix of its fields.

    `is_next` is True for a task after the sibling, whose number in an ordered list is one higher.
    """
    line = document.data[sibling.start : sibling.box_offset]
    match = _MARKER.match(line)
    if match is None:
        return b"- ", b"  - "
    marker, prefix = line[:-1], sibling.field_prefix
    if digits := match["marker"][:-1]:
        number = min(int(digits) + is_next, _MAX_ITEM_NUMBER)
        marker = line[: match.start("marker")] + b"%d" % number + line[match.end("marker") - 1 : -1]
        # Fields are indented like the text, whose column changes if the number has one more digit.
        prefix = re.sub(rb"[^\t]", b" ", marker) + b"- "
    return marker, prefix


# CommonMark 0.31 §2.2: in a block's structure, tab stops are at every fourth column.
_TAB_WIDTH = 4
_TASK_LINE = re.compile(rb"(?P<indent>[ \t]*)(?P<marker>%b)(?P<gap>[ \t]+)\[" % LIST_MARKER_BYTES)


def check_separate_line(document: Document, section: Section, task: Task) -> None:
    """Raise InvalidAddress for a task that shares its line with another item, as in `- - [ ] a`."""
    if _TASK_LINE.match(document.data, task.start, task.box_offset) is None:
        raise InvalidAddress(
            f"the task '{format_task_address(section.key, task)}' shares its line with another list item",
            fix=f"Rewrite the list in '{section.key}' with update_content.",
        )


def cut_task(document: Document, task: Task) -> Splice:
    """Return the splice that removes a task's lines, and duplicate blank lines around them."""
    data = document.data
    position = find_text_end(data, 0, task.start)
    if not data[:position].removeprefix(BOM):
        return Splice(task.start, find_text_start(data, task.end, len(data)), b"")
    next_line = data[task.end : document.lines.offset(document.lines.line_at(task.end) + 1)]
    if task.end < len(data) and next_line.strip(BLANK):
        return Splice(task.start, task.end, b"")
    return Splice(position, find_content_end(data, task.end), b"")


def read_task_marker(document: Document, task: Task) -> bytes:
    """Return a task's marker with the space after it, without its indentation."""
    match = _TASK_LINE.match(document.data, task.start, task.box_offset)
    return match["marker"] + match["gap"] if match else b"- "


def format_task_lines(document: Document, task: Task, marker: bytes) -> str:
    """Return a task's lines with LF line endings, another marker, and the indentation of that marker.

    Raises InvalidContent if the lines are not UTF-8.
    """
    lines = LINE_END_BYTES.split(document.data[task.start : find_content_end(document.data, task.end)])
    box_start = task.box_offset - 1 - task.start
    old_columns, new_columns = _count_columns(lines[0][:box_start]), _count_columns(marker)
    is_unchanged = old_columns == new_columns and b"\t" not in lines[0][:box_start] + marker
    later_lines = (
        lines[1:] if is_unchanged else [_shift_line(line, old_columns, new_columns) for line in lines[1:]]
    )
    try:
        return b"\n".join([marker + lines[0][box_start:], *later_lines]).decode()
    except UnicodeDecodeError as error:
        raise InvalidContent(
            f"the task in line {task.line} of {document.path} is not UTF-8",
            fix=f"Save {document.path} as UTF-8.",
        ) from error


def _shift_line(line: bytes, old_columns: int, new_columns: int) -> bytes:
    """Return a line, shifted from `old_columns` to `new_columns`, and indented at least `new_columns`."""
    text = line.lstrip(b" \t")
    columns = max(0, _count_columns(line[: len(line) - len(text)]) - old_columns)
    return b" " * (new_columns + columns if text or columns else 0) + text


def _count_columns(text: bytes) -> int:
    return len(text.expandtabs(_TAB_WIDTH))


def check_tasks(old: Document, removed_task: Task | None, new: Document, edit: Edit) -> None:
    """Raise StructureChanged if an edit changed other tasks, or if the added task has an unexpected text."""
    name = edit.result.get("task")
    added_task = (
        resolve_task(new, name)[1] if isinstance(name, str) and "removed" not in edit.result else None
    )
    old_other_contents, old_task_contents = _split_tasks(old, removed_task)
    new_other_contents, new_task_contents = _split_tasks(new, added_task)
    inserted_text = b"".join(splice.replacement for splice in edit.splices).strip(BLANK)
    if (
        old_other_contents != new_other_contents
        or (removed_task and added_task and old_task_contents != new_task_contents)
        or (added_task and new.data[added_task.start : added_task.end].strip(BLANK) != inserted_text)
    ):
        raise StructureChanged(
            f"this edit would change other tasks of {old.path}, or its task would be read differently",
            fix="Close every code fence and comment in the list, or rewrite the list with update_content.",
        )


def _split_tasks(document: Document, task: Task | None) -> tuple[list[object], list[object]]:
    """Return the contents of all tasks outside a task, and the contents of the task and its sub-tasks."""
    inside_contents: list[object] = []
    outside_contents: list[object] = []
    for item in document.all_tasks:
        is_inside = task is not None and task.start <= item.start < task.end
        content = (item.title, item.is_done, [(field.name, field.value) for field in item.fields])
        (inside_contents if is_inside else outside_contents).append(content)
    return outside_contents, inside_contents
