"""LRU cache: cached values are the computed ones, and stay within the capacity."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest

from workspace.lru_cache import LRUCache


def test_least_recently_used_value_is_evicted_first_by_weight() -> None:
    cache: LRUCache[int, str] = LRUCache(4, len)
    first_value, second_value = cache.get(1, lambda: "".join("ab")), cache.get(2, lambda: "cd")
    assert cache.get(1, lambda: "new") is first_value
    cache.get(3, lambda: "ef")
    assert cache.get(2, lambda: "new") != second_value
    assert cache.get(4, lambda: "too large") == "too large"
    assert cache.get(4, lambda: "again") == "again"


def test_least_recently_used_value_is_evicted_first_by_count() -> None:
    cache: LRUCache[int, int] = LRUCache(2)
    for key in (1, 2, 1, 3):
        cache.get(key, int, key)
    assert [cache.get(key, lambda: -1) for key in (1, 3, 2)] == [1, 3, -1]


def test_failed_computation_is_not_cached() -> None:
    cache: LRUCache[str, int] = LRUCache(2)
    with pytest.raises(ValueError, match="invalid"):
        cache.get("a", int, "x")
    assert (len(cache), cache.get("a", int, "1")) == (0, 1)


def test_put_replaces_a_value_and_retain_drops_other_keys() -> None:
    cache: LRUCache[str, str] = LRUCache(9, len)
    for value in ("1234", "12", "123456789 too long"):
        cache.put("a", value)
        cache.put("b", "x")
    assert ("a" in cache, cache.find("a"), cache.find("b"), cache.total_weight, len(cache)) == (
        False,
        None,
        "x",
        1,
        1,
    )
    cache.put("a", "12")
    cache.retain(lambda key: key == "a")
    assert (cache.find("a"), cache.find("b"), cache.total_weight) == ("12", None, 2)


def test_threads_get_values_of_their_keys_within_bounds() -> None:
    cache: LRUCache[tuple[str, int], tuple[object, ...]] = LRUCache(60, lambda value: 1)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def run(seed: int) -> bool:
        rng = Random(seed)
        is_correct = True
        for _ in range(3000):
            key = rng.choice("abc"), rng.randrange(60)
            is_correct = is_correct and cache.get(key, tuple, key) == key
            if rng.random() < 0.02:
                letter = rng.choice("abc")
                cache.retain(lambda key, letter=letter: key[0] == letter)  # type: ignore[misc]
        return is_correct

    try:
        with ThreadPoolExecutor(6) as threads:
            assert all(threads.map(run, range(6)))
    finally:
        sys.setswitchinterval(interval)
    assert cache.total_weight == len(cache) <= 60
