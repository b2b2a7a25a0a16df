"""Workers: what is given to them is done, to its end, and not too much at a time."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from docyard.mcp_server.calls import Workers, WorkRejected

pytestmark = pytest.mark.anyio


async def test_no_more_are_at_work_than_there_may_be() -> None:
    lock, at_work, most = threading.Lock(), 0, 0
    both = threading.Barrier(2, timeout=60)

    def work() -> None:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        both.wait()
        with lock:
            at_work -= 1

    async with Workers(2) as workers, anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(workers.run, work)
    assert most == 2


class Slow:
    """Work that is done when it may go on."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.is_done = threading.Event(), threading.Event(), False

    def __call__(self) -> None:
        self.begun.set()
        self.go_on.wait(60)
        self.is_done = True

    async def wait_begun(self) -> None:
        while not self.begun.is_set():
            await anyio.sleep(0.001)


async def test_what_was_begun_is_finished_and_what_was_not_never_begins() -> None:
    slow, late = Slow(), Slow()
    async with Workers(1) as workers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workers.run, slow)
            tasks.start_soon(workers.run, late)
            await slow.wait_begun()
            tasks.cancel_scope.cancel()
            slow.go_on.set()
        assert slow.is_done
    assert not late.begun.is_set()


async def test_work_that_waits_when_they_close_is_refused() -> None:
    slow = Slow()
    async with Workers(1) as workers, anyio.create_task_group() as tasks:
        tasks.start_soon(workers.run, slow)
        await slow.wait_begun()
        workers.close()
        slow.go_on.set()
        with pytest.raises(WorkRejected):
            await workers.run(lambda: None)
    assert slow.is_done


async def test_work_of_a_task_that_asyncio_cancelled_is_waited_for() -> None:
    slow, late = Slow(), Slow()
    async with Workers(1) as workers:
        task = asyncio.create_task(workers.run(slow))
        await slow.wait_begun()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        waiting = asyncio.create_task(workers.run(late))  # the limiter lets it into a thread
        await anyio.sleep(0.01)
        threading.Timer(0.05, slow.go_on.set).start()
        workers.close()
    assert slow.is_done
    with pytest.raises(WorkRejected):
        await waiting
    assert not late.begun.is_set()
