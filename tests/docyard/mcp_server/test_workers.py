"""Workers: running work finishes, and the number of concurrent tasks is bounded."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from docyard.mcp_server.calls import Workers, WorkRejected

pytestmark = pytest.mark.anyio


async def test_concurrent_work_is_limited_to_worker_count() -> None:
    lock, running_count, max_running_count = threading.Lock(), 0, 0
    barrier = threading.Barrier(2, timeout=60)

    def work() -> None:
        nonlocal running_count, max_running_count
        with lock:
            running_count += 1
            max_running_count = max(max_running_count, running_count)
        barrier.wait()
        with lock:
            running_count -= 1

    async with Workers(2) as workers, anyio.create_task_group() as tasks:
        for _ in range(6):
            tasks.start_soon(workers.run, work)
    assert max_running_count == 2


class BlockingWork:
    """Work that waits for `finish_event`."""

    def __init__(self) -> None:
        self.start_event, self.finish_event, self.is_done = threading.Event(), threading.Event(), False

    def __call__(self) -> None:
        self.start_event.set()
        self.finish_event.wait(60)
        self.is_done = True

    async def wait_until_started(self) -> None:
        while not self.start_event.is_set():
            await anyio.sleep(0.001)


async def test_started_work_finishes_and_waiting_work_never_starts() -> None:
    first_work, second_work = BlockingWork(), BlockingWork()
    async with Workers(1) as workers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workers.run, first_work)
            tasks.start_soon(workers.run, second_work)
            await first_work.wait_until_started()
            tasks.cancel_scope.cancel()
            first_work.finish_event.set()
        assert first_work.is_done
    assert not second_work.start_event.is_set()


async def test_waiting_work_is_rejected_on_close() -> None:
    first_work = BlockingWork()
    async with Workers(1) as workers, anyio.create_task_group() as tasks:
        tasks.start_soon(workers.run, first_work)
        await first_work.wait_until_started()
        workers.close()
        first_work.finish_event.set()
        with pytest.raises(WorkRejected):
            await workers.run(lambda: None)
    assert first_work.is_done


async def test_work_of_cancelled_asyncio_task_is_awaited() -> None:
    first_work, second_work = BlockingWork(), BlockingWork()
    async with Workers(1) as workers:
        task = asyncio.create_task(workers.run(first_work))
        await first_work.wait_until_started()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        waiting_task = asyncio.create_task(workers.run(second_work))  # the limiter starts it in a thread
        await anyio.sleep(0.01)
        threading.Timer(0.05, first_work.finish_event.set).start()
        workers.close()
    assert first_work.is_done
    with pytest.raises(WorkRejected):
        await waiting_task
    assert not second_work.start_event.is_set()
