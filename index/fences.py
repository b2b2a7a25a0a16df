"""Code fences of a section's text, in lists and quotations too (CommonMark 0.31 §4.5, §5).

A regular expression finds fences at the margin. Where one is indented or quoted, only the parser can decide.
It reads the text from the last line above which no list or quotation is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

from workspace.markdown.lines import LIST_MARKER
from workspace.markdown.outline import find_code_fences

_MARKS = ("```", "~~~")
# What may repeat keeps what it took (`++`), or a long line would take time that grows with its square.
_FENCE = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\s`]*+)[^\n`]*+$", re.MULTILINE)
_WITHIN = re.compile(rf"^(?=[ \t>+*\d-])[ \t]*+(?:(?:>|{LIST_MARKER})[ \t]*+)*(?:```|~~~)", re.MULTILINE)
# After a blank line, what stands at the margin is in no list and no quotation, or begins one.
_MARGIN = re.compile(r"\n[ \t\r]*\n(?=[^\s>+*\d-])")
_LINE_END = re.compile(r"\r\n?|\n")
_LIST_MARK = re.compile(LIST_MARKER)

_READ_BEFORE = 5_000
"""Characters above a place that are read to tell in which fence it is, if there are more of them."""

_FEW = 1_000
"""Of a text with more lines that have marks, which nobody wrote, no fences are remembered."""


class Fence(NamedTuple):
    """A fenced block: [start, body) is its opening line, [end, close) its closing one.

    `mark` are its ticks or tildes, `info` is the first word after them, and `prefix` what each of its lines
    begins with: blanks in a list, a `>` in a quotation.
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
        """Return True if it has no closing line."""
        return self.end == self.close


def find_fences(text: str, first: int, last: int) -> Sequence[Fence]:
    """Find the fences of a text in order, at least those between or around two offsets."""
    return Fences(text).near(first, last)


class Fences:
    """The fences of a text, parsed on demand."""

    def __init__(self, text: str) -> None:
        """Look for marks only; what they mean is found out when it is asked for."""
        self._text = text
        self._lines = _find_marked_lines(text) if "```" in text or "~~~" in text else []
        self._is_kept = len(self._lines) <= _FEW

    def near(self, first: int, last: int) -> Sequence[Fence]:
        """Return the fences between or around two offsets, in order, and perhaps others."""
        if not self._lines:
            return ()
        text = self._text
        if not self._is_within(last):
            margin = self._at_margin if self._is_kept else _find_margin_fences(text, self._lines, len(text))
            return [*takewhile(lambda fence: fence.start <= last, margin)]
        if len(text) <= _READ_BEFORE:
            return self._everywhere
        begin = 0
        if first > _READ_BEFORE:
            begin = text.rfind("\n", 0, first - _READ_BEFORE) + 1
            begin = max((found.end() for found in _MARGIN.finditer(text, begin, first)), default=begin)
        above = _find_margin_fences(text, self._lines, begin)
        around = next((fence for fence in above if fence.close == begin), None)
        line_end = text.find("\n", last)
        return [*_parse_fences(text, begin, line_end + 1 or len(text), around)]

    def _is_within(self, last: int) -> bool:
        """Return True if a mark before an offset is in a list or a quotation, or may be."""
        if self._is_kept:
            return self._first_within is not None and self._first_within <= last
        lines = takewhile(lambda line: line < last, self._lines)
        return any(_WITHIN.match(self._text, line, last) for line in lines)

    @cached_property
    def _first_within(self) -> int | None:
        """Return the end of the first such mark."""
        marks = (_WITHIN.match(self._text, line) for line in self._lines)
        return next((mark.end() for mark in marks if mark), None)

    @cached_property
    def _at_margin(self) -> Sequence[Fence]:
        return [*_find_margin_fences(self._text, self._lines, len(self._text))]

    @cached_property
    def _everywhere(self) -> Sequence[Fence]:
        return [*_parse_fences(self._text, 0, len(self._text), None)]


def _find_marked_lines(text: str) -> list[int]:
    """Find the starts of the lines that contain a fence mark anywhere."""
    lines: set[int] = set()
    for mark in _MARKS:
        place = text.find(mark)
        while place >= 0:
            lines.add(text.rfind("\n", 0, place) + 1)
            line_end = text.find("\n", place)
            place = text.find(mark, line_end) if line_end >= 0 else -1
    return sorted(lines)


def _find_margin_fences(text: str, lines: Sequence[int], end: int) -> Iterator[Fence]:
    """Find the fences that are indented by three spaces at most; the last may be open.

    `lines` are where a line with a mark begins.
    """
    opened: re.Match[str] | None = None
    for line in (found for begin in lines if (found := _FENCE.match(text, begin, end))):
        if opened is None:
            opened = line
        elif line[1][0] == opened[1][0] and len(line[1]) >= len(opened[1]) and not line[2]:
            yield Fence(opened.start(), opened.end() + 1, line.start(), line.end(), opened[1], opened[2])
            opened = None
    if opened is not None:
        yield Fence(opened.start(), opened.end() + 1, end, end, opened[1], opened[2])


def _parse_fences(text: str, begin: int, end: int, around: Fence | None) -> Iterator[Fence]:
    """Find the fences that begin in a range of lines, and the one around its beginning if there is one."""
    starts = [begin, *(line.end() for line in _LINE_END.finditer(text, begin, end)), end]
    stretch = text[begin:end]
    if around is not None:
        stretch = f"{around.mark}{around.info}\n{stretch}"
        starts.insert(0, around.start)
    for (line, after), mark, info, size in find_code_fences(stretch):
        start, body, close = starts[line], starts[line + 1], starts[after]
        prefix = _prefix(text[start:body], mark)
        word = next(iter(info.split()), "")
        if after - line - 1 > size:
            last = starts[after - 1]
            end_of_last = last + len(text[last:close].rstrip("\r\n"))
            yield Fence(start, body, last, end_of_last, mark, word, prefix)
        else:
            close = len(text) if close == end else close
            yield Fence(start, body, close, close, mark, word, prefix)


def _prefix(opening: str, mark: str) -> str:
    return _LIST_MARK.sub(lambda found: " " * len(found[0]), opening[: opening.index(mark)])
