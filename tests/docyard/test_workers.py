"""Workers: what is given to them is done, to its end, and not too much at a time."""

from __future__ import annotations

import threading

import anyio
import pytest

from docyard.protocol.workers import Workers

pytestmark = pytest.mark.anyio


async def test_work_is_done_in_another_thread_and_its_result_given() -> None:
    with Workers(2) as workers:
        assert await workers.run(threading.get_ident) != threading.get_ident()
        assert await workers.run(lambda: "done") == "done"


async def test_what_it_raises_is_raised() -> None:
    def fail() -> None:
        raise KeyError("no such thing")

    with Workers(1) as workers:
        with pytest.raises(KeyError, match="no such thing"):
            await workers.run(fail)
        assert await workers.run(lambda: 1) == 1


async def test_a_thread_is_used_again() -> None:
    with Workers(8) as workers:
        used = {await workers.run(threading.get_ident) for _ in range(20)}
    assert len(used) == 1


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

    with Workers(2) as workers:
        async with anyio.create_task_group() as tasks:
            for _ in range(6):
                tasks.start_soon(workers.run, work)
    assert most == 2


async def test_what_was_begun_is_finished_and_what_was_not_never_begins() -> None:
    begun, go_on, done = threading.Event(), threading.Event(), []

    def slow() -> None:
        begun.set()
        go_on.wait(60)
        done.append("slow")

    with Workers(1) as workers:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workers.run, slow)
            tasks.start_soon(workers.run, lambda: done.append("late"))
            while not begun.is_set():
                await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()
            go_on.set()
        assert done == ["slow"]
    assert done == ["slow"]


async def test_its_threads_end_with_it() -> None:
    with Workers(1) as workers:
        thread = await workers.run(threading.current_thread)
        assert thread.is_alive()
    assert not thread.is_alive()
