"""Other processes of ours: started afresh, because a server has threads that a fork would cut in the middle.

They write nothing to the standard output, hear no Ctrl-C, and end when their parent does, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import ModuleType

_starting = threading.Lock()


def start(process: BaseProcess) -> None:
    """Start a process of the context `spawn`. Raises OSError where the system has no room for it."""
    with _deaf(), _no_program():
        process.start()


def settle() -> None:
    """What the process calls first: its output goes nowhere, and it will end with its parent."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    threading.Thread(target=_end_with_parent, daemon=True).start()


@contextmanager
def _deaf() -> Iterator[None]:
    """Let a new process not hear Ctrl-C, which a terminal sends to all: it inherits what is blocked here."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # or it would be started meanwhile, which takes the block away
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _no_program() -> Iterator[None]:
    """Keep a new process from running the program again that started this one.

    It would be imported first of all, and a script that asks for a search as it is imported would ask again.
    """
    with _starting:
        program = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = program


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
