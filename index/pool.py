"""A process pool: work on blocks in other processes, and in this one if those fail."""

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

_AHEAD = 2
_PATIENCE = 60.0
"""Seconds without any answer after which all processes count as failed."""


def process_map(
    work: Callable[[Block], Result],
    blocks: Iterator[Block],
    processes: int,
    begin: Callable[[], object] | None = None,
) -> Iterator[tuple[Block, Result]]:
    """Apply `work` to each block in this many other processes, and yield the results in no order.

    With 0 processes it runs here. Work, blocks and results are pickled. Each process calls `begin` first.
    Blocks of a process that fails, is killed or does not answer are run again here, so that an error of
    `work` is raised here.
    """
    if processes and multiprocessing.parent_process() is None:  # one that was started starts no others
        yield from _map_in_children(work, blocks, processes, begin)
    for block in blocks:
        yield block, work(block)


def _map_in_children(
    work: Callable[[Block], Result],
    blocks: Iterator[Block],
    processes: int,
    begin: Callable[[], object] | None,
) -> Iterator[tuple[Block, Result]]:
    """Yield results of other processes; stop before the last block if they fail, with none lost."""
    pickled = pickle.dumps(work)
    handed: dict[Future[Result], Block] = {}
    is_open = True
    with Workers(processes, begin) as workers:
        while True:
            while is_open and len(handed) < _AHEAD * processes and (block := next(blocks, None)) is not None:
                try:
                    handed[workers.submit(_run_block, pickled, block)] = block
                except (OSError, RuntimeError):
                    is_open = False
                    yield block, work(block)
            if not handed:
                return
            # One that was stopped, or waits for a disk that is gone, would be waited for without end.
            done = wait(handed, _PATIENCE, FIRST_COMPLETED).done
            if not done:
                break
            for future in done:
                block = handed.pop(future)
                yield block, work(block) if future.exception() else future.result()
    for block in handed.values():
        yield block, work(block)


@lru_cache(maxsize=1)
def _run_child(work: bytes) -> Callable[[Any], Any]:
    """Return what a process does, with all that it keeps from one block to the next."""
    found: Callable[[Any], Any] = pickle.loads(work)
    return found


def _run_block(work: bytes, block: Any) -> Any:
    return _run_child(work)(block)
