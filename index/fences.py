"""Code fences of a section's text, also in lists and quotations (CommonMark 0.31 §4.5, §5).

A regular expression finds fences at the margin. An indented or quoted fence can only be found by the
parser. It reads the text from the last line before which every list and quotation has ended.
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
# After a blank line, a line at the margin is outside every list and quotation, or begins a new one.
_MARGIN_AFTER_BLANK = re.compile(r"\n[ \t\r]*\n(?=[^\s>+*\d-])")
_LINE_END = re.compile(r"\r\n?|\n")
_LIST_MARK = re.compile(LIST_MARKER)

_MAX_CONTEXT_LENGTH = 5_000
"""The largest number of characters that are parsed before an offset. A shorter text is parsed in full."""


class Fence(NamedTuple):
    """A fenced block: [start, body) is its opening line, [end, close) its closing line.

    `mark` is the run of backticks or tildes, and `info` the first word after the run. `prefix` is the
    beginning of each line of the block: spaces in a list, a `>` in a quotation.
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
    """Return the fences of a text in order: those between or around two offsets, and possibly more."""
    if "```" not in text and "~~~" not in text:
        return ()
    line_starts = _find_fence_line_starts(text)
    if not _has_nested_fence(text, line_starts, last):
        margin_fences = _find_margin_fences(text, line_starts, len(text))
        return [*takewhile(lambda fence: fence.start <= last, margin_fences)]
    if len(text) <= _MAX_CONTEXT_LENGTH:
        return [*_parse_fences(text, 0, len(text), None)]
    begin = 0
    if first > _MAX_CONTEXT_LENGTH:
        begin = text.rfind("\n", 0, first - _MAX_CONTEXT_LENGTH) + 1
        boundaries = _MARGIN_AFTER_BLANK.finditer(text, begin, first)
        begin = max((boundary.end() for boundary in boundaries), default=begin)
    fences_above = _find_margin_fences(text, line_starts, begin)
    enclosing_fence = next((fence for fence in fences_above if fence.close == begin), None)
    line_end = text.find("\n", last)
    return [*_parse_fences(text, begin, line_end + 1 or len(text), enclosing_fence)]


def _has_nested_fence(text: str, line_starts: Sequence[int], last: int) -> bool:
    """Return True if a mark before an offset may be in a list or a quotation."""
    return any(
        _NESTED_FENCE.match(text, line, last) for line in takewhile(lambda line: line < last, line_starts)
    )


def _find_fence_line_starts(text: str) -> list[int]:
    """Return the start of each line that contains a fence mark, in order."""
    line_starts: set[int] = set()
    for mark in _FENCE_MARKS:
        position = text.find(mark)
        while position >= 0:
            line_starts.add(text.rfind("\n", 0, position) + 1)
            line_end = text.find("\n", position)
            position = text.find(mark, line_end) if line_end >= 0 else -1
    return sorted(line_starts)


def _find_margin_fences(text: str, line_starts: Sequence[int], end: int) -> Iterator[Fence]:
    """Yield the fences before `end` that are indented by at most three spaces; the last may be open.

    `line_starts` are the offsets of the lines with a mark.
    """
    opening_line: re.Match[str] | None = None
    for fence_line in (match for begin in line_starts if (match := _FENCE.match(text, begin, end))):
        if opening_line is None:
            opening_line = fence_line
        elif (
            fence_line[1][0] == opening_line[1][0]
            and len(fence_line[1]) >= len(opening_line[1])
            and not fence_line[2]
        ):
            yield Fence(
                opening_line.start(),
                opening_line.end() + 1,
                fence_line.start(),
                fence_line.end(),
                opening_line[1],
                opening_line[2],
            )
            opening_line = None
    if opening_line is not None:
        yield Fence(opening_line.start(), opening_line.end() + 1, end, end, opening_line[1], opening_line[2])


def _parse_fences(text: str, begin: int, end: int, enclosing_fence: Fence | None) -> Iterator[Fence]:
    """Yield the fences that begin in the range [begin, end); `enclosing_fence` is the one around `begin`."""
    line_starts = [begin, *(line.end() for line in _LINE_END.finditer(text, begin, end)), end]
    excerpt = text[begin:end]
    if enclosing_fence is not None:
        excerpt = f"{enclosing_fence.mark}{enclosing_fence.info}\n{excerpt}"
        line_starts.insert(0, enclosing_fence.start)
    for (first_line, end_line), mark, info, line_count in find_code_fences(excerpt):
        start, body, close = line_starts[first_line], line_starts[first_line + 1], line_starts[end_line]
        prefix = _make_line_prefix(text[start:body], mark)
        language = next(iter(info.split()), "")
        if end_line - first_line - 1 > line_count:  # the last line is the closing line
            closing_start = line_starts[end_line - 1]
            closing_end = closing_start + len(text[closing_start:close].rstrip("\r\n"))
            yield Fence(start, body, closing_start, closing_end, mark, language, prefix)
        else:
            close = len(text) if close == end else close
            yield Fence(start, body, close, close, mark, language, prefix)


def _make_line_prefix(opening: str, mark: str) -> str:
    return _LIST_MARK.sub(lambda marker: " " * len(marker[0]), opening[: opening.index(mark)])
