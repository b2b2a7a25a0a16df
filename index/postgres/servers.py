"""The servers that a URL names, and connections to the first of them that fits.

The driver tries servers one after the other, each time from the first one, so a machine that answers nothing
would delay each connection. Here it delays only one: then it is tried in the background, until it answers.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

CONNECT_TIMEOUT_S = 3
SILENCE_S = 5.0
"""Seconds of a request after which its server is asked for another connection."""

_PROBE_COUNT = 2
_DEFAULT_PORT = 5432

_CONNECT_OPTIONS: dict[str, Any] = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    # A network that drops all packets would otherwise hold threads for a quarter of an hour.
    "tcp_user_timeout": 10_000,  # milliseconds
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "fallback_application_name": "docyard",
}


# By host and port, for all URLs of this process: that for reads may name the same servers.
_silent_servers: set[tuple[str, int]] = set()


@dataclass(slots=True)
class _Server:
    """A server of a URL, with the parameters of the driver."""

    parameters: dict[str, Any]
    is_probed: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """Its host and port."""
        host = self.parameters.get("host") or self.parameters.get("hostaddr") or ""
        return str(host), int(self.parameters.get("port") or _DEFAULT_PORT)


class Servers:
    """The servers of a URL that `psycopg` accepts. Safe to use from threads."""

    def __init__(self, url: str) -> None:
        import psycopg

        parameters = psycopg.conninfo.conninfo_to_dict(url, **_CONNECT_OPTIONS)
        target = parameters.pop("target_session_attrs", "any")
        # The driver prefers a replica only among the servers of one call.
        self._targets = ("standby", "any") if target == "prefer-standby" else (str(target),)
        self._servers = [_Server(values) for values in _split(parameters)]
        self._lock = threading.Lock()

    def connect(self) -> Connection:
        """Return a connection to the first server that is of the kind that the URL asks for.

        Raises psycopg.OperationalError.
        """
        import psycopg

        failure = psycopg.OperationalError("no server answers")
        for target in self._targets:
            for server in self._servers:
                if server.key in _silent_servers:
                    self._probe_in_background(server)
                    continue
                try:
                    return _connect(server, target)
                except psycopg.OperationalError as error:
                    failure = error
        raise failure

    def _probe_in_background(self, server: _Server) -> None:
        with self._lock:
            if server.is_probed:
                return
            server.is_probed = True
        threading.Thread(target=_probe, args=(server,), name="docyard-postgres", daemon=True).start()


def _split(parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parameters of each server: libpq allows lists of hosts, addresses and ports."""
    lists: dict[str, list[str]] = {
        name: str(parameters[name]).split(",") for name in ("host", "hostaddr", "port") if name in parameters
    }
    count = max((len(values) for values in lists.values()), default=1)
    for number in range(count):
        server = dict(parameters)
        for name, values in lists.items():
            server[name] = values[number if len(values) > 1 else 0]
        yield server


def _connect(server: _Server, target: str) -> Connection:
    import psycopg

    try:
        # A pooler between node and server may not know the statements that were prepared.
        connection: Connection = psycopg.connect(
            **server.parameters, target_session_attrs=target, autocommit=True, prepare_threshold=None
        )
    except psycopg.errors.ConnectionTimeout:
        _silent_servers.add(server.key)
        raise
    except psycopg.OperationalError:
        _silent_servers.discard(server.key)
        raise
    _silent_servers.discard(server.key)
    return connection


def _probe(server: _Server) -> None:
    """Connect to a silent server, to see if it answers."""
    import psycopg

    try:
        _connect(server, "any").close()
    except psycopg.OperationalError:  # it stays silent, or answers now
        pass
    finally:
        server.is_probed = False


class RequestWatch:
    """A context that ends a request if its server does not answer any more.

    The system of a frozen machine still acknowledges packets, so no timeout of TCP ends a request to it. A
    request may last long, so after each SILENCE_S another connection is made: a server that works accepts it.
    If it does not, also not the second time, because it may be slow, the connection of the request is closed,
    and the request raises OperationalError.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._is_over = False
        self._start_timer()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._is_over = True
            self._timer.cancel()

    def _start_timer(self) -> None:
        self._timer = threading.Timer(SILENCE_S, self._check)
        self._timer.daemon = True
        self._timer.start()

    def _check(self) -> None:
        is_silent = all(_is_silent(self._connection) for _ in range(_PROBE_COUNT))
        with self._lock:
            if self._is_over:
                return
            if not is_silent:
                self._start_timer()
                return
            _silent_servers.add(_find_key(self._connection))
            # The thread that waits for the answer reads the end of the connection.
            with socket.socket(fileno=os.dup(self._connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)


def is_known_silent(connection: Connection) -> bool:
    """Return True if the server of a connection has not answered lately."""
    return bool(_silent_servers) and _find_key(connection) in _silent_servers


def _find_key(connection: Connection) -> tuple[str, int]:
    return connection.info.host, connection.info.port


def _is_silent(connection: Connection) -> bool:
    """Return True if the server of a connection accepts no other one in time."""
    import psycopg

    info = connection.info
    values = {**info.get_parameters(), **_CONNECT_OPTIONS, "target_session_attrs": "any"}
    try:
        psycopg.connect(**values, password=info.password).close()
    except psycopg.errors.ConnectionTimeout:
        return True
    except psycopg.OperationalError:  # it answers: it may have no free connections
        return False
    return False
