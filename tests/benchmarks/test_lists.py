"""Lists that must be the same are compared to the last bit."""

from __future__ import annotations

import json

import pytest

from benchmarks.search.lists import ListsDiffer, check_same

LISTS = [[("a.md#one", 1.5), ("b.md#two", 0.1 + 0.2)], []]


def test_lists_that_went_through_json_are_the_same() -> None:
    assert check_same(["q", "r"], {"here": LISTS, "there": json.loads(json.dumps(LISTS))}) == 2


def test_the_last_bit_of_a_score_counts() -> None:
    other = [[("a.md#one", 1.5), ("b.md#two", 0.3)], []]
    with pytest.raises(ListsDiffer, match=r"'q' differ:\nhere.*\n.*there"):
        check_same(["q", "r"], {"here": LISTS, "there": other})


def test_order_and_length_count() -> None:
    for other in ([LISTS[0][::-1], []], [LISTS[0][:1], []], [LISTS[0], [("c.md#c", 0.0)]]):
        with pytest.raises(ListsDiffer):
            check_same(["q", "r"], {"here": LISTS, "there": other})


def test_a_missing_list_is_no_agreement() -> None:
    with pytest.raises(ValueError, match="shorter"):
        check_same(["q", "r"], {"here": LISTS, "there": LISTS[:1]})
