"""Changes as data: plain lists and mappings that JSON can hold, under names that stay.

Changes as lines for a terminal: styled segments, whose look is up to who prints them.

Changes as Markdown that reads well on a forge and in a commit.

A heading for each document and section, a sentence for each change; words that went are ~~struck~~, those
that came are **bold**, and lines that went or came stand in a fence of `diff`. Text of documents is escaped,
or fenced by more backticks than it holds, so that it cannot be read as anything else.
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

Data = dict[str, object]


def format_data(changes: Iterable[DocumentChange], most: int = 100_000) -> Data:
    """`{"documents": [...], "more": n}`, of at most `most` characters as JSON.

    A document has `kind`, `path`, `title`, `changes`, and where it applies `old_path` and `unread` (the code
    of an error). A change has `kind`, `address`, `title`, `line`, where it applies `field`, `old_address`,
    `old_title`, `old_path` and `path` (moved from or to another document), `below` and `old_below` (moved),
    and the texts `before` and `after`. `words` are edits, in order: the characters [`start`, `end`) of
    `before`, which are `old`, became `new`; applied from the last to the first they give `after`. A text too
    long for what is left is given as `is_cut: true` alone. `more` counts the changes that are left out.
    """
    documents: list[Data] = []
    left, more = most, 0
    for document in changes:
        head = _document(document)
        left -= _size(head)
        if left < 0:
            more += len(document.sections) or 1
            continue
        documents.append(head)
        told: list[Data] = []
        head["changes"] = told
        for change in document.sections:
            data = _change(change, document.path) if left > 0 else {}
            if data and _size(data) > left:
                data = {name: value for name, value in data.items() if name not in _TEXTS} | {"is_cut": True}
            left -= _size(data) if data else 1
            if left < 0:
                more += 1
            else:
                told.append(data)
    return {"documents": documents, "more": more}


_TEXTS = frozenset({"before", "after", "words"})


def _document(document: DocumentChange) -> Data:
    data: Data = {"kind": document.kind.value, "path": document.path, "title": document.title}
    if document.old_path not in (None, document.path):
        data["old_path"] = document.old_path
    if document.unread:
        data["unread"] = document.unread
    data["changes"] = []
    return data


def _change(change: SectionChange, path: str) -> Data:
    before, after, place = change.before, change.after, change.place
    data: Data = {
        "kind": change.kind.value,
        "address": place.address,
        "title": place.title,
        "line": place.line,
    }
    if change.field:
        data["field"] = change.field
    if before and after:
        data |= _format_values(before, after, change.kind, path)
    if change.kind not in (
        ChangeKind.MOVED,
        ChangeKind.TASK_MOVED,
        ChangeKind.TASK_COMPLETED,
        ChangeKind.TASK_REOPENED,
    ):
        data |= _texts(before, after)
    return data


def _format_values(before: PartVersion, after: PartVersion, kind: ChangeKind, path: str) -> Data:
    data: Data = {}
    if before.address != after.address:
        data["old_address"] = before.address
    if before.title != after.title:
        data["old_title"] = before.title
    if kind is ChangeKind.MOVED and before.path != after.path:
        data |= {"path": after.path} if path == before.path else {"old_path": before.path}
    if kind in (ChangeKind.MOVED, ChangeKind.TASK_MOVED):
        data |= {"below": list(after.below), "old_below": list(before.below)}
    return data


def _texts(before: PartVersion | None, after: PartVersion | None) -> Data:
    data: Data = {}
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


def _size(data: Data) -> int:
    return len(json.dumps(data, ensure_ascii=False))


Line = tuple[Segment, ...]


def format_lines(changes: Iterable[DocumentChange], most: int = 50_000) -> list[Line]:
    """Change as lines of at most `most` characters in all, and one that counts what is left out.

    Styles are `address` (a path or an address), `title`, `removed`, `added` and `plain`.
    """
    kept, more = truncate_to_budget(_blocks(changes), most, _lines_size)
    lines = [line for block in kept for line in block]
    if more:
        lines.append((Segment(f"… and {more:,} more change{'s' * (more != 1)}"),))
    return lines


def format_plain_line(line: Line) -> str:
    """Return a line without colours: changed words are marked as in `git diff --word-diff=plain`."""
    is_whole = len(line) > 1 and line[0].text.strip() in ("-", "+")
    return "".join(_plain(segment, is_whole) for segment in line)


def _plain(segment: Segment, is_whole: bool) -> str:
    if segment.style == "removed" and not is_whole:
        return f"[-{segment.text}-]"
    if segment.style == "added" and not is_whole:
        return f"{{+{segment.text}+}}"
    return segment.text


def _blocks(changes: Iterable[DocumentChange]) -> Iterator[tuple[Callable[[], list[Line]], int]]:
    """Yield the lines that belong together, each with the number of changes that they tell."""
    for document in changes:
        head: tuple[Line, ...] = ((Segment(format_one_line(document.path, 1000), "address"),),)
        sentence = describe_document(document)
        if sentence:
            counts = document.is_whole or not document.sections
            yield partial(list, (*head, (Segment("  "), *sentence))), int(counts)
            head = ()
        address = ""
        for change in () if document.is_whole else document.sections:
            yield partial(_block, head, change, document.path, change.section != address), 1
            head, address = (), change.section


def _block(head: Iterable[Line], change: SectionChange, path: str, is_first: bool) -> list[Line]:
    """Return a change, below the title of its section if it is the first one there."""
    lines = [*head]
    if is_first:
        title = Segment(format_one_line(change.heading), "title")
        lines.append(
            (Segment("  "), title, Segment(" "), Segment(format_one_line(change.section), "address"))
        )
    indent = "    " if change.section else "  "
    said = describe_change(change, path)
    if said.sentence:
        lines.append((Segment(indent), *said.sentence))
    lines += [(Segment(f"{indent}{row.mark} "), *row.segments) for row in said.rows]
    return lines


def _lines_size(block: list[Line]) -> int:
    return sum(len(segment.text) for line in block for segment in line)


# An underscore within a word is no emphasis (CommonMark 0.31 §6.2).
_MARKUP = re.compile(r"[\\`*\[\]<>~&|]|(?<!\w)_|_(?!\w)")
_CODE = re.compile(r"(`[^`\n]{1,200}`)")
_MARKER = re.compile(rf"[ \t]*(?:{LIST_MARKER}|#{{1,6}})[ \t]+(?:\[[ xX]\][ \t]+)?")
_TICKS = re.compile("`{3,}")


def format_markdown(changes: Iterable[DocumentChange], most: int = 20_000) -> str:
    """Change as Markdown of at most `most` characters, and a line that counts what is left out."""
    blocks, more = truncate_to_budget(_markdown_blocks(changes), most, len)
    text = "".join(blocks)
    if more:
        text += f"\n… and {more:,} more change{'s' * (more != 1)}.\n"
    return text


def _markdown_blocks(changes: Iterable[DocumentChange]) -> Iterator[tuple[Callable[[], str], int]]:
    """Yield the parts of the text, each with the number of changes that it tells."""
    lead = ""
    for document in changes:
        head = f"{lead}### {format_code_span(format_one_line(document.path, 1000))}\n"
        lead = "\n"
        sentence = describe_document(document)
        if sentence:
            counts = document.is_whole or not document.sections
            yield partial(_format_description, head, sentence), int(counts)
            head = ""
        address = ""
        for change in () if document.is_whole else document.sections:
            yield partial(_markdown_block, head, change, document.path, change.section != address), 1
            head, address = "", change.section


def _format_description(head: str, sentence: Iterable[Segment]) -> str:
    return f"{head}\n{_sentence(sentence)}\n"


def _markdown_block(head: str, change: SectionChange, path: str, is_first: bool) -> str:
    """Return a change, below the heading of its section if it is the first one there."""
    text = head
    if is_first:
        address = format_code_span(format_one_line(change.section))
        text += f"\n#### {_escaped(format_one_line(change.heading))} ({address})\n"
    said = describe_change(change, path)
    if said.sentence:
        text += f"\n{_sentence(said.sentence)}\n"
    lines: list[DiffRow] = []
    for row in said.rows:
        if row.mark == "~":
            text += _fenced(lines) + f"\n> {_words(row)}\n"
            lines = []
        else:
            lines.append(row)
    return text + _fenced(lines)


def _sentence(segments: Iterable[Segment]) -> str:
    return "".join(_inline(segment) for segment in segments)


def _inline(segment: Segment) -> str:
    text, style = segment
    if style == "address":
        return format_code_span(text)
    if style == "title":
        return f"“{_escaped(text)}”"
    if style == "plain":
        return _escaped(text)
    lead, words, tail = _split_padding(text)
    mark = "~~" if style == "removed" else "**"
    return f"{lead}{mark}{_escaped(words)}{mark}{tail}"


def _split_padding(text: str) -> tuple[str, str, str]:
    """Return the white space before and behind words, outside of which marks of emphasis are not read."""
    words = text.strip()
    at = text.index(words)
    return text[:at], words, text[at + len(words) :]


def _words(row: DiffRow) -> str:
    """Return a paragraph in a quotation.

    The mark of a list item or a heading that begins it is a mark no more.
    """
    parts: list[str] = []
    for number, segment in enumerate(row.segments):
        marker = _MARKER.match(segment.text) if number == 0 else None
        text = segment.text[marker.end() :] if marker else segment.text
        shown = _inline(segment._replace(text=text)) if text.strip() else text
        if parts and parts[-1].endswith(("~~", "**")) and shown.startswith(("~~", "**")):
            parts.append(" ")
        parts.append(shown)
    return "".join(parts).strip()


def _fenced(rows: list[DiffRow]) -> str:
    if not rows:
        return ""
    lines = [row.mark + " " * (row.mark == "…") + "".join(part.text for part in row.segments) for row in rows]
    longest = max((len(ticks) for line in lines for ticks in _TICKS.findall(line)), default=2)
    fence = "`" * (longest + 1)
    return "\n".join(("", f"{fence}diff", *lines, fence, ""))


def _escaped(text: str) -> str:
    """Return text that is read as it is; code spans in it stay such."""
    parts = _CODE.split(text.replace("\n", " "))
    return "".join(part if place % 2 else _MARKUP.sub(r"\\\g<0>", part) for place, part in enumerate(parts))


def format_code_span(text: str) -> str:
    """Return a code span (CommonMark 0.31 §6.1)."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"
