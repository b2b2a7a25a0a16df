"""Running the application until a signal asks to stop, on sockets that listen already."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable
from types import FrameType

import anyio
import uvicorn

from docyard.http.stopping import Stopping
from docyard.http.timeouts import BACKLOG, MOST, Waiting

_GRACE = 20  # seconds for what writes; nothing else is waited for
_LOOK = 0.1  # seconds between two looks at who is still connected
_KEPT = 15  # seconds in which a connection waits for its next request
_HEADERS = 32_768  # bytes of a request before its body


class _Server(uvicorn.Server):
    """Uvicorn, which says when it listens, and whose end by a signal is a usual one."""

    def __init__(self, config: uvicorn.Config, stopping: Stopping, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping.begin()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._finish)
            await super().shutdown(sockets)
            tasks.cancel_scope.cancel()

    async def _finish(self) -> None:
        await self._stopping.finish()
        while True:  # who does not read the answer is not waited for
            await anyio.sleep(_LOOK)
            for each in [*self.server_state.connections]:
                if isinstance(each, Waiting) and each.is_idle:
                    each.transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Uvicorn would raise the signal again at the end, past everything that is still to be closed.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self._stopping.expect()
        self.should_exit = True


def run(app: Stopping, sockets: list[socket.socket], started: Callable[[], object]) -> None:
    """Answer requests until SIGTERM or SIGINT; `started` is called as soon as connections are accepted."""
    # Whoever sends what is no HTTP could fill a log with warnings.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=Waiting,
        backlog=BACKLOG,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # What a proxy says is read where it is needed, and only if a proxy's name is admitted.
        proxy_headers=False,
        limit_concurrency=MOST + BACKLOG,
        timeout_keep_alive=_KEPT,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_HEADERS,
    )
    _Server(config, app, started).run(sockets)
