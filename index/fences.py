"""Code fences of a section's text, in lists and quotations too (CommonMark 0.31 §4.5, §5).

A regular expression finds fences at the margin. An indented or quoted fence can only be found by the
parser, which reads the text from the last line above which no list or quotation is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from workspace.markdown.lines import LIST_MARKER
from workspace.markdown.outline import find_code_fences

_FENCE_MARKS = ("```", "~~~")
# Possessive quantifiers (`++`) avoid quadratic time on long lines.
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^\n`]*+$", re.MULTILINE)
_NESTED_FENCE = re.compile(
    rf"^(?=[ \t>+*\d-])[ \t]*+(?:(?:>|{LIST_MARKER})[ \t]*+)*(?:```|~~~)", re.MULTILINE
)
# After a blank line, a line at the margin is outside every list and quotation, or begins one.
_MARGIN_AFTER_BLANK = re.compile(r"\n[ \t\r]*\n(?=[^\s>+*\d-])")
_LINE_END = re.compile(r"\r\n?|\n")
_LIST_MARK = re.compile(LIST_MARKER)

_MAX_CONTEXT_LENGTH = 5_000
"""The number of characters before an offset that are parsed to find its fence in a long text."""


class Fence(NamedTuple):
    """A fenced block: [start, body) is its opening line, [end, close) its closing one.

    `mark` is its run of backticks or tildes, and `info` is the first word after it. `prefix` is the beginning
    of each of its lines: blanks in a list, a `>` in a quotation.
    """

    start: int
    body: int
    end: int
    close: int
    mark: str
    info: str
    prefix: str = ""

    @property
    def is_open(self) -> bool:
        """Return True if the block has no closing line."""
        return self.end == self.close


def find_fences(text: str, first: int, last: int) -> Sequence[Fence]:
    """Return the fences of a text in order: those between or around two offsets, and possibly others."""
    if "```" not in text and "~~~" not in text:
        return ()
    lines = _find_marked_lines(text)
    if not _has_nested_fence(text, lines, last):
        margin_fences = _find_margin_fences(text, lines, len(text))
        return [*takewhile(lambda fence: fence.start <= last, margin_fences)]
    if len(text) <= _MAX_CONTEXT_LENGTH:
        return [*_parse_fences(text, 0, len(text), None)]
    begin = 0
    if first > _MAX_CONTEXT_LENGTH:
        begin = text.rfind("\n", 0, first - _MAX_CONTEXT_LENGTH) + 1
        boundaries = _MARGIN_AFTER_BLANK.finditer(text, begin, first)
        begin = max((boundary.end() for boundary in boundaries), default=begin)
    fences_above = _find_margin_fences(text, lines, begin)
    enclosing = next((fence for fence in fences_above if fence.close == begin), None)
    line_end = text.find("\n", last)
    return [*_parse_fences(text, begin, line_end + 1 or len(text), enclosing)]


def _has_nested_fence(text: str, lines: Sequence[int], last: int) -> bool:
    """Return True if a mark before an offset may be in a list or a quotation."""
    return any(_NESTED_FENCE.match(text, line, last) for line in takewhile(lambda line: line < last, lines))


def _find_marked_lines(text: str) -> list[int]:
    """Find the starts of the lines that contain a fence mark anywhere."""
    lines: set[int] = set()
    for mark in _FENCE_MARKS:
        position = text.find(mark)
        while position >= 0:
            lines.add(text.rfind("\n", 0, position) + 1)
            line_end = text.find("\n", position)
            position = text.find(mark, line_end) if line_end >= 0 else -1
    return sorted(lines)


def _find_margin_fences(text: str, lines: Sequence[int], end: int) -> Iterator[Fence]:
    """Find the fences that are indented by three spaces at most; the last may be open.

    `lines` are the offsets of the lines with a mark.
    """
    opening_line: re.Match[str] | None = None
    for line in (match for begin in lines if (match := _FENCE.match(text, begin, end))):
        if opening_line is None:
            opening_line = line
        elif line[1][0] == opening_line[1][0] and len(line[1]) >= len(opening_line[1]) and not line[2]:
            yield Fence(
                opening_line.start(),
                opening_line.end() + 1,
                line.start(),
                line.end(),
                opening_line[1],
                opening_line[2],
            )
            opening_line = None
    if opening_line is not None:
        yield Fence(opening_line.start(), opening_line.end() + 1, end, end, opening_line[1], opening_line[2])


def _parse_fences(text: str, begin: int, end: int, enclosing: Fence | None) -> Iterator[Fence]:
    """Find the fences that begin in a range of lines; `enclosing` is the fence around its beginning."""
    starts = [begin, *(line.end() for line in _LINE_END.finditer(text, begin, end)), end]
    excerpt = text[begin:end]
    if enclosing is not None:
        excerpt = f"{enclosing.mark}{enclosing.info}\n{excerpt}"
        starts.insert(0, enclosing.start)
    for (line, after), mark, info, size in find_code_fences(excerpt):
        start, body, close = starts[line], starts[line + 1], starts[after]
        prefix = _make_line_prefix(text[start:body], mark)
        language = next(iter(info.split()), "")
        if after - line - 1 > size:
            last = starts[after - 1]
            end_of_last = last + len(text[last:close].rstrip("\r\n"))
            yield Fence(start, body, last, end_of_last, mark, language, prefix)
        else:
            close = len(text) if close == end else close
            yield Fence(start, body, close, close, mark, language, prefix)


def _make_line_prefix(opening: str, mark: str) -> str:
    return _LIST_MARK.sub(lambda marker: " " * len(marker[0]), opening[: opening.index(mark)])
