"""Format changes as JSON data, as lines for a terminal, and as Markdown.

The data are lists and mappings with stable keys. Lines consist of styled segments; the caller chooses their
look.

Markdown has a heading for each document and section, and a sentence for each change. Removed words are
~~struck~~, added words **bold**. Removed and added lines are in a code fence of the language `diff`. Text of
documents is escaped, or fenced by more backticks than it contains, so that it has no effect as Markdown.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING

from workspace.diff.changes import ChangeKind
from workspace.diff.descriptions import (
    Segment,
    describe_change,
    describe_document,
    format_one_line,
    truncate_to_budget,
)
from workspace.diff.text import diff_texts
from workspace.markdown.lines import LIST_MARKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workspace.diff.changes import DocumentChange, PartVersion, SectionChange
    from workspace.diff.descriptions import DiffRow, Segment

JsonObject = dict[str, object]
"""An object of the JSON data."""


def format_data(changes: Iterable[DocumentChange], max_chars: int = 100_000) -> JsonObject:
    """Return `{"documents": [...], "more": n}`, which has about `max_chars` characters as JSON.

    A document has `kind`, `path`, `title` and `changes`. Optional fields are `old_path` and `unread` (the
    code of an error).

    A change has `kind`, `address`, `title` and `line`. Optional fields are `field`, `old_address`,
    `old_title`, and the texts `before` and `after`. A moved part has `below` and `old_below`, and `old_path`
    or `path` if it moved from or to another document.

    `words` are edits, in order: the characters [`start`, `end`) of `before`, which are `old`, became `new`.
    If they are applied from the last to the first, the result is `after`. Texts that are too long for the
    remaining length are replaced by `is_cut: true`. `more` counts the omitted changes.
    """
    documents: list[JsonObject] = []
    remaining_chars, omitted_count = max_chars, 0
    for document in changes:
        document_data = _make_document(document)
        remaining_chars -= _measure_data(document_data)
        if remaining_chars < 0:
            omitted_count += len(document.section_changes) or 1
            continue
        documents.append(document_data)
        change_list: list[JsonObject] = []
        document_data["changes"] = change_list
        for change in document.section_changes:
            change_data = _make_change(change, document.path) if remaining_chars > 0 else {}
            if change_data and _measure_data(change_data) > remaining_chars:
                short_data = {key: value for key, value in change_data.items() if key not in _TEXT_FIELDS}
                change_data = short_data | {"is_cut": True}
            remaining_chars -= _measure_data(change_data) if change_data else 1
            if remaining_chars < 0:
                omitted_count += 1
            else:
                change_list.append(change_data)
    return {"documents": documents, "more": omitted_count}


_TEXT_FIELDS = frozenset({"before", "after", "words"})
_MAX_PATH_CHARACTERS = 1000


def _make_document(document: DocumentChange) -> JsonObject:
    data: JsonObject = {"kind": document.kind.value, "path": document.path, "title": document.title}
    if document.old_path not in (None, document.path):
        data["old_path"] = document.old_path
    if document.error_code:
        data["unread"] = document.error_code
    data["changes"] = []
    return data


def _make_change(change: SectionChange, path: str) -> JsonObject:
    before, after, location = change.before, change.after, change.location
    data: JsonObject = {
        "kind": change.kind.value,
        "address": location.address,
        "title": location.title,
        "line": location.line,
    }
    if change.field:
        data["field"] = change.field
    if before and after:
        data |= _make_location_fields(before, after, change.kind, path)
    if change.kind not in (
        ChangeKind.MOVED,
        ChangeKind.TASK_MOVED,
        ChangeKind.TASK_COMPLETED,
        ChangeKind.TASK_REOPENED,
    ):
        data |= _make_text_fields(before, after)
    return data


def _make_location_fields(before: PartVersion, after: PartVersion, kind: ChangeKind, path: str) -> JsonObject:
    data: JsonObject = {}
    if before.address != after.address:
        data["old_address"] = before.address
    if before.title != after.title:
        data["old_title"] = before.title
    if kind is ChangeKind.MOVED and before.path != after.path:
        data |= {"path": after.path} if path == before.path else {"old_path": before.path}
    if kind in (ChangeKind.MOVED, ChangeKind.TASK_MOVED):
        data |= {"below": list(after.parent_titles), "old_below": list(before.parent_titles)}
    return data


def _make_text_fields(before: PartVersion | None, after: PartVersion | None) -> JsonObject:
    data: JsonObject = {}
    if before:
        data["before"] = before.text
    if after:
        data["after"] = after.text
    if before and after:
        data["words"] = [
            {
                "start": edit.start,
                "end": edit.end,
                "old": before.text[edit.start : edit.end],
                "new": after.text[edit.new_start : edit.new_end],
            }
            for edit in diff_texts(before.text, after.text)
        ]
    return data


def _measure_data(data: JsonObject) -> int:
    return len(json.dumps(data, ensure_ascii=False))


Line = tuple[Segment, ...]
"""A line for a terminal."""


def format_lines(changes: Iterable[DocumentChange], max_chars: int = 50_000) -> list[Line]:
    """Return the changes as lines with at most `max_chars` characters in total.

    If changes are omitted, a last line states their number.

    Styles are `address` (a path or an address), `title`, `removed`, `added` and `plain`.
    """
    blocks, omitted_count = truncate_to_budget(_make_line_blocks(changes), max_chars, _measure_lines)
    lines = [line for block in blocks for line in block]
    if omitted_count:
        lines.append((Segment(f"… and {omitted_count:,} more change{'s' * (omitted_count != 1)}"),))
    return lines


def format_plain_line(line: Line) -> str:
    """Return a line without colours; changed words are marked as in `git diff --word-diff=plain`."""
    is_full_line = len(line) > 1 and line[0].text.strip() in ("-", "+")
    return "".join(_format_plain_segment(segment, is_full_line) for segment in line)


def _format_plain_segment(segment: Segment, is_full_line: bool) -> str:
    if segment.style == "removed" and not is_full_line:
        return f"[-{segment.text}-]"
    if segment.style == "added" and not is_full_line:
        return f"{{+{segment.text}+}}"
    return segment.text


def _make_line_blocks(changes: Iterable[DocumentChange]) -> Iterator[tuple[Callable[[], list[Line]], int]]:
    """Yield functions that make blocks of lines, each with the number of its changes."""
    for document in changes:
        path = format_one_line(document.path, _MAX_PATH_CHARACTERS)
        head: tuple[Line, ...] = ((Segment(path, "address"),),)
        sentence = describe_document(document)
        if sentence:
            is_counted = document.is_addition_or_removal or not document.section_changes
            yield partial(list, (*head, (Segment("  "), *sentence))), int(is_counted)
            head = ()
        address = ""
        for change in document.described_changes:
            yield partial(_make_lines, head, change, document.path, change.section_address != address), 1
            head, address = (), change.section_address


def _make_lines(head: Iterable[Line], change: SectionChange, path: str, is_first: bool) -> list[Line]:
    """Return the lines of a change, with the title of its section for the section's first change."""
    lines = [*head]
    if is_first:
        title = Segment(format_one_line(change.section_title), "title")
        lines.append(
            (Segment("  "), title, Segment(" "), Segment(format_one_line(change.section_address), "address"))
        )
    indent = "    " if change.section_address else "  "
    description = describe_change(change, path)
    if description.sentence:
        lines.append((Segment(indent), *description.sentence))
    lines += [(Segment(f"{indent}{row.mark} "), *row.segments) for row in description.rows]
    return lines


