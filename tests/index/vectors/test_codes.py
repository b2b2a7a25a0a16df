"""The codes of vectors: their error, their rows, and the scan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from index.vectors.codes import NO_ROW, Codes, CodeTable, encode_vectors
from tests.example_counts import scale_examples


def make_vectors(count: int, dimensions: int, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def make_digests(count: int) -> list[bytes]:
    return [number.to_bytes(16, "little") for number in range(count)]


@settings(max_examples=scale_examples(30), deadline=None)
@given(count=st.integers(0, 60), dimensions=st.integers(1, 40), seed=st.integers(0, 1_000))
def test_code_differs_from_its_vector_by_at_most_half_a_scale(count: int, dimensions: int, seed: int) -> None:
    vectors = make_vectors(count, dimensions, seed)
    codes = encode_vectors(vectors)
    error = np.abs(codes.numbers * codes.scales[:, None] - vectors)
    assert (error <= codes.scales[:, None] / 2 + 1e-6).all()


def test_vector_of_zeros_has_codes_of_zeros() -> None:
    codes = encode_vectors(np.zeros((2, 3), np.float32))
    assert not codes.numbers.any()
    assert not codes.scales.any()


@settings(max_examples=scale_examples(20), deadline=None)
@given(sizes=st.lists(st.integers(0, 3_000), min_size=1, max_size=4))
def test_scan_estimates_every_cosine_after_rows_were_added_in_parts(sizes: list[int]) -> None:
    vectors = make_vectors(sum(sizes), 16)
    digests = make_digests(len(vectors))
    table = CodeTable(16)
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        table.add(list(range(start + 1, start + size + 1)), digests[part], encode_vectors(vectors[part]))
        start += size
    query = make_vectors(1, 16, 7)[0]
    assert len(table) == len(vectors)
    np.testing.assert_allclose(table.scan(query), vectors @ query, atol=0.03)


def test_scan_of_a_large_table_by_numkong_has_the_same_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = make_vectors(2_000, 48)
    table = CodeTable(48)
    table.add(range(1, 2_001), make_digests(2_000), encode_vectors(vectors))
    query = make_vectors(1, 48, 7)[0]
    expected = table.scan(query)
    monkeypatch.setattr("index.vectors.codes.LARGE_TABLE_ROWS", 1_000)
    np.testing.assert_allclose(table.scan(query), expected, atol=0.01)
    monkeypatch.setattr("index.vectors.codes._has_numkong", lambda: False)
    np.testing.assert_array_equal(table.scan(query), expected)


def test_rows_are_found_by_digest_and_counted_by_id() -> None:
    table = CodeTable(4)
    digests = make_digests(5)
    table.add([3, 8, 9], digests[:3], encode_vectors(make_vectors(3, 4)))
    assert table.last_id == 9
    assert [table.count_rows(id) for id in (0, 2, 3, 8, 100)] == [0, 0, 1, 2, 3]
    rows = table.find_rows(np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 16))
    assert rows.tolist() == [0, 1, 2, NO_ROW, NO_ROW]
    assert table.get_ids([2, 0]) == [9, 3]


def test_rows_that_the_table_has_are_ignored_and_a_second_row_of_a_digest_is_never_found() -> None:
    table = CodeTable(2)
    [first, second] = make_digests(2)
    codes = encode_vectors(make_vectors(2, 2))
    table.add([1, 2], [first, second], codes)
    table.add([1, 2], [first, second], codes)
    table.add([3], [first], Codes(codes.numbers[:1], codes.scales[:1]))
    assert len(table) == 3
    assert table.find_rows(np.frombuffer(first, np.uint8).reshape(1, 16)).tolist() == [0]
