"""Request timeouts and a connection cap (slow-loris protection), and strict line ends of headers.

Without timeouts, a client that only connects, or sends a request byte by byte, would keep a connection open
for ever. Such a client needs no token, and a process can open few files. A response that has begun is
interrupted only if the client does not read it, or has vanished. Its stream of events then ends.

h11 accepts a line that ends without CR, and a folded one. A proxy may read such lines as part of another one,
so that a request could hide in a request.
"""

from __future__ import annotations

import asyncio
import re
import socket
from contextlib import suppress
from heapq import nsmallest

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 600  # most systems limit a process to about a thousand open files
BACKLOG = 100  # connections that the system queues
_CLOSED_SHARE = 20  # one of so many connections is closed at once if there are too many
_KEEPALIVE_OPTIONS = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"""The seconds and the count of the probes that find a vanished client, by their names in `socket`."""

_HEAD_END = b"\r\n\r\n"
_BARE_LINE_END = re.compile(rb"(?<!\r)\n")
_FOLDED_LINE = re.compile(rb"\r\n[ \t]")
_REFUSAL = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 45\r\n"
    b"Connection: close\r\n\r\nEach header must be one line, ended by CR LF\n"
)


class TimeoutH11Protocol(H11Protocol):
    """One connection, with a timeout for each part of a request.

    Beyond `max_connections`, those that are idle the longest are closed.
    """

    header_timeout_s = 20.0
    body_timeout_s = 120.0  # 4 MiB over a slow connection
    drain_timeout_s = 5.0  # after the response, the client must send the rest of the body within this time
    read_timeout_s = 30.0  # in which the client must read most of 64 KiB that wait
    max_connections = MAX_CONNECTIONS

    _state: object = None
    _timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _idle_since = 0.0
    _head_part = b""  # the last bytes of an incomplete head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        _enable_keepalive(transport)
        self._close_excess_connections()
        self._update_timer()

    def data_received(self, data: bytes) -> None:
        if self.conn.their_state is h11.IDLE and self._refuse_head(data):
            return
        super().data_received(data)
        self._update_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        # `close` would wait for the client to read.
        self._write_timer = self.loop.call_later(self.read_timeout_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._cancel_write_timer()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        self._cancel_write_timer()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        if self._refuse_head(self.conn.trailing_data[0]):  # the next request has arrived already
            return
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self._start_timer(self.drain_timeout_s)

    @property
    def is_open(self) -> bool:
        """Return True if the connection is open."""
        return not self.transport.is_closing()

    @property
    def is_idle(self) -> bool:
        """Return True if no request is running: the request is incomplete, or the response is sent."""
        has_no_response_pending = self.cycle is None or self.cycle.response_complete
        return has_no_response_pending or self.conn.their_state is h11.SEND_BODY

    def _update_timer(self) -> None:
        """Start the timer when another part of the request begins. Further bytes do not restart the timer."""
        state = self.conn.their_state
        is_complete = state not in (h11.IDLE, h11.SEND_BODY)
        if is_complete:
            self._idle_since = self.loop.time()
        if state is not self._state:
            self._state = state
            if is_complete:
                self._cancel_timer()
            else:
                self._start_timer(self.header_timeout_s if state is h11.IDLE else self.body_timeout_s)

    def _start_timer(self, seconds: float) -> None:
        self._cancel_timer()
        self._timer = self.loop.call_later(seconds, self.transport.close)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse_head(self, data: bytes) -> bool:
        """Close the connection and return True if the next part of a head has a folded or bare line."""
        part = self._head_part + data
        end = part.find(_HEAD_END)
        head = part if end < 0 else part[:end]
        if _BARE_LINE_END.search(head) or _FOLDED_LINE.search(head):
            self.transport.write(_REFUSAL)
            self.transport.close()
            return True
        # A line end that has lost its CR here would look bare.
        self._head_part = head[1 - len(_HEAD_END) :].lstrip(b"\n") if end < 0 else b""
        return False

    def _cancel_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _close_excess_connections(self) -> None:
        """Close the connections that are idle the longest if there are too many."""
        if len(self.connections) <= self.max_connections:
            return
        open_connections = [
            connection
            for connection in self.connections
            if isinstance(connection, TimeoutH11Protocol) and connection.is_open
        ]
        if len(open_connections) <= self.max_connections:
            return
        idle_connections = [
            connection for connection in open_connections if connection is not self and connection.is_idle
        ]
        # Several at once, because many new connections would each search all others.
        count = 1 + self.max_connections // _CLOSED_SHARE
        for connection in nsmallest(count, idle_connections, key=lambda connection: connection._idle_since):
            connection.transport.abort()


def _enable_keepalive(transport: asyncio.Transport) -> None:
    """Have the system close the connection of a client that has vanished, also if nothing is sent."""
    connection = transport.get_extra_info("socket")
    if connection is None:
        return
    with suppress(OSError):  # the client has disconnected already
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE_OPTIONS.items():
            if hasattr(socket, name):  # each system has its own options
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
