"""The errors and the time limit of a delivery."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol

from docyard.notifications.content import NotificationContent


class SendLimits(NamedTuple):
    """The limits of one delivery: each wait for the other server, and all of them together, in seconds."""

    wait_s: float = 10.0
    total_s: float = 30.0


class DeliveryFailed(Exception):
    """A delivery failed. The reason names neither secrets nor addresses.

    With `is_final` another attempt would fail as well.
    """

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_final = is_final


class Sender(Protocol):
    """A way of delivery."""

    @property
    def channel(self) -> str:
        """The name of the way, in the queue."""

    def send(self, id: str, recipient: str, content: NotificationContent) -> None:
        """Deliver a notification, which has the same id in each attempt. Raises DeliveryFailed."""


class Connection(Protocol):
    """A connection of a library, whose socket is None before it is connected."""

    sock: Any


class Watchdog:
    """A timer that shuts down a connection."""

    def __init__(self, seconds: float) -> None:
        self._connection: Connection | None = None
        self._timer = threading.Timer(seconds, self._shut_down)
        self._timer.daemon = True
        self._has_expired = False

    def check(self) -> None:
        """Raise TimeoutError if the time is over: then a response may be the part of one."""
        if self._has_expired:
            raise TimeoutError

    def watch(self, connection: Connection) -> None:
        """Set the connection that is shut down at the end of the time."""
        self._connection = connection

    def start(self) -> None:
        """Start the timer."""
        self._timer.start()

    def stop(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _shut_down(self) -> None:
        self._has_expired = True
        connected_socket = None if self._connection is None else self._connection.sock
        if connected_socket is not None:
            with suppress(OSError):
                connected_socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def limit_time(seconds: float) -> Iterator[Watchdog]:
    """Yield a watchdog for a block: a server that sends single bytes never exceeds the limit of one wait."""
    watchdog = Watchdog(seconds)
    watchdog.start()
    try:
        yield watchdog
    finally:
        watchdog.stop()


def describe_failure(error: Exception) -> str:
    """Return the reason of a failed connection. A library's own text may contain addresses."""
    match error:
        case ssl.SSLCertVerificationError():
            return "its certificate is invalid"
        case ssl.SSLError():
            return "no encrypted connection"
        case TimeoutError():
            return "no response in time"
        case socket.gaierror():
            return "the name of its host is unknown"
        case ConnectionRefusedError():
            return "it refuses connections"
        case OSError():
            return "no connection, or it ended too early"
        case _:
            return "an invalid response"
