"""Threads for what may wait for the disk."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeVar

import anyio
import anyio.to_thread
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


class Workers:
    """Up to `size` threads: `async with Workers(8) as workers: ...`. The end waits for what was begun."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._limiter = anyio.CapacityLimiter(size)
        self._running = threading.Semaphore(size)
        self._is_closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._wait)

    def close(self) -> None:
        """Begin nothing more; what runs ends. From then on `run` raises NotBegun."""
        self._is_closed = True

    async def run(self, work: Callable[[], T]) -> T:
        """Do work in a thread and return its result, or raise what it raises, or NotBegun.

        Once begun it runs to its end, and so does the wait for it, even if the caller is cancelled.
        """

        def begin() -> T:
            with self._running:
                if self._is_closed:
                    raise NotBegun
                return work()

        return await anyio.to_thread.run_sync(begin, limiter=self._limiter)

    def _wait(self) -> None:
        # Uvicorn cancels tasks of asyncio, which anyio cannot shield: then nobody waits for their threads.
        for _ in range(self._size):
            self._running.acquire()
        self._running.release(self._size)