def _measure_lines(block: list[Line]) -> int:
    return sum(len(segment.text) for line in block for segment in line)


# An underscore within a word is not emphasis (CommonMark 0.31 §6.2).
_MARKUP = re.compile(r"[\\`*\[\]<>~&|]|(?<!\w)_|_(?!\w)")
_CODE = re.compile(r"(`[^`\n]{1,200}`)")
_MARKER = re.compile(rf"[ \t]*(?:{LIST_MARKER}|#{{1,6}})[ \t]+(?:\[[ xX]\][ \t]+)?")
_FENCE_TICKS = re.compile("`{3,}")


def format_markdown(changes: Iterable[DocumentChange], max_chars: int = 20_000) -> str:
    """Return the changes as Markdown of at most `max_chars` characters.

    If changes are omitted, a last line states their number.
    """
    blocks, omitted_count = truncate_to_budget(_make_markdown_blocks(changes), max_chars, len)
    text = "".join(blocks)
    if omitted_count:
        text += f"\n… and {omitted_count:,} more change{'s' * (omitted_count != 1)}.\n"
    return text


def _make_markdown_blocks(changes: Iterable[DocumentChange]) -> Iterator[tuple[Callable[[], str], int]]:
    """Yield functions that make the parts of the text, each with the number of its changes."""
    separator = ""
    for document in changes:
        path = format_one_line(document.path, _MAX_PATH_CHARACTERS)
        head = f"{separator}### {format_code_span(path)}\n"
        separator = "\n"
        sentence = describe_document(document)
        if sentence:
            is_counted = document.is_addition_or_removal or not document.section_changes
            yield partial(_format_description, head, sentence), int(is_counted)
            head = ""
        address = ""
        for change in document.described_changes:
            yield (
                partial(_make_markdown_block, head, change, document.path, change.section_address != address),
                1,
            )
            head, address = "", change.section_address


