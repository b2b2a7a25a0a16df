"""Threads for what may wait for the disk, with as little as possible between the event loop and the work.

A call that is answered in half a millisecond would spend a good part of it on the way through anyio's worker
threads; here the way there and back is one queue and one callback.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Generic, NamedTuple, Self, TypeVar

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

T = TypeVar("T")


class NotBegun(MCPError):
    """The work was not begun, since the server is stopping. It is the answer to a request that needed it."""

    def __init__(self) -> None:
        super().__init__(
            code=CONNECTION_CLOSED,
            message="The server is stopping and did not begin this request. Send it again after a restart.",
        )


class _Job(NamedTuple, Generic[T]):
    work: Callable[[], T]
    outcome: asyncio.Future[T]


class Workers:
    """Up to `size` threads, each started when it is needed: `with Workers(8) as workers: ...`.

    It belongs to one event loop. At its end it waits for what was begun.
    """

    def __init__(self, size: int) -> None:
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._size = size
        self._busy = 0
        self._is_closed = False
        self._free = anyio.Semaphore(size, fast_acquire=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs in any of the threads."""
        return not self._busy

    def close(self) -> None:
        """Begin nothing more; what runs ends. From then on `run` raises NotBegun."""
        self._is_closed = True

    async def run(self, work: Callable[[], T]) -> T:
        """Do work in a thread and give what it gives, or raise what it raises, or NotBegun.

        Once begun it runs to its end, and so does the wait for it, even if who waits is cancelled.
        """
        loop = asyncio.get_running_loop()
        async with self._free:
            if self._is_closed:
                raise NotBegun
            if self._busy == len(self._threads):
                self._start(loop)
            self._busy += 1
            outcome: asyncio.Future[T] = loop.create_future()
            self._jobs.put(_Job(work, outcome))
            try:
                with anyio.CancelScope(shield=True):
                    result = await outcome
            finally:
                self._busy -= 1
            return result

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        name = f"docyard worker {len(self._threads) + 1}"
        thread = threading.Thread(target=self._serve, args=(loop,), name=name)
        self._threads.append(thread)
        thread.start()

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        while (job := self._jobs.get()) is not None:
            settle = partial(_settle, job.outcome, *_done(job.work))
            with suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(settle)
            del job, settle  # what a call held is not held until the next one


def _done(work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    try:
        return work(), None
    except BaseException as error:
        return None, error


def _settle(outcome: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
    if outcome.cancelled():
        return
    if error is None:
        outcome.set_result(result)
    else:
        outcome.set_exception(error)
