"""Times of calls, and their percentiles."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

ROUND_COUNT = 3


def measure_seconds(call: Callable[[], object]) -> float:
    """Return the wall-clock time of a call, in seconds."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure_warm_seconds(call: Callable[[T], object], inputs: Sequence[T]) -> list[float]:
    """Call `call` with each input, and return the shortest of three times for each input, in seconds.

    Other programs affect the shortest time the least. Each round uses all inputs, so that an input is not
    repeated immediately, while its caches are warm.
    """
    rounds = [
        [measure_seconds(lambda: call(value)) for value in inputs]  # noqa: B023
        for _ in range(ROUND_COUNT)
    ]
    return find_shortest_times(rounds)


def read_processor_seconds(pids: Iterable[int]) -> float:
    """Return the processor time of running processes; 0 without proc(5)."""
    ticks = 0
    for pid in pids:
        with suppress(OSError):  # the process has ended
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # utime and stime
    return ticks / os.sysconf("SC_CLK_TCK")


def find_shortest_times(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Return the shortest time of each input in several rounds with the same inputs."""
    return [min(times) for times in zip(*rounds, strict=True)]


def compute_percentile(values: Sequence[float], fraction: float) -> float:
    """Return the value that at least a fraction (0 to 1) of all values does not exceed."""
    sorted_values = sorted(values)
    return sorted_values[min(len(sorted_values) - 1, int(fraction * len(sorted_values)))]


def compute_p50_p95_ms(values: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile in milliseconds. `values` are in seconds."""
    return {"p50_ms": compute_percentile(values, 0.5) * 1e3, "p95_ms": compute_percentile(values, 0.95) * 1e3}


def compute_p50_p95_p99_ms(values: Sequence[float]) -> dict[str, float]:
    """Return the median, the 95th and the 99th percentile in milliseconds. `values` are in seconds."""
    return compute_p50_p95_ms(values) | {"p99_ms": compute_percentile(values, 0.99) * 1e3}
