"""Whole answers with snippets in the process: each question for the first time, and once more."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.timing import percentiles, seconds
from index.service import SearchIndex
from workspace.workspace import Workspace


def measure(repository: str, questions: list[str], phrases: list[str], warm_up: list[str]) -> dict[str, Any]:
    """Return the times of the first and the second ask of each question, after others that warm up.

    The processor time of the first ask says more on a machine that other programs use.
    """
    search = SearchIndex(Workspace.open(Path(repository), read_only=True))
    search.warm()
    for question in warm_up:
        search.search(question)
    gc.collect()
    gc.freeze()  # as a server does when it has started
    return {
        "questions": _ask_twice(search, questions),
        "phrases": _ask_twice(search, phrases),
    }


def _ask_twice(search: SearchIndex, questions: Sequence[str]) -> dict[str, Any]:
    asks = [partial(search.search, question) for question in questions]
    processor_times: list[float] = []
    first: list[float] = []
    for ask in asks:
        start = time.thread_time()
        first.append(seconds(ask))
        processor_times.append(time.thread_time() - start)
    return {
        "first": percentiles(first),
        "processor": percentiles(processor_times),
        "second": percentiles([seconds(ask) for ask in asks]),
    }
