"""Other processes of ours: started afresh, because a server has threads that a fork would cut in the middle.

They write nothing to the standard output, ignore Ctrl-C, and end when their parent does, however that ends.
A script that starts them guards its main part with `if __name__ == "__main__"`, as multiprocessing asks.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import ParamSpec, TypeVar

_starting = threading.Lock()

P = ParamSpec("P")
Result = TypeVar("Result")


class Workers:
    """A pool of other processes, from entering to leaving a `with`; leaving kills them, whatever they do.

    Each process calls `begin` first. One that is killed ends them all: `submit` and the results of what was
    submitted raise BrokenProcessPool from then on.
    """

    def __init__(self, processes: int, begin: Callable[[], object] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(processes, context, initializer=_begin, initargs=(begin,))
        # The pool itself cannot end a process that hangs before Python 3.14.
        self._processes: set[BaseProcess] = set()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
        self._pool.shutdown()

    def submit(self, work: Callable[P, Result], *given: P.args, **named: P.kwargs) -> Future[Result]:
        """Let a process do something, which is pickled.

        Raises OSError where the system has no room for another process, and RuntimeError if the pool is
        broken, or this process ends.
        """
        with _starting, _deaf():
            before = set(multiprocessing.active_children())
            try:
                return self._pool.submit(work, *given, **named)
            finally:
                self._processes |= {*multiprocessing.active_children()} - before


def start(process: BaseProcess) -> None:
    """Start a process of the context `spawn`. Raises OSError where the system has no room for it."""
    with _starting, _deaf():
        process.start()


def settle() -> None:
    """Let this process, which another one started, write to no standard output, and end with its parent."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


@contextmanager
def _deaf() -> Iterator[None]:
    """Block Ctrl-C, which a terminal sends to all processes; a process that is started inherits this."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Starts the tracker of resources, which would be started meanwhile otherwise, and take the block away.
    multiprocessing.get_context("spawn").Lock()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _begin(begin: Callable[[], object] | None) -> None:
    settle()
    if begin:
        begin()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
