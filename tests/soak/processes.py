"""Processes of a test: started by a fork server, awaited with a time limit, and killed at the end."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess

CONTEXT = multiprocessing.get_context("forkserver")
# The fork server imports the modules of the writers once.
CONTEXT.set_forkserver_preload(["tests.soak.writer"])


def start_process(target: Callable[..., None], *arguments: object) -> ForkServerProcess:
    """Start a process that calls `target` with these arguments."""
    process = CONTEXT.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


@contextmanager
def run_processes(target: Callable[..., None], jobs: Sequence[object]) -> Iterator[list[ForkServerProcess]]:
    """Run a process for each job, and kill the processes that still run at the end."""
    processes: list[ForkServerProcess] = []
    try:
        for job in jobs:
            processes.append(start_process(target, job))
        yield processes
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()
            process.join(10)


def wait_for_exit(processes: Sequence[ForkServerProcess], *, timeout_s: float) -> None:
    """Wait until all processes have exited. Raises AssertionError after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))
        assert not process.is_alive(), f"a process still ran after {timeout_s:.0f} s"
