"""The background queue: steps that fail, and steps that are submitted again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from docyard.web.background import BackgroundQueue


@pytest.fixture
def queue() -> Iterator[BackgroundQueue]:
    queue = BackgroundQueue()
    yield queue
    queue.close()


def wait_until_idle(queue: BackgroundQueue) -> None:
    deadline = time.monotonic() + 5
    while queue.is_busy:
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_unexpected_error_of_a_step_does_not_stop_the_others(queue: BackgroundQueue) -> None:
    finished = threading.Event()
    queue.submit("good", lambda: finished.set() is None)
    queue.submit("bad", lambda: 1 // 0 > 0)
    assert finished.wait(5)
    wait_until_idle(queue)


def test_step_that_replaces_a_running_one_is_run(queue: BackgroundQueue) -> None:
    started, may_end, replaced = threading.Event(), threading.Event(), threading.Event()

    def run_first() -> bool:
        started.set()
        return may_end.wait(5)

    queue.submit("key", run_first)
    assert started.wait(5)
    queue.submit("key", lambda: replaced.set() is None)
    may_end.set()
    assert replaced.wait(5)
    wait_until_idle(queue)
