"""Which lines of a text stand in another version of it: Myers' difference, and anchors where it is large.

Eugene W. Myers, "An O(ND) Difference Algorithm and Its Variations" (Algorithmica 1, 1986), bounded: where
more lines differ than it may look for, the lines that are unique in both versions part the texts (Bram
Cohen's patience difference), and what is between two of them is compared by itself.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST = 250  # lines that come or go in a stretch, before it is parted by anchors
_BUDGET = 2_000_000  # steps for all stretches of two texts

Pairs = list[tuple[int, int]]


def matched(old: Sequence[bytes], new: Sequence[bytes]) -> Pairs:
    """The lines that two versions share, as pairs of places in order; what came stands as late as it can.

    Where two very different texts share lines that are not unique, some of these may not be found.
    """
    numbers: dict[bytes, int] = {}
    olds = [numbers.setdefault(line, len(numbers)) for line in old]
    news = [numbers.setdefault(line, len(numbers)) for line in new]
    pairs = _Matching(olds, news).pairs()
    return _slid(olds, news, pairs)


class _Matching:
    """The lines of two versions as numbers, equal where the lines are."""

    def __init__(self, old: list[int], new: list[int]) -> None:
        self._old, self._new = old, new
        self._left = _BUDGET

    def pairs(self) -> Pairs:
        found: Pairs = []
        stretches = [(0, len(self._old), 0, len(self._new))]
        while stretches:
            stretches += self._part(*stretches.pop(), found)
        return sorted(found)

    def _part(
        self, first: int, last: int, start: int, end: int, found: Pairs
    ) -> list[tuple[int, int, int, int]]:
        """Adds the pairs of a stretch that can be told; returns the stretches that are left to compare."""
        old, new = self._old, self._new
        while first < last and start < end and old[first] == new[start]:
            found.append((first, start))
            first, start = first + 1, start + 1
        while first < last and start < end and old[last - 1] == new[end - 1]:
            last, end = last - 1, end - 1
            found.append((last, end))
        if first == last or start == end:
            return []
        shortest = self._shortest(first, last, start, end)
        if shortest is not None:
            found += shortest
            return []
        anchors = self._anchors(first, last, start, end)
        found += anchors
        bounds = [(first - 1, start - 1), *anchors, (last, end)]
        if not anchors:
            return []
        return [(a + 1, b, c + 1, d) for (a, c), (b, d) in pairwise(bounds)]

    def _shortest(self, first: int, last: int, start: int, end: int) -> Pairs | None:
        """The pairs of a shortest edit; None where it is longer than may be looked for.

        Lines that only one of the stretches has come or go anyhow, and are left out before.
        """
        both = {*self._old[first:last]} & {*self._new[start:end]}
        rows = [row for row in range(first, last) if self._old[row] in both]
        columns = [column for column in range(start, end) if self._new[column] in both]
        old, new = [self._old[row] for row in rows], [self._new[column] for column in columns]
        trace = self._trace(old, new)
        if trace is None:
            return None
        return [(rows[x], columns[y]) for x, y in _path(trace, len(old), len(new))]

    def _trace(self, old: Sequence[int], new: Sequence[int]) -> list[dict[int, int]] | None:
        """How far each diagonal was followed before each step of the edit."""
        rows, columns = len(old), len(new)
        furthest = {1: 0}
        trace: list[dict[int, int]] = []
        for distance in range(min(rows + columns, _MOST) + 1):
            self._left -= distance + 1
            if self._left < 0:
                return None
            trace.append(furthest.copy())
            for diagonal in range(-distance, distance + 1, 2):
                if diagonal == -distance or (
                    diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1]
                ):
                    x = furthest[diagonal + 1]
                else:
                    x = furthest[diagonal - 1] + 1
                begun = x
                while x < rows and 0 <= x - diagonal < columns and old[x] == new[x - diagonal]:
                    x += 1
                self._left -= x - begun
                furthest[diagonal] = x
                if x >= rows and x - diagonal >= columns:
                    return trace
        return None

    def _anchors(self, first: int, last: int, start: int, end: int) -> Pairs:
        """The longest run of lines, in the order of both versions, that are unique in both."""
        had, has = Counter(self._old[first:last]), Counter(self._new[start:end])
        places = {line: at for at, line in enumerate(self._old[first:last], first) if had[line] == 1}
        pairs = [
            (places[line], at)
            for at, line in enumerate(self._new[start:end], start)
            if has[line] == 1 and line in places
        ]
        return _increasing(pairs)


def _path(trace: Sequence[dict[int, int]], x: int, y: int) -> Iterator[tuple[int, int]]:
    """The diagonal steps of a shortest edit, the last first."""
    for distance in range(len(trace) - 1, -1, -1):
        furthest, diagonal = trace[distance], x - y
        if diagonal == -distance or (
            diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1]
        ):
            previous = diagonal + 1
        else:
            previous = diagonal - 1
        before = furthest[previous]
        # The edit itself comes before the lines that are alike after it.
        begun = before if previous == diagonal + 1 else before + 1
        if distance == 0:
            begun = 0
        while x > begun:
            x, y = x - 1, y - 1
            yield x, y
        x, y = before, before - previous


def _increasing(pairs: Pairs) -> Pairs:
    """The longest part of pairs, ordered by their second places, that also increases in the first."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for number, (place, _) in enumerate(pairs):
        rank = bisect_left(ends, place)
        before.append(at[rank - 1] if rank else -1)
        if rank == len(ends):
            ends.append(place)
            at.append(number)
        else:
            ends[rank], at[rank] = place, number
    found: Pairs = []
    number = at[-1] if at else -1
    while number != -1:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _slid(old: Sequence[int], new: Sequence[int], pairs: Pairs) -> Pairs:
    """The same with each run of lines that came or went as far down as it can be, as Git shows it."""
    forward = _slid_down(new, {other: one for one, other in pairs})
    back = _slid_down(old, {one: other for other, one in forward.items()})
    return sorted(back.items())


def _slid_down(lines: Sequence[int], twins: dict[int, int]) -> dict[int, int]:
    """Moves each run of lines without a twin down while the line after it is like its first."""
    size = len(lines)
    at = 0
    while at < size:
        if at in twins:
            at += 1
            continue
        end = at
        while end < size and end not in twins:
            end += 1
        while end < size and end in twins and lines[at] == lines[end]:
            twins[at] = twins.pop(end)
            at, end = at + 1, end + 1
        # Having met the next run, both go on as one.
        if end < size and end not in twins:
            continue
        at = end
    return twins
