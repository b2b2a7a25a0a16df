"""A process pool: blocks of work run in other processes, or in this process if those fail."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import lru_cache
from typing import Any, TypeVar

from workspace.child_processes import Workers

Block = TypeVar("Block")
Result = TypeVar("Result")

_BLOCKS_PER_PROCESS = 2
_TIMEOUT_S = 60.0
"""Seconds without any result after which all processes count as failed."""


def process_map(
    work: Callable[[Block], Result],
    blocks: Iterator[Block],
    processes: int,
    initialize: Callable[[], object] | None = None,
) -> Iterator[tuple[Block, Result]]:
    """Apply `work` to each block in `processes` other processes; yield blocks and results in any order.

    With 0 processes the work runs in this process. `work`, blocks and results are pickled. Each process calls
    `initialize` first. Blocks of a process that fails, is killed or does not respond are run again in this
    process, so that an error of `work` is raised here.
    """
    if processes and multiprocessing.parent_process() is None:  # a child process starts no processes
        yield from _map_in_children(work, blocks, processes, initialize)
    for block in blocks:
        yield block, work(block)


def _map_in_children(
    work: Callable[[Block], Result],
    blocks: Iterator[Block],
    processes: int,
    initialize: Callable[[], object] | None,
) -> Iterator[tuple[Block, Result]]:
    """Yield the results of other processes; if they fail, run the remaining blocks in this process."""
    pickled_work = pickle.dumps(work)
    blocks_by_future: dict[Future[Result], Block] = {}
    has_workers = True
    with Workers(processes, initialize) as workers:
        while True:
            while (
                has_workers
                and len(blocks_by_future) < _BLOCKS_PER_PROCESS * processes
                and (block := next(blocks, None)) is not None
            ):
                try:
                    blocks_by_future[workers.submit(_run_block, pickled_work, block)] = block
                except (OSError, RuntimeError):
                    has_workers = False
                    yield block, work(block)
            if not blocks_by_future:
                return
            # A suspended process, or one that waits for a missing disk, never returns a result.
            finished_futures = wait(blocks_by_future, _TIMEOUT_S, FIRST_COMPLETED).done
            if not finished_futures:
                break
            for future in finished_futures:
                block = blocks_by_future.pop(future)
                yield block, work(block) if future.exception() else future.result()
    for block in blocks_by_future.values():
        yield block, work(block)


@lru_cache(maxsize=1)
def _load_work(work: bytes) -> Callable[[Any], Any]:
    """Return the unpickled work, cached because it may have state between blocks."""
    function: Callable[[Any], Any] = pickle.loads(work)
    return function


def _run_block(work: bytes, block: Any) -> Any:
    return _load_work(work)(block)
