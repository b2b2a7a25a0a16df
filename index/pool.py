"""Work done block by block in other processes, and here where these fail."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from typing import Generic, TypeVar

from workspace.spawning import settle, start

Block = TypeVar("Block")
Result = TypeVar("Result")

_AHEAD = 2
_PATIENCE = 60.0
"""Seconds without any answer after which all processes count as failed."""


def spread(
    work: Callable[[Block], Result],
    blocks: Iterator[Block],
    processes: int,
    begin: Callable[[], object] | None = None,
) -> Iterator[tuple[Block, Result]]:
    """What `work` makes of each block, in no order, by this many other processes; with 0 it is done here.

    Work, blocks and results are pickled. Each process calls `begin` first. What was handed to one that fails,
    is killed or does not answer is done here; so an error of `work` is raised here.
    """
    with ExitStack() as stack:
        workers: list[_Worker[Block, Result]] = list(_started(processes, begin, stack))
        for worker in workers:
            worker.tell(work)
            worker.hand(blocks)
        while busy := [worker for worker in workers if worker.handed]:
            # One that was stopped, or waits for a disk that is gone, would be waited for without end.
            ready = wait([worker.pipe for worker in busy], _PATIENCE)
            for worker in [worker for worker in busy if worker.pipe in ready] or busy:
                try:
                    result = worker.result()
                except (EOFError, OSError):
                    workers.remove(worker)
                    for block in worker.handed:
                        yield block, work(block)
                    continue
                yield worker.handed.pop(0), result
                worker.hand(blocks)
        for block in blocks:
            yield block, work(block)


def _started(
    processes: int, begin: Callable[[], object] | None, stack: ExitStack
) -> Iterator[_Worker[Block, Result]]:
    # A process that must end with its parent may have no children of its own.
    if multiprocessing.current_process().daemon:
        return
    for _ in range(processes):
        with suppress(OSError):  # where there is no room for another process, its work is done here
            yield stack.enter_context(_Worker(begin))


class _Worker(Generic[Block, Result]):
    """Another process at work, from entering to leaving a `with`; `handed` are the blocks that it has."""

    def __init__(self, begin: Callable[[], object] | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, self._end = context.Pipe()
        self.handed: list[Block] = []
        self._process = context.Process(target=_serve, args=(self._end, begin), daemon=True)

    def __enter__(self) -> _Worker[Block, Result]:
        with self._end:
            start(self._process)
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self.pipe.close()

    def tell(self, work: Callable[[Block], Result]) -> None:
        """Say what is to be done with blocks.

        Not as it is started: to one that dies just then, the standard library writes for ever.
        """
        with suppress(OSError):  # as below
            self.pipe.send(work)

    def hand(self, blocks: Iterator[Block]) -> None:
        """Let it have the next blocks, so that it never waits for one."""
        with suppress(OSError):  # it failed, which is seen when it is asked for a result
            while len(self.handed) < _AHEAD and (block := next(blocks, None)) is not None:
                self.handed.append(block)
                self.pipe.send(block)

    def result(self) -> Result:
        """What it made of its first block. Raises EOFError or OSError if it failed, or has no answer yet."""
        if not self.pipe.poll():
            raise EOFError
        result: Result = self.pipe.recv()
        return result


def _serve(pipe: Connection, begin: Callable[[], object] | None) -> None:
    settle()
    if begin:
        begin()
    # A failure is not reported: the parent does the work again, and meets the same if it lasts.
    with suppress(Exception):
        work = pipe.recv()
        while True:
            pipe.send(work(pipe.recv()))
