"""Which words of a paragraph differ from those of another version of it.

Words, spaces and marks are compared one by one, a code span as a whole, and letters that are written without
spaces (Chinese, Japanese) each by itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sequences import pair_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ALONE = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"`[^`\n]{{1,200}}`|[{_ALONE}]|[^\W{_ALONE}]+|[^\S\n]+|.", re.DOTALL)
_WORD = re.compile(r"\w")
_MOST = 4000  # tokens of two paragraphs; of more, only what both begin and end with is looked for
_LEAST = 1 / 3  # of the longer one's words; where less is kept, they are different texts


Run = tuple[int, int, int, int]
"""Tokens [first, last) of one text, and [start, end) of another."""


class Edit(NamedTuple):
    """The characters [start, end) of an old text became [new_start, new_end) of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int

    def moved(self, by: int, new_by: int) -> Edit:
        """The same in texts of which these are parts."""
        return Edit(self.start + by, self.end + by, self.new_start + new_by, self.new_end + new_by)


def tokens(text: str) -> list[str]:
    """A text in words, spaces and marks, which together are the text."""
    return _TOKEN.findall(text)


def words_of(text: str) -> list[str]:
    """The words and code spans of a text."""
    return [token for token in tokens(text) if _WORD.search(token)]


def word_edits(old: str, new: str) -> tuple[Edit, ...]:
    """What turns one text into another, in order; one edit of everything where they share too little."""
    if old == new:
        return ()
    had, has = tokens(old), tokens(new)
    pairs = _pairs(had, has)
    kept = sum(_weight(had[one]) for one, _ in pairs)
    starts, news = _starts(had), _starts(has)
    runs = _joined(had, list(_runs(pairs, len(had), len(has))))
    if kept < _LEAST * max(sum(map(_weight, had)), sum(map(_weight, has))):
        runs = [(0, len(had), 0, len(has))]
    runs = [_trimmed(had, has, run) for run in runs]
    return tuple(Edit(starts[a], starts[b], news[c], news[d]) for a, b, c, d in runs)


def _pairs(had: Sequence[str], has: Sequence[str]) -> list[tuple[int, int]]:
    if len(had) + len(has) <= _MOST:
        return pair_lines([token.encode() for token in had], [token.encode() for token in has])
    size = min(len(had), len(has))
    lead = next((at for at in range(size) if had[at] != has[at]), size)
    rest = size - lead
    tail = next((at for at in range(rest) if had[-1 - at] != has[-1 - at]), rest)
    pairs = [(at, at) for at in range(lead)]
    return pairs + [(len(had) - at, len(has) - at) for at in range(tail, 0, -1)]


def _runs(pairs: Sequence[tuple[int, int]], size: int, new_size: int) -> Iterator[Run]:
    """The stretches of tokens between those that are paired."""
    row = column = 0
    for one, other in [*pairs, (size, new_size)]:
        if one > row or other > column:
            yield row, one, column, other
        row, column = one + 1, other + 1


def _joined(had: Sequence[str], runs: Sequence[Run]) -> list[Run]:
    """The stretches, of which those with no word between them are one: `a b` became `c d`."""
    joined: list[Run] = []
    for run in runs:
        if joined and not any(map(_WORD.search, had[joined[-1][1] : run[0]])):
            joined[-1] = joined[-1][0], run[1], joined[-1][2], run[3]
        else:
            joined.append(run)
    return joined


def _trimmed(had: Sequence[str], has: Sequence[str], run: Run) -> Run:
    """A stretch without the tokens with which both sides of it begin, or end."""
    first, last, start, end = run
    while first < last and start < end and had[first] == has[start]:
        first, start = first + 1, start + 1
    while first < last and start < end and had[last - 1] == has[end - 1]:
        last, end = last - 1, end - 1
    return first, last, start, end


def _weight(token: str) -> int:
    return len(token) if _WORD.search(token) else 0


def _starts(parts: Sequence[str]) -> list[int]:
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return starts
