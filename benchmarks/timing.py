"""Times of calls, and their percentiles."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

ROUNDS = 3


def seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def warm_seconds(work: Callable[[T], object], things: Sequence[T]) -> list[float]:
    """Return the shortest of three times of each call, to exclude the time of other programs.

    Each round goes over all things, so that no call runs twice in succession with warm caches.
    """
    return shortest([[seconds(lambda: work(thing)) for thing in things] for _ in range(ROUNDS)])  # noqa: B023


def shortest(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Return the shortest time of each thing in several rounds over the same things."""
    return [min(times) for times in zip(*rounds, strict=True)]


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of all values does not exceed, by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times in seconds, in milliseconds."""
    return {"p50_ms": percentile(values, 0.5) * 1e3, "p95_ms": percentile(values, 0.95) * 1e3}


def percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the median, the 95th and the 99th percentile of times in seconds, in milliseconds."""
    return spread(values) | {"p99_ms": percentile(values, 0.99) * 1e3}
