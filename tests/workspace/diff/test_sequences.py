"""Ordered pairs of two sequences: no selection of pairs in the same order has a greater weight."""

from __future__ import annotations

from itertools import chain, combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from workspace.diff.sequences import select_ordered_pairs


@given(st.permutations(range(6)), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_selected_pairs_are_ordered_and_have_the_greatest_weight(
    order: list[int], weights: list[int]
) -> None:
    pairs = list(zip(range(6), order, weights, strict=True))

    def is_ordered(selection: tuple[tuple[int, int, int], ...]) -> bool:
        return all(left[0] < right[0] and left[1] < right[1] for left, right in pairwise(selection))

    selections = filter(is_ordered, chain.from_iterable(combinations(pairs, size) for size in range(7)))
    selected = select_ordered_pairs(pairs)
    assert is_ordered(tuple((old, new, 0) for old, new in selected))
    assert sum(weights[old] for old, _ in selected) == max(
        sum(weight for _, _, weight in selection) for selection in selections
    )
