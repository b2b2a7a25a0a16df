"""Sequences: common subsequences, moved items, and the similarity of texts."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Generic, TypeVar

from workspace.git.line_diff import match_lines

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

Id = TypeVar("Id", bound="Hashable")
Part = TypeVar("Part", str, bytes)
Pairs = list[tuple[int, int]]

_MAX_LINES = 200_000  # of two texts together; Git takes half a second for this many unordered lines


class LinkedList(Generic[Id]):
    """A sequence of items, with insertion after any item in constant time."""

    def __init__(self, items: Iterable[Id]) -> None:
        self._next: dict[Id | None, Id | None] = {None: None}
        previous_item: Id | None = None
        for item in items:
            self.insert(previous_item, item)
            previous_item = item

    def __contains__(self, item: Id) -> bool:
        return item in self._next

    def insert(self, previous_item: Id | None, item: Id) -> None:
        """Insert an item after `previous_item`, or at the beginning if `previous_item` is None."""
        self._next[item] = self._next[previous_item]
        self._next[previous_item] = item

    def find_next(self, previous_item: Id | None) -> Id | None:
        """Return the item after `previous_item`, or the first item if `previous_item` is None."""
        return self._next[previous_item]

    def __iter__(self) -> Iterator[Id]:
        item = self.find_next(None)
        while item is not None:
            yield item
            item = self.find_next(item)


def find_displaced(base: Sequence[Id], other: Sequence[Id]) -> set[Id]:
    """Return the smallest set of common items without which the other items are in the same order."""
    ordered_items = set(find_longest_common_subsequence(base, other))
    return {item for item in base if item not in ordered_items}.intersection(other)


def find_definitely_moved(base: Sequence[Id], other: Sequence[Id]) -> set[Id]:
    """Return the items that are displaced if both sequences are compared forwards, and also backwards.

    Of two swapped neighbours either may have moved, so neither is returned.
    """
    return find_displaced(base, other) & find_displaced(base[::-1], other[::-1])


def find_longest_common_subsequence(base: Sequence[Id], other: Sequence[Id]) -> list[Id]:
    """Return the longest common subsequence; each item must occur at most once in a sequence."""
    positions = {item: position for position, item in enumerate(base)}
    common_items = [item for item in other if item in positions]
    tails: list[int] = []
    ends: list[int] = []  # the index in `common_items` of the last item of the best sequence of each length
    predecessors: list[int | None] = []
    for index, item in enumerate(common_items):
        length = bisect_left(tails, positions[item])
        predecessors.append(ends[length - 1] if length else None)
        tails[length : length + 1] = [positions[item]]
        ends[length : length + 1] = [index]
    subsequence: list[Id] = []
    index_or_none = ends[-1] if ends else None
    while index_or_none is not None:
        subsequence.append(common_items[index_or_none])
        index_or_none = predecessors[index_or_none]
    return subsequence[::-1]


def select_ordered_pairs(pairs: Iterable[tuple[int, int, float]]) -> Pairs:
    """Return the pairs in the same order in both sequences that have the greatest weight in total.

    A pair is an index of each sequence and a weight of at least 0; each index occurs at most once.
    """
    sorted_pairs = sorted(pairs)
    ranks = {new: rank for rank, new in enumerate(sorted(pair[1] for pair in sorted_pairs), 1)}
    # A Fenwick tree of the best sum that ends at one of the first indexes of the second sequence.
    best_sums: list[tuple[float, int]] = [(0.0, -1)] * (len(sorted_pairs) + 1)
    predecessors: list[int] = []
    total = (0.0, -1)
    for index, (_, new, weight) in enumerate(sorted_pairs):
        best, rank = (0.0, -1), ranks[new] - 1
        while rank:
            best = max(best, best_sums[rank])
            rank &= rank - 1
        predecessors.append(best[1])
        reached = best[0] + weight, index
        total = max(total, reached)
        rank = ranks[new]
        while rank < len(best_sums):
            best_sums[rank] = max(best_sums[rank], reached)
            rank += rank & -rank
    ordered_pairs: Pairs = []
    index = total[1]
    while index >= 0:
        ordered_pairs.append(sorted_pairs[index][:2])
        index = predecessors[index]
    return ordered_pairs[::-1]


def pair_lines(old: Sequence[bytes], new: Sequence[bytes]) -> Pairs:
    """Return the positions of the lines that Git matches in two versions, as pairs in order.

    Long texts are split at the lines that are unique in both (Bram Cohen's patience diff), so that the time
    is linear. If a part between two such lines is still too long, its lines are not matched.
    """
    if len(old) + len(new) <= _MAX_LINES:
        return match_lines(old, new)
    max_count = min(len(old), len(new))
    prefix_count = next((index for index in range(max_count) if old[index] != new[index]), max_count)
    remaining_count = max_count - prefix_count
    suffix_count = next(
        (index for index in range(remaining_count) if old[-1 - index] != new[-1 - index]), remaining_count
    )
    end, new_end = len(old) - suffix_count, len(new) - suffix_count
    old_lines, new_lines = (
        _find_unique_lines(old, prefix_count, end),
        _find_unique_lines(new, prefix_count, new_end),
    )
    unique_pairs = [
        (old_lines[line], new_lines[line])
        for line in find_longest_common_subsequence([*old_lines], [*new_lines])
    ]
    pairs = [(index, index) for index in range(prefix_count)]
    old_start = new_start = prefix_count
    for next_old, next_new in [*unique_pairs, (end, new_end)]:
        if next_old - old_start + next_new - new_start <= _MAX_LINES:
            matches = match_lines(old[old_start:next_old], new[new_start:next_new])
            pairs += [(old_start + offset, new_start + new_offset) for offset, new_offset in matches]
        pairs += [(next_old, next_new)] if next_old < end else []
        old_start, new_start = next_old + 1, next_new + 1
    return [*pairs, *zip(range(end, len(old)), range(new_end, len(new)), strict=True)]


def _find_unique_lines(lines: Sequence[bytes], start: int, end: int) -> dict[bytes, int]:
    counts = Counter(lines[start:end])
    return {line: position for position, line in enumerate(lines[start:end], start) if counts[line] == 1}


def measure_similarity(left: Counter[Part], right: Counter[Part]) -> float:
    """Return the share of the longer text that both texts have in common, from 0 to 1, as Git does.

    A text is given as its parts (lines or words), each weighted by its length (gitdiffcore,
    "diffcore-rename").
    """
    max_size = max(_measure_size(left), _measure_size(right))
    return _measure_size(left & right) / max_size if max_size else 0.0


def match_similar(
    old_texts: Sequence[Counter[Part]], new_texts: Sequence[Counter[Part]], min_similarity: float
) -> dict[int, int]:
    """Return the index in `new_texts` of each old text's most similar counterpart, by the old text's index.

    Each of two texts must be the most similar text to the other one, with at least `min_similarity`.
    Ambiguous matches are omitted. Only texts that share a part which is unique on each side are compared, so
    that the time is about linear.
    """
    old_owners, new_owners = _find_unique_parts(old_texts), _find_unique_parts(new_texts)
    candidates = {(old, new_owners[part]) for part, old in old_owners.items() if part in new_owners}
    similarities = {
        (old, new): similarity
        for old, new in candidates
        if (similarity := measure_similarity(old_texts[old], new_texts[new])) >= min_similarity
    }
    best_new, best_old = _find_most_similar_texts(similarities, 0), _find_most_similar_texts(similarities, 1)
    return {old: new for old, new in similarities if best_new[old] == new and best_old[new] == old}


def _find_unique_parts(texts: Sequence[Counter[Part]]) -> dict[Part, int]:
    """Return the parts that occur in one text only, with the index of that text."""
    counts = Counter(part for parts in texts for part in parts)
    return {part: index for index, parts in enumerate(texts) for part in parts if counts[part] == 1}


def _find_most_similar_texts(
    similarities: Mapping[tuple[int, int], float], side: int
) -> dict[int, int | None]:
    """Return the most similar counterpart of each text of a side; None if several are equally similar.

    `side` is 0 for the old texts and 1 for the new texts, as in the keys of `similarities`.
    """
    best_matches: dict[int, tuple[float, int | None]] = {}
    for pair, similarity in similarities.items():
        max_similarity = best_matches.get(pair[side], (0.0, None))[0]
        if similarity >= max_similarity:
            best_matches[pair[side]] = similarity, None if similarity == max_similarity else pair[1 - side]
    return {index: other for index, (_, other) in best_matches.items()}


def _measure_size(parts: Counter[Part]) -> int:
    return sum(len(part) * count for part, count in parts.items())
