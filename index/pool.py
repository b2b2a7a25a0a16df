"""A process pool: work items run in other processes, or in this process if those fail."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import lru_cache
from typing import Any, TypeVar

from workspace.child_processes import Workers

Item = TypeVar("Item")
Result = TypeVar("Result")

_ITEMS_PER_PROCESS = 2
_TIMEOUT_S = 60.0
"""Seconds without any result after which all processes count as failed."""


def process_map(
    work: Callable[[Item], Result],
    items: Iterator[Item],
    processes: int,
    initialize: Callable[[], object] | None = None,
) -> Iterator[tuple[Item, Result]]:
    """Apply `work` to each item in `processes` other processes; yield items and results in any order.

    With 0 processes the work runs in this process. `work`, items and results are pickled. Each process calls
    `initialize` first. Items of a process that fails, is killed or does not respond are run again in this
    process. An error of `work` is therefore raised here.
    """
    if processes and multiprocessing.parent_process() is None:  # a child process starts no processes
        yield from _map_in_children(work, items, processes, initialize)
    for item in items:
        yield item, work(item)


def _map_in_children(
    work: Callable[[Item], Result],
    items: Iterator[Item],
    processes: int,
    initialize: Callable[[], object] | None,
) -> Iterator[tuple[Item, Result]]:
    """Yield the results of other processes; if they fail, run the remaining items in this process."""
    pickled_work = pickle.dumps(work)
    items_by_future: dict[Future[Result], Item] = {}
    has_workers = True
    with Workers(processes, initialize) as workers:
        while True:
            while (
                has_workers
                and len(items_by_future) < _ITEMS_PER_PROCESS * processes
                and (item := next(items, None)) is not None
            ):
                try:
                    items_by_future[workers.submit(_run_item, pickled_work, item)] = item
                except (OSError, RuntimeError):
                    has_workers = False
                    yield item, work(item)
            if not items_by_future:
                return
            # A suspended process, or one that waits for a missing disk, never returns a result.
            finished_futures = wait(items_by_future, _TIMEOUT_S, FIRST_COMPLETED).done
            if not finished_futures:
                break
            for future in finished_futures:
                item = items_by_future.pop(future)
                yield item, work(item) if future.exception() else future.result()
    for item in items_by_future.values():
        yield item, work(item)


@lru_cache(maxsize=1)
def _load_work(pickled_work: bytes) -> Callable[[Any], Any]:
    """Return the unpickled work, cached because it may have state between items."""
    function: Callable[[Any], Any] = pickle.loads(pickled_work)
    return function


def _run_item(pickled_work: bytes, item: Any) -> Any:
    return _load_work(pickled_work)(item)
