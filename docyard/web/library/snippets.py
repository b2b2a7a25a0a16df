"""A hit's snippet as a page shows it: code as code, the words that were asked for marked, and no markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from index.analysis import TOKEN
from index.fences import fences
from workspace.markdown.lines import LIST_MARKER

if TYPE_CHECKING:
    from index.matches import Matcher

# What people read of Markdown; each repetition is bounded, or a long line would take long.
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|~~")
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)", re.MULTILINE)
# What stood on lines of its own, as entries of a list or cells of a row, is kept apart by a dot.
_ENTRY = re.compile(rf"^[ \t]*{LIST_MARKER}[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_CELLS = re.compile(r"^[ \t]*\|.{1,2000}$", re.MULTILINE)
_BAR = re.compile(r"(?<!\\)\|")
_APART = " · "
_RULE = re.compile(r"^[ \t|:-]{3,300}$", re.MULTILINE)
_SPACE = re.compile(r"\s+")
_CODE = re.compile(r"`([^`\n]{1,300})`")


class Run(NamedTuple):
    """A stretch of a snippet: `is_word` is one that was asked for, `is_code` stood between backticks."""

    text: str
    is_word: bool = False
    is_code: bool = False


class Block(NamedTuple):
    """A paragraph of a snippet, or a part of a block of code."""

    is_code: bool
    runs: tuple[Run, ...]


def blocks(snippet: str, matcher: Matcher) -> list[Block]:
    """The blocks of a snippet (`index.snippets` made it), in order."""
    found: list[Block] = []
    at = 0
    for fence in fences(snippet, 0, len(snippet)):
        found += _prose(snippet[at : fence.start], matcher)
        code = snippet[fence.body : fence.end].rstrip("\n")
        if code.strip():
            found.append(Block(True, tuple(_runs(code, matcher, is_code=False))))
        at = fence.close
    return [*found, *_prose(snippet[at:], matcher)]


def _prose(text: str, matcher: Matcher) -> Iterator[Block]:
    text = _RULE.sub("", _LINE_MARKS.sub("", text))
    text = _ENTRY.sub(_APART, _CELLS.sub(_cells, text))
    parts = _CODE.split(_LINK.sub(r"\1", text).strip().removeprefix(_APART.strip()).strip())
    runs: list[Run] = []
    for place, part in enumerate(parts):
        is_code = place % 2 == 1
        plain = part if is_code else _SPACE.sub(" ", _EMPHASIS.sub("", part))
        runs += _runs(plain, matcher, is_code=is_code)
    if runs:
        yield Block(False, tuple(runs))


def _cells(row: re.Match[str]) -> str:
    """A row of a table: its cells, each apart from what stands before it."""
    cells = (cell.strip() for cell in _BAR.split(row[0]))
    return _APART + _APART.join(cell for cell in cells if cell)


def _runs(text: str, matcher: Matcher, *, is_code: bool) -> Iterator[Run]:
    at = 0
    for start, _ in matcher.matches(text):
        word = TOKEN.match(text, start)
        if start < at or word is None:
            continue
        if at < start:
            yield Run(text[at:start], False, is_code)
        yield Run(word[0], True, is_code)
        at = word.end()
    if at < len(text):
        yield Run(text[at:], False, is_code)
