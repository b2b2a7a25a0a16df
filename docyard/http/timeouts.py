"""Request timeouts and a connection cap (slow-loris protection).

A client that only connects, or sends a request byte by byte, would otherwise hold a connection for ever: this
needs no token, and a process has few open files. A response that has begun is never cut off here.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 600  # connections: most systems give a process a thousand open files
BACKLOG = 100  # those that the system keeps ready, and that are taken at once


class TimeoutH11Protocol(H11Protocol):
    """One connection, with a timeout for each part of a request.

    Beyond `most` connections, the connection idle the longest is closed.
    """

    head = 20.0  # seconds for what stands before a body
    body = 120.0  # seconds for a body: 4 MiB by a slow line
    rest = 5.0  # seconds for what is still sent of a body after its answer
    most = MAX_CONNECTIONS

    _state: object = None
    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._make_room()
        self._look()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._wait(self.rest)

    @property
    def is_there(self) -> bool:
        """Return True if the connection is open."""
        return not self.transport.is_closing()

    @property
    def is_idle(self) -> bool:
        """Return True if the connection has no running request: it is incomplete, or answered."""
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered or self.conn.their_state is h11.SEND_BODY

    def _look(self) -> None:
        """Check what the client still has to send. More bytes of the same part do not extend its time."""
        state = self.conn.their_state
        is_whole = state not in (h11.IDLE, h11.SEND_BODY)
        if is_whole:
            self._since = self.loop.time()
        if state is not self._state:
            self._state = state
            if is_whole:
                self._stop()
            else:
                self._wait(self.head if state is h11.IDLE else self.body)

    def _wait(self, seconds: float) -> None:
        self._stop()
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _make_room(self) -> None:
        if len(self.connections) <= self.most:
            return
        there = [each for each in self.connections if isinstance(each, TimeoutH11Protocol) and each.is_there]
        idle = [each for each in there if each is not self and each.is_idle]
        if len(there) > self.most and idle:
            min(idle, key=lambda each: each._since).transport.abort()
