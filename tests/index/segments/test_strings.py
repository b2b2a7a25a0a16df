"""Pools of strings, compared with lists of bytes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.segments.arrays import (
    StringPool,
    StringPoolBuilder,
    compute_offsets,
    decode,
    encode,
    expand_ranges,
    gather_strings,
    join_pools,
)
from tests.loops import loop_over

POOL = st.lists(st.binary(max_size=6), max_size=12)


def make_pool(strings: list[bytes]) -> StringPool:
    builder = StringPoolBuilder()
    builder.extend(strings)
    return StringPool(*builder.arrays())


@given(POOL)
def test_pool_returns_its_strings(strings: list[bytes]) -> None:
    string_pool = make_pool(strings)
    assert len(string_pool) == len(strings)
    assert (
        string_pool.get_all_bytes()
        == strings
        == [string_pool.get_bytes(number) for number in range(len(string_pool))]
    )


@given(st.sets(st.binary(max_size=3)), st.binary(max_size=3))
def test_ascending_pool_is_searched_by_bisection(strings: set[bytes], target: bytes) -> None:
    ascending = sorted(strings)
    ascending_pool = make_pool(ascending)
    assert ascending_pool.count_before(target) == sum(string < target for string in ascending)
    assert ascending_pool.find(target) == (ascending.index(target) if target in strings else None)


@given(POOL, st.binary(min_size=1, max_size=3), st.integers(0, 12), st.integers(0, 12))
def test_find_among_returns_the_first_equal_string(
    strings: list[bytes], target: bytes, first: int, last: int
) -> None:
    last = min(last, len(strings))
    first = min(first, last)
    expected = strings.index(target, first, last) if target in strings[first:last] else None
    assert make_pool(strings).find_among(first, last, target) == expected


@given(st.sets(st.text("aé", max_size=4).map(str.encode)), st.text("aé", max_size=2).map(str.encode))
def test_strings_with_a_prefix_are_listed(strings: set[bytes], prefix: bytes) -> None:
    ascending = sorted(strings)
    assert make_pool(ascending).find_strings_with_prefix(prefix) == [
        string for string in ascending if string.startswith(prefix)
    ]


@given(st.lists(POOL, min_size=1, max_size=4), st.data())
def test_joined_and_gathered_pools_equal_plain_lists(pools: list[list[bytes]], data: st.DataObject) -> None:
    pool_arrays = []
    for strings in pools:
        builder = StringPoolBuilder()
        builder.extend(strings)
        pool_arrays.append(builder.arrays())
    all_strings = [string for strings in pools for string in strings]
    joined_arrays = join_pools(pool_arrays)
    assert StringPool(*joined_arrays).get_all_bytes() == all_strings
    order = data.draw(st.lists(st.integers(0, len(all_strings) - 1))) if all_strings else []
    gathered_arrays = gather_strings(*joined_arrays, np.array(order, np.int64))
    assert StringPool(*gathered_arrays).get_all_bytes() == [all_strings[number] for number in order]


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=8))
def test_ranges_are_concatenated_in_order(starts_and_sizes: list[tuple[int, int]]) -> None:
    starts, sizes = (
        np.array(column, np.int64)
        for column in (zip(*starts_and_sizes, strict=True) if starts_and_sizes else ([], []))
    )
    assert expand_ranges(starts, sizes).tolist() == [
        number for start, size in starts_and_sizes for number in range(start, start + size)
    ]


@given(st.lists(st.text(st.characters(codec=None), max_size=4)))
def test_encoded_strings_preserve_order_and_characters(texts: list[str]) -> None:
    assert [decode(encode(text)) for text in texts] == texts
    assert [decode(data) for data in sorted(map(encode, texts))] == sorted(texts)
    assert [make_pool([encode(text)]).get_text(0) for text in texts] == texts


@loop_over("offsets", [[], [1], [0, 2], [0, 4]])
def test_mismatched_offsets_are_refused(offsets: list[int]) -> None:
    with pytest.raises(ValueError, match="do not match their bytes"):
        StringPool(np.zeros(3, np.uint8), np.array(offsets, np.uint32))


def test_pool_offsets_are_limited_to_four_gigabytes() -> None:
    assert compute_offsets(np.array([(1 << 32) - 1], np.int64))[-1] == (1 << 32) - 1
    with pytest.raises(OverflowError):
        compute_offsets(np.array([1 << 31, 1 << 31], np.int64))
