"""What is kept stays within its limit, and is what was made."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np

from index.ranking.cache import Cache


def test_a_value_is_made_once() -> None:
    cache, made = Cache(), []

    def make(name: str) -> None:
        made.append(name)

    for name in ("a", "b", "a", "a", "b"):
        assert cache.get(name, make, name) is None
    assert made == ["a", "b"]


def test_what_was_not_asked_for_longest_goes_first() -> None:
    cache, made = Cache(limit=250_000), []

    def make(name: str) -> np.ndarray:
        made.append(name)
        return np.zeros(100_000, np.uint8)

    for name in ("a", "b", "a", "c", "a", "c", "b"):
        cache.get(name, make, name)
        assert cache.size <= 250_000
    assert made == ["a", "b", "c", "b"]


def test_a_value_over_the_limit_is_given_and_not_kept() -> None:
    cache = Cache(limit=10_000)
    for _ in range(2):
        assert len(cache.get("large", np.zeros, 100_000)) == 100_000
        assert cache.size == 0


def test_threads_get_what_they_ask_for() -> None:
    cache = Cache(limit=60_000)

    def ask(seed: int) -> bool:
        chance = Random(seed)
        numbers = (chance.randrange(200) for _ in range(2000))
        return all(cache.get(number, np.full, 10, number)[0] == number for number in numbers)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(8)))
    assert cache.size <= 60_000


def test_what_is_forgotten_meanwhile_is_made_again() -> None:
    cache = Cache(limit=60_000)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def ask(seed: int) -> bool:
        chance = Random(seed)
        right = True
        for _ in range(3000):
            name = chance.choice("abc"), chance.randrange(60)
            right = right and cache.get(name, tuple, name) == name
            if chance.random() < 0.02:
                cache.keep(set(chance.sample("abc", 2)))
        return right

    try:
        with ThreadPoolExecutor(6) as threads:
            assert all(threads.map(ask, range(6)))
    finally:
        sys.setswitchinterval(interval)
    assert cache.size <= 60_000
    cache.keep(())
    assert cache.size == 0


def test_what_belongs_to_nobody_any_more_is_forgotten() -> None:
    cache = Cache()
    for owner in ("old", "new"):
        cache.get((owner, 1), lambda: np.zeros(10))
    cache.keep({"new"})
    assert len(cache.get(("new", 1), lambda: np.ones(5))) == 10
    assert len(cache.get(("old", 1), lambda: np.ones(5))) == 5
