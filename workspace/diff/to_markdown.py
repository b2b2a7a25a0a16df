"""Changes as Markdown that reads well on a forge and in a commit.

A heading for each document and section, a sentence for each change; words that went are ~~struck~~, those
that came are **bold**, and lines that went or came stand in a fence of `diff`. Text of documents is escaped,
or fenced by more backticks than it holds, so that it cannot be read as anything else.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from workspace.diff.descriptions import document_sentence, one_line, told
from workspace.diff.rationing import rationed
from workspace.markdown.lines import LIST_MARKER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from workspace.diff.changes import DocumentChange, SectionChange
    from workspace.diff.descriptions import Row, Segment

# An underscore within a word is no emphasis (CommonMark 0.31 §6.2).
_MARKUP = re.compile(r"[\\`*\[\]<>~&|]|(?<!\w)_|_(?!\w)")
_CODE = re.compile(r"(`[^`\n]{1,200}`)")
_MARKER = re.compile(rf"[ \t]*(?:{LIST_MARKER}|#{{1,6}})[ \t]+(?:\[[ xX]\][ \t]+)?")
_TICKS = re.compile("`{3,}")


def as_markdown(changes: Iterable[DocumentChange], most: int = 20_000) -> str:
    """Changes as Markdown of at most `most` characters, and a line that counts what is left out."""
    blocks, more = rationed(_blocks(changes), most, len)
    text = "".join(blocks)
    if more:
        text += f"\n… and {more:,} more change{'s' * (more != 1)}.\n"
    return text


def _blocks(changes: Iterable[DocumentChange]) -> Iterator[tuple[Callable[[], str], int]]:
    """The parts of the text, each with the number of changes that it tells."""
    lead = ""
    for document in changes:
        head = f"{lead}### {code_span(one_line(document.path, 1000))}\n"
        lead = "\n"
        sentence = document_sentence(document)
        if sentence:
            counts = document.is_whole or not document.sections
            yield partial(_said, head, sentence), int(counts)
            head = ""
        address = ""
        for change in () if document.is_whole else document.sections:
            yield partial(_block, head, change, document.path, change.section != address), 1
            head, address = "", change.section


def _said(head: str, sentence: Iterable[Segment]) -> str:
    return f"{head}\n{_sentence(sentence)}\n"


def _block(head: str, change: SectionChange, path: str, is_first: bool) -> str:
    """A change, below the heading of its section if it is the first one there."""
    text = head
    if is_first:
        text += f"\n#### {_escaped(one_line(change.heading))} ({code_span(one_line(change.section))})\n"
    said = told(change, path)
    if said.sentence:
        text += f"\n{_sentence(said.sentence)}\n"
    lines: list[Row] = []
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
        return code_span(text)
    if style == "title":
        return f"“{_escaped(text)}”"
    if style == "plain":
        return _escaped(text)
    lead, words, tail = _parted(text)
    mark = "~~" if style == "removed" else "**"
    return f"{lead}{mark}{_escaped(words)}{mark}{tail}"


def _parted(text: str) -> tuple[str, str, str]:
    """The white space before and behind words, outside of which marks of emphasis are not read."""
    words = text.strip()
    at = text.index(words)
    return text[:at], words, text[at + len(words) :]


def _words(row: Row) -> str:
    """A paragraph in a quotation. The mark of a list item or a heading that begins it is a mark no more."""
    parts: list[str] = []
    for number, segment in enumerate(row.segments):
        marker = _MARKER.match(segment.text) if number == 0 else None
        text = segment.text[marker.end() :] if marker else segment.text
        shown = _inline(segment._replace(text=text)) if text.strip() else text
        if parts and parts[-1].endswith(("~~", "**")) and shown.startswith(("~~", "**")):
            parts.append(" ")
        parts.append(shown)
    return "".join(parts).strip()


def _fenced(rows: list[Row]) -> str:
    if not rows:
        return ""
    lines = [row.mark + " " * (row.mark == "…") + "".join(part.text for part in row.segments) for row in rows]
    longest = max((len(ticks) for line in lines for ticks in _TICKS.findall(line)), default=2)
    fence = "`" * (longest + 1)
    return "\n".join(("", f"{fence}diff", *lines, fence, ""))


def _escaped(text: str) -> str:
    """Text that is read as it is; code spans in it stay such."""
    parts = _CODE.split(text.replace("\n", " "))
    return "".join(part if place % 2 else _MARKUP.sub(r"\\\g<0>", part) for place, part in enumerate(parts))


def code_span(text: str) -> str:
    """A code span (CommonMark 0.31 §6.1)."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"
