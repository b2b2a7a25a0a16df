"""Sequences: what two versions of a row share, what was moved in it, and how similar two texts are."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Generic, TypeVar

from workspace.git.patches import match_lines

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

Id = TypeVar("Id", bound="Hashable")
Part = TypeVar("Part", str, bytes)
Pairs = list[tuple[int, int]]

_MOST_LINES = 200_000  # of two texts; Git takes half a second for as many without any order


class LinkedList(Generic[Id]):
    """Items in order, into which others are inserted without moving the rest."""

    def __init__(self, items: Iterable[Id]) -> None:
        self._next: dict[Id | None, Id | None] = {None: None}
        last: Id | None = None
        for item in items:
            self.insert(last, item)
            last = item

    def __contains__(self, item: Id) -> bool:
        return item in self._next

    def insert(self, at: Id | None, item: Id) -> None:
        """Insert an item behind another one; behind None, before all."""
        self._next[item] = self._next[at]
        self._next[at] = item

    def after(self, at: Id | None) -> Id | None:
        """Return the item behind another one; behind None, the first."""
        return self._next[at]

    def __iter__(self) -> Iterator[Id]:
        item = self.after(None)
        while item is not None:
            yield item
            item = self.after(item)


def find_displaced(base: Sequence[Id], other: Sequence[Id]) -> set[Id]:
    """Return the fewest items of both rows without which the rest of them is in the same order."""
    kept = set(find_longest_common_subsequence(base, other))
    return {item for item in base if item not in kept}.intersection(other)


def find_definitely_moved(base: Sequence[Id], other: Sequence[Id]) -> set[Id]:
    """Return what was moved, read from either end of the rows; of two that swapped, neither."""
    return find_displaced(base, other) & find_displaced(base[::-1], other[::-1])


def find_longest_common_subsequence(base: Sequence[Id], other: Sequence[Id]) -> list[Id]:
    """Return the most items that are in the same order in both rows; each item is in a row once at most."""
    places = {item: place for place, item in enumerate(base)}
    common = [item for item in other if item in places]
    tails: list[int] = []
    ends: list[int] = []  # for each length, the index in `common` at which the best run of it ends
    above: list[int | None] = []
    for index, item in enumerate(common):
        length = bisect_left(tails, places[item])
        above.append(ends[length - 1] if length else None)
        tails[length : length + 1] = [places[item]]
        ends[length : length + 1] = [index]
    kept: list[Id] = []
    at = ends[-1] if ends else None
    while at is not None:
        kept.append(common[at])
        at = above[at]
    return kept[::-1]


def pair_lines(old: Sequence[bytes], new: Sequence[bytes]) -> Pairs:
    """Return the places of the lines that two versions share, as pairs in order, as Git matches them.

    Long texts are parted by the lines that are unique in both (Bram Cohen's patience difference), so that
    the time is in proportion to them. Where a part is still too long, none of its lines is matched.
    """
    if len(old) + len(new) <= _MOST_LINES:
        return match_lines(old, new)
    shortest = min(len(old), len(new))
    lead = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    rest = shortest - lead
    tail = next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)
    end, new_end = len(old) - tail, len(new) - tail
    had, has = _unique_lines(old, lead, end), _unique_lines(new, lead, new_end)
    anchors = [(had[line], has[line]) for line in find_longest_common_subsequence([*had], [*has])]
    pairs = [(at, at) for at in range(lead)]
    row = column = lead
    for last, new_last in [*anchors, (end, new_end)]:
        if last - row + new_last - column <= _MOST_LINES:
            found = match_lines(old[row:last], new[column:new_last])
            pairs += [(row + place, column + new_place) for place, new_place in found]
        pairs += [(last, new_last)] if last < end else []
        row, column = last + 1, new_last + 1
    return [*pairs, *zip(range(end, len(old)), range(new_end, len(new)), strict=True)]


def _unique_lines(lines: Sequence[bytes], start: int, end: int) -> dict[bytes, int]:
    times = Counter(lines[start:end])
    return {line: place for place, line in enumerate(lines[start:end], start) if times[line] == 1}


def measure_similarity(one: Counter[Part], other: Counter[Part]) -> float:
    """Return the share of the longer text that both have, from 0 to 1, as Git measures it.

    A text is given as its parts (lines, or words), which count by their length (gitdiffcore,
    "diffcore-rename").
    """
    longest = max(_size(one), _size(other))
    return _size(one & other) / longest if longest else 0.0


def match_similar(
    olds: Sequence[Counter[Part]], news: Sequence[Counter[Part]], least: float
) -> dict[int, int]:
    """Match texts with the most similar one of the other side, by their places.

    Each of two must be the most similar one of the other, and at least `least` similar; ambiguous matches
    are left out. Only texts that share a part that one text alone has on each side are compared, which takes
    time about in proportion to the texts, where comparing each with each would not.
    """
    had, has = _owners(olds), _owners(news)
    near = {(old, has[part]) for part, old in had.items() if part in has}
    found = {
        (old, new): share for old, new in near if (share := measure_similarity(olds[old], news[new])) >= least
    }
    best, best_now = _best(found, 0), _best(found, 1)
    return {old: new for old, new in found if best[old] == new and best_now[new] == old}


def _owners(texts: Sequence[Counter[Part]]) -> dict[Part, int]:
    """Return the parts that one text alone has, and which one."""
    times = Counter(part for parts in texts for part in parts)
    return {part: place for place, parts in enumerate(texts) for part in parts if times[part] == 1}


def _best(found: Mapping[tuple[int, int], float], side: int) -> dict[int, int | None]:
    """Return for each text of a side the most similar one of the other; None where several are."""
    best: dict[int, tuple[float, int | None]] = {}
    for pair, share in found.items():
        most = best.get(pair[side], (0.0, None))[0]
        if share >= most:
            best[pair[side]] = share, None if share == most else pair[1 - side]
    return {own: other for own, (_, other) in best.items()}


def _size(parts: Counter[Part]) -> int:
    return sum(len(part) * times for part, times in parts.items())