def _format_description(head: str, sentence: Iterable[Segment]) -> str:
    return f"{head}\n{_format_sentence(sentence)}\n"


def _make_markdown_block(head: str, change: SectionChange, path: str, is_first: bool) -> str:
    """Return the text of a change, with the heading of its section for the section's first change."""
    text = head
    if is_first:
        address = format_code_span(format_one_line(change.section_address))
        text += f"\n#### {escape_markdown(format_one_line(change.section_title))} ({address})\n"
    description = describe_change(change, path)
    if description.sentence:
        text += f"\n{_format_sentence(description.sentence)}\n"
    lines: list[DiffRow] = []
    for row in description.rows:
        if row.mark == "~":
            text += _format_fence(lines) + f"\n> {_format_changed_words(row)}\n"
            lines = []
        else:
            lines.append(row)
    return text + _format_fence(lines)


def _format_sentence(segments: Iterable[Segment]) -> str:
    return "".join(_format_segment(segment) for segment in segments)


def _format_segment(segment: Segment) -> str:
    text, style = segment
    if style == "address":
        return format_code_span(text)
    if style == "title":
        return f"“{escape_markdown(text)}”"
    if style == "plain":
        return escape_markdown(text)
    leading_space, text_without_padding, trailing_space = _split_padding(text)
    mark = "~~" if style == "removed" else "**"
    return f"{leading_space}{mark}{escape_markdown(text_without_padding)}{mark}{trailing_space}"


def _split_padding(text: str) -> tuple[str, str, str]:
    """Return the leading white space, the text, and the trailing white space, which emphasis excludes."""
    content = text.strip()
    start = text.index(content)
    return text[:start], content, text[start + len(content) :]


def _format_changed_words(row: DiffRow) -> str:
    """Return a paragraph as the text of a quotation.

    The mark of a list item or a heading at its beginning is removed.
    """
    parts: list[str] = []
    for index, segment in enumerate(row.segments):
        marker = _MARKER.match(segment.text) if index == 0 else None
        text = segment.text[marker.end() :] if marker else segment.text
        segment_text = _format_segment(segment._replace(text=text)) if text.strip() else text
        if parts and parts[-1].endswith(("~~", "**")) and segment_text.startswith(("~~", "**")):
            parts.append(" ")
        parts.append(segment_text)
    return "".join(parts).strip()


def _format_fence(rows: list[DiffRow]) -> str:
    if not rows:
        return ""
    lines = [row.mark + " " * (row.mark == "…") + "".join(part.text for part in row.segments) for row in rows]
    max_ticks = max((len(ticks) for line in lines for ticks in _FENCE_TICKS.findall(line)), default=2)
    fence = "`" * (max_ticks + 1)
    return "\n".join(("", f"{fence}diff", *lines, fence, ""))


def escape_markdown(text: str) -> str:
    """Return text that Markdown displays unchanged; its code spans are preserved."""
    parts = _CODE.split(text.replace("\n", " "))
    return "".join(part if index % 2 else _MARKUP.sub(r"\\\g<0>", part) for index, part in enumerate(parts))


def format_code_span(text: str) -> str:
    """Return a code span (CommonMark 0.31 §6.1)."""
    max_ticks = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (max_ticks + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"
