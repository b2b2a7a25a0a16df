"""Processes of a test: started from a clean one, bounded in time, and never left behind."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess

CONTEXT = multiprocessing.get_context("forkserver")
# What every writer imports is imported once, by the process that they are forked from.
CONTEXT.set_forkserver_preload(["tests.soak.writer"])


def start(target: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Start a process."""
    process = CONTEXT.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


@contextmanager
def running(target: Callable[..., None], jobs: Sequence[object]) -> Iterator[list[ForkServerProcess]]:
    """One process for each job; those that still run at the end are killed."""
    processes: list[ForkServerProcess] = []
    try:
        for job in jobs:
            processes.append(start(target, job))
        yield processes
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
            process.join(10)


def wait(processes: Sequence[ForkServerProcess], *, within: float) -> None:
    """Wait until all have ended. Raises AssertionError if that takes longer than so many seconds."""
    until = time.monotonic() + within
    for process in processes:
        process.join(max(0.0, until - time.monotonic()))
        assert not process.is_alive(), f"a process still ran after {within:.0f} s"
