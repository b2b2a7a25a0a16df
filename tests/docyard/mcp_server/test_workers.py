"""Workers: work runs to its end, and the number of concurrent tasks is bounded."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from docyard.mcp_server.calls import Workers, WorkRejected

pytestmark = pytest.mark.anyio


async def test_at_most_size_workers_run() -> None:
    lock, at_work, most = threading.Lock(), 0, 0
    barrier = threading.Barrier(2, timeout=60)

    def work() -> None:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        barrier.wait()
        with lock:
            at_work -= 1

    async with Workers(2) as workers, anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(workers.run, work)
    assert most == 2


class Slow:
    """Work that waits for an event."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.is_done = threading.Event(), threading.Event(), False

    def __call__(self) -> None:
        self.begun.set()
        self.go_on.wait(60)
        self.is_done = True

    async def wait_started(self) -> None:
        while not self.begun.is_set():
            await anyio.sleep(0.001)


async def test_started_work_finishes_and_waiting_work_never_starts() -> None:
    slow, late = Slow(), Slow()
    async with Workers(1) as workers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workers.run, slow)
            tasks.start_soon(workers.run, late)
            await slow.wait_started()
            tasks.cancel_scope.cancel()
            slow.go_on.set()
        assert slow.is_done
    assert not late.begun.is_set()


async def test_waiting_work_is_rejected_on_close() -> None:
    slow = Slow()
    async with Workers(1) as workers, anyio.create_task_group() as tasks:
        tasks.start_soon(workers.run, slow)
        await slow.wait_started()
        workers.close()
        slow.go_on.set()
        with pytest.raises(WorkRejected):
            await workers.run(lambda: None)
    assert slow.is_done


async def test_work_of_cancelled_asyncio_task_is_awaited() -> None:
    slow, late = Slow(), Slow()
    async with Workers(1) as workers:
        task = asyncio.create_task(workers.run(slow))
        await slow.wait_started()
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
