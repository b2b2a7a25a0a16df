"""Child processes, started by spawn: a fork would copy the server's locks in any state.

They write nothing to the standard output, ignore Ctrl-C, and end when their parent ends for any reason.
A script that starts child processes needs `if __name__ == "__main__"`, as multiprocessing requires.
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

_start_lock = threading.Lock()

P = ParamSpec("P")
Result = TypeVar("Result")


class Workers:
    """A pool of child processes, which are killed at the end of the `with` block.

    Each process calls `initialize` first. If a process is killed, all end: `submit` and the pending results
    raise BrokenProcessPool from then on.
    """

    def __init__(self, processes: int, initialize: Callable[[], object] | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(
            processes, context, initializer=_initialize_child, initargs=(initialize,)
        )
        # Before Python 3.14, the pool cannot end a process that hangs.
        self._processes: set[BaseProcess] = set()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes:
            process.kill()
        self._pool.shutdown()

    def submit(self, work: Callable[P, Result], *args: P.args, **kwargs: P.kwargs) -> Future[Result]:
        """Run pickled work in a process.

        Raises OSError if the system cannot start another process, and RuntimeError if the pool is
        broken, or this process ends.
        """
        with _start_lock, _block_interrupts():
            processes_before = set(multiprocessing.active_children())
            try:
                return self._pool.submit(work, *args, **kwargs)
            finally:
                self._processes |= {*multiprocessing.active_children()} - processes_before


def start_process(process: BaseProcess) -> None:
    """Start a process of the context `spawn`. Raises OSError if the system has no resources for it."""
    with _start_lock, _block_interrupts():
        process.start()


def configure_child() -> None:
    """Prevent this child from writing to standard output, and end it with its parent."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block Ctrl-C, which a terminal sends to all processes; a started process inherits the block."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # The resource tracker is started now, because a later start would unblock the signal.
    multiprocessing.get_context("spawn").Lock()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _initialize_child(initialize: Callable[[], object] | None) -> None:
    configure_child()
    if initialize:
        initialize()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
