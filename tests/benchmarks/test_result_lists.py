"""Result lists are compared exactly, up to the last bit of a score."""

from __future__ import annotations

import json

import pytest

from benchmarks.search.result_lists import ResultListsDiffer, check_equal_result_lists

LISTS = [[("a.md#one", 1.5), ("b.md#two", 0.1 + 0.2)], []]


def test_lists_are_equal_after_json_round_trip() -> None:
    assert (
        check_equal_result_lists(
            ["q", "r"], {"first run": LISTS, "second run": json.loads(json.dumps(LISTS))}
        )
        == 2
    )


def test_lists_differing_in_last_bit_of_a_score_differ() -> None:
    changed_lists = [[("a.md#one", 1.5), ("b.md#two", 0.3)], []]
    with pytest.raises(ResultListsDiffer, match=r"'q' differ:\nfirst run.*\n.*second run"):
        check_equal_result_lists(["q", "r"], {"first run": LISTS, "second run": changed_lists})


def test_lists_of_other_order_or_length_differ() -> None:
    for changed_lists in ([LISTS[0][::-1], []], [LISTS[0][:1], []], [LISTS[0], [("c.md#c", 0.0)]]):
        with pytest.raises(ResultListsDiffer):
            check_equal_result_lists(["q", "r"], {"first run": LISTS, "second run": changed_lists})


def test_missing_list_raises_value_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        check_equal_result_lists(["q", "r"], {"first run": LISTS, "second run": LISTS[:1]})
