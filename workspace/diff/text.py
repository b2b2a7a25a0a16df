"""How one text became another: unit by unit, and word by word within a paragraph that stayed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sequences import longest_common_subsequence, match_similar, pair_lines
from workspace.diff.units import Unit, units
from workspace.diff.words import Edit, word_edits, words_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LEAST = 1 / 4  # of the words of the longer of two paragraphs, to be versions of one


class Step(NamedTuple):
    """The characters [start, end) of the old text became [new_start, new_end) of the new one.

    `words` are the edits within, in offsets of both texts, where this is one paragraph of which words differ;
    else whole lines went and came, and there are none.
    """

    start: int
    end: int
    new_start: int
    new_end: int
    words: tuple[Edit, ...] = ()


def steps(old: str, new: str) -> Iterator[Step]:
    """What turns one text into another, in order. What no step names is alike in both."""
    olds, news = units(old), units(new)
    pairs = pair_lines(_bytes(old, olds), _bytes(new, news))
    row = column = 0
    for one, other in [*pairs, (len(olds), len(news))]:
        if one > row or other > column:
            yield from _told(old, new, olds[row:one], news[column:other], _at(olds, row), _at(news, column))
        row, column = one + 1, other + 1


def edits(old: str, new: str) -> tuple[Edit, ...]:
    """The edits that turn one text into another: applying them, the last first, gives the new text."""
    return tuple(
        edit
        for step in steps(old, new)
        for edit in step.words or (Edit(step.start, step.end, step.new_start, step.new_end),)
    )


def _told(
    old: str, new: str, olds: Sequence[Unit], news: Sequence[Unit], start: int, new_start: int
) -> Iterator[Step]:
    """A stretch in which all units differ: paragraphs that are versions of one, and between them, lines."""
    bounds = [(-1, -1), *_versions(old, new, olds, news), (len(olds), len(news))]
    for (one, other), (last, new_last) in pairwise(bounds):
        end = olds[last - 1].end if last > one + 1 else start
        new_end = news[new_last - 1].end if new_last > other + 1 else new_start
        if end > start or new_end > new_start:
            yield Step(start, end, new_start, new_end)
        if last == len(olds):
            return
        before, after = olds[last], news[new_last]
        words = word_edits(old[before.start : before.end], new[after.start : after.end])
        moved = tuple(edit.moved(before.start, after.start) for edit in words)
        yield Step(before.start, before.end, after.start, after.end, moved)
        start, new_start = before.end, after.end


def _versions(old: str, new: str, olds: Sequence[Unit], news: Sequence[Unit]) -> list[tuple[int, int]]:
    """The paragraphs of a stretch that are versions of one, in the order of both."""
    had = [at for at, unit in enumerate(olds) if not unit.is_whole]
    has = [at for at, unit in enumerate(news) if not unit.is_whole]
    if len(had) == len(has) == 1:
        return [(had[0], has[0])]
    words = [Counter(words_of(old[olds[at].start : olds[at].end])) for at in had]
    words_now = [Counter(words_of(new[news[at].start : news[at].end])) for at in has]
    found = match_similar(words, words_now, _LEAST)
    back = {two: one for one, two in sorted(found.items())}
    return [(had[back[two]], has[two]) for two in longest_common_subsequence(list(back), sorted(back))]


def _bytes(text: str, parts: Sequence[Unit]) -> list[bytes]:
    return [text[unit.start : unit.end].encode() for unit in parts]


def _at(parts: Sequence[Unit], place: int) -> int:
    """Where a unit begins; the end of all behind the last one."""
    if place < len(parts):
        return parts[place].start
    return parts[-1].end if parts else 0
