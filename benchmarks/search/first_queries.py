"""Times of searches in the process: the first and the second run of each query."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.timing import compute_p50_p95_p99_ms, measure_seconds
from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str, queries: list[str], phrases: list[str], warm_up: list[str]) -> dict[str, Any]:
    """Measure the first and the second run of each query, after the queries of the warm-up.

    Other programs affect the processor time of the first run less than its wall-clock time.
    """
    search = SearchIndex(Workspace.open(Path(repository), read_only=True))
    search.preload()
    for query in warm_up:
        search.search(query)
    gc.collect()
    gc.freeze()  # as a server does after its start
    return {
        "questions": _measure_twice(search, queries),
        "phrases": _measure_twice(search, phrases),
    }


def _measure_twice(search: SearchIndex, queries: Sequence[str]) -> dict[str, Any]:
    calls = [partial(search.search, query) for query in queries]
    processor_times: list[float] = []
    first_times: list[float] = []
    for call in calls:
        start = time.thread_time()
        first_times.append(measure_seconds(call))
        processor_times.append(time.thread_time() - start)
    return {
        "first": compute_p50_p95_p99_ms(first_times),
        "processor_time": compute_p50_p95_p99_ms(processor_times),
        "second": compute_p50_p95_p99_ms([measure_seconds(call) for call in calls]),
    }
