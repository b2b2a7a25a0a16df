"""The cache of arrays, which stays within its limit in bytes."""

from __future__ import annotations

import numpy as np

from index.ranking.cache import ArrayCache


def test_least_recently_used_arrays_are_evicted_by_bytes() -> None:
    cache, computed_names = ArrayCache(limit=250_000), []

    def compute(name: str) -> np.ndarray:
        computed_names.append(name)
        return np.zeros(100_000, np.uint8)

    for name in ("a", "b", "a", "c", "a", "c", "b"):
        cache.get(name, compute, name)
        assert cache.total_weight <= 250_000
    assert computed_names == ["a", "b", "c", "b"]


def test_value_without_bytes_is_computed_once() -> None:
    cache, computed_names = ArrayCache(), []
    for name in ("a", "b", "a", "a", "b"):
        assert cache.get(name, computed_names.append, name) is None
    assert computed_names == ["a", "b"]


def test_array_over_the_limit_is_returned_and_not_cached() -> None:
    cache = ArrayCache(limit=10_000)
    for _ in range(2):
        assert len(cache.get("large", np.zeros, 100_000)) == 100_000
        assert cache.total_weight == 0
