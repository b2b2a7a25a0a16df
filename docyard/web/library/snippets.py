"""Snippets on the search page: without Markdown markup, with code as code and the query's terms highlighted.

`index/snippets.py` cuts the snippets from the sections.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from index.analysis.words import TOKEN
from index.fences import find_fences
from workspace.markdown.lines import LIST_MARKER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from index.matches import Matcher

# Markup that is removed from snippets. Each repetition is bounded, so that long lines are fast.
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
_EMPHASIS = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|~~")
_LINE_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)", re.MULTILINE)

# Entries of a list and cells of a table are joined on one line, separated by a dot.
_LIST_ENTRY = re.compile(rf"^[ \t]*{LIST_MARKER}[ \t]+(?:\[[ xX]\][ \t]+)?", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|.{1,2000}$", re.MULTILINE)
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_SEPARATOR = " · "
_TABLE_RULE = re.compile(r"^[ \t|:-]{3,300}$", re.MULTILINE)
_SPACE = re.compile(r"\s+")
_CODE = re.compile(r"`([^`\n]{1,300})`")


class SnippetRun(NamedTuple):
    """A run of a snippet: `is_term` is true for a term of the query, `is_code` for text in backticks."""

    text: str
    is_term: bool = False
    is_code: bool = False


class SnippetBlock(NamedTuple):
    """A paragraph of a snippet, or a part of a code block."""

    is_code: bool
    runs: tuple[SnippetRun, ...]


def parse_snippet(snippet: str, matcher: Matcher) -> list[SnippetBlock]:
    """Return the blocks of a snippet of `index.snippets`, in order."""
    blocks: list[SnippetBlock] = []
    position = 0
    for fence in find_fences(snippet, 0, len(snippet)):
        blocks += _parse_prose(snippet[position : fence.start], matcher)
        code = snippet[fence.body : fence.end].rstrip("\n")
        if code.strip():
            blocks.append(SnippetBlock(True, tuple(_split_runs(code, matcher, is_code=False))))
        position = fence.close
    return [*blocks, *_parse_prose(snippet[position:], matcher)]


def _parse_prose(text: str, matcher: Matcher) -> Iterator[SnippetBlock]:
    text = _TABLE_RULE.sub("", _LINE_MARKS.sub("", text))
    text = _LIST_ENTRY.sub(_SEPARATOR, _TABLE_ROW.sub(_join_cells, text))
    parts = _CODE.split(_LINK.sub(r"\1", text).strip().removeprefix(_SEPARATOR.strip()).strip())
    runs: list[SnippetRun] = []
    for index, part in enumerate(parts):
        is_code = index % 2 == 1
        plain_text = part if is_code else _SPACE.sub(" ", _EMPHASIS.sub("", part))
        runs += _split_runs(plain_text, matcher, is_code=is_code)
    if runs:
        yield SnippetBlock(False, tuple(runs))


def _join_cells(row: re.Match[str]) -> str:
    """Return a table row as text, with a separator before each cell."""
    cells = (cell.strip() for cell in _CELL_BORDER.split(row[0]))
    return _SEPARATOR + _SEPARATOR.join(cell for cell in cells if cell)


def _split_runs(text: str, matcher: Matcher, *, is_code: bool) -> Iterator[SnippetRun]:
    position = 0
    for start, _ in matcher.find_matches(text):
        word = TOKEN.match(text, start)
        if start < position or word is None:
            continue
        if position < start:
            yield SnippetRun(text[position:start], False, is_code)
        yield SnippetRun(word[0], True, is_code)
        position = word.end()
    if position < len(text):
        yield SnippetRun(text[position:], False, is_code)
