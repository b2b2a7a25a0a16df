"""Child processes, started by spawn: a fork would copy the server's threads in any state.

They write nothing to the standard output, ignore Ctrl-C, and end when their parent ends for any reason.
A script that starts them guards its main part with `if __name__ == "__main__"`; multiprocessing requires it.
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
    """A pool of child processes; leaving the `with` kills them.

    Each process calls `begin` first. If one is killed, all end: `submit` and the pending results raise
    BrokenProcessPool from then on.
    """

    def __init__(self, processes: int, begin: Callable[[], object] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(processes, context, initializer=_initialize, initargs=(begin,))
        # The pool itself cannot end a process that hangs before Python 3.14.
        self._processes: set[BaseProcess] = set()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
        self._pool.shutdown()

    def submit(self, work: Callable[P, Result], *given: P.args, **named: P.kwargs) -> Future[Result]:
        """Run pickled work in a process.

        Raises OSError if the system cannot start another process, and RuntimeError if the pool is
        broken, or this process ends.
        """
        with _starting, _block_interrupts():
            before = set(multiprocessing.active_children())
            try:
                return self._pool.submit(work, *given, **named)
            finally:
                self._processes |= {*multiprocessing.active_children()} - before


def start_process(process: BaseProcess) -> None:
    """Start a process of the context `spawn`. Raises OSError if the system has no resources for it."""
    with _starting, _block_interrupts():
        process.start()


def configure_child() -> None:
    """Prevent this child from writing to standard output, and end it with its parent."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block Ctrl-C, which a terminal sends to all processes; a process that is started inherits this."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Start the resource tracker now: started later, it would unblock the signal.
    multiprocessing.get_context("spawn").Lock()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _initialize(begin: Callable[[], object] | None) -> None:
    configure_child()
    if begin:
        begin()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
