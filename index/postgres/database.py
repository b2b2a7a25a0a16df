"""Connections to a PostgreSQL server, and errors that say what the operator can do."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from index.port import EngineUnavailable
from index.postgres.servers import RequestWatch, Servers, is_known_silent
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[tuple[Any, ...]]

RETRY_AFTER_S = 1.0
"""Seconds after a failed connection in which no other is tried, so that searches do not wait for each."""

_MAX_IDLE_CONNECTIONS = 4
T = TypeVar("T")


class InvalidEngine(WorkspaceError):
    """The URL of the engine's database cannot be used, or its driver is missing."""

    code: ClassVar[str] = "INVALID_ENGINE"


class Database:
    """The connections to the servers of a URL. Safe to use from threads, and after a fork.

    No connection is made before the first use. Raises InvalidEngine.
    """

    def __init__(self, url: str) -> None:
        _check_url(url)
        self._url = url
        self._servers = Servers(url)
        self._lock = threading.Lock()
        self._idle_connections: list[Connection] = []
        self._process_id = os.getpid()
        self._failure: EngineUnavailable | None = None
        self._retry_time = 0.0

    def run(self, work: Callable[[Connection], T]) -> T:
        """Call `work` with a connection, on which each statement outside a transaction is committed.

        If the server has closed an idle connection, or accepts no writes any more, the work is repeated with
        a new one. Raises EngineUnavailable.
        """
        with _translate_errors():
            while True:
                connection = self._take_idle()
                is_new = connection is None
                if connection is None:
                    connection = self._connect()
                try:
                    with RequestWatch(connection):
                        return work(connection)
                except _driver().errors.ReadOnlySqlTransaction:
                    # Behind a pooler, a connection stays when its server becomes a replica.
                    if is_new:
                        raise
                    connection.close()
                    self.close()
                except _driver().OperationalError:
                    if is_new or not connection.broken:
                        raise
                    self.close()  # the server has closed the others too, or each would be waited for
                finally:
                    self._give_back(connection)

    def close(self) -> None:
        """Close the idle connections; the next use makes new ones."""
        with self._lock:
            connections, self._idle_connections = self._idle_connections, []
        for connection in connections:
            connection.close()

    def _take_idle(self) -> Connection | None:
        with self._lock:
            if self._process_id != os.getpid():
                # They belong to the parent process, which still uses them.
                self._process_id, self._idle_connections = os.getpid(), []
                self._servers = Servers(self._url)
            idle_connections, self._idle_connections = self._idle_connections, []
            for connection in idle_connections:
                if connection.broken or is_known_silent(connection):
                    connection.close()
                else:
                    self._idle_connections.append(connection)
            return self._idle_connections.pop() if self._idle_connections else None

    def _give_back(self, connection: Connection) -> None:
        is_idle = connection.info.transaction_status == _driver().pq.TransactionStatus.IDLE
        with self._lock:
            if is_idle and len(self._idle_connections) < _MAX_IDLE_CONNECTIONS:
                self._idle_connections.append(connection)
                return
        connection.close()

    def _connect(self) -> Connection:
        if self._failure is not None and time.monotonic() < self._retry_time:
            raise self._failure
        try:
            with _translate_errors():
                connection = self._servers.connect()
        except EngineUnavailable as error:
            self._failure, self._retry_time = error, time.monotonic() + RETRY_AFTER_S
            raise
        self._failure = None
        return connection


def _driver() -> Any:
    """Return the module `psycopg`, which is imported at its first use. Raises InvalidEngine."""
    try:
        import psycopg
    except ImportError:
        raise InvalidEngine(
            "the driver of PostgreSQL is not installed (psycopg)",
            fix="Install it with `pip install 'docyard[postgres]'`.",
        ) from None
    return psycopg


def _check_url(url: str) -> None:
    """Raise InvalidEngine if a URL is invalid, without any of its text: it may contain a password."""
    is_valid = url.startswith(("postgresql://", "postgres://"))
    if is_valid:
        try:
            _driver().conninfo.conninfo_to_dict(url)
        except _driver().ProgrammingError:
            is_valid = False
    if not is_valid:
        raise InvalidEngine(
            "the URL of the engine's database must be one of PostgreSQL",
            fix="Write postgresql://USER@HOST/NAME.",
        )


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate the errors that the state of the server causes to EngineUnavailable."""
    try:
        yield
    except _driver().Error as error:
        failure = _describe_failure(error)
        if failure is None:
            raise
        raise failure from error


def _describe_failure(error: psycopg.Error) -> EngineUnavailable | None:
    """Return the error for a failure of the server; None if the statement is wrong."""
    code = error.sqlstate or ""
    if code in ("53100", "53200"):
        return EngineUnavailable("the disk of the engine's database is full", fix="Free space on that disk.")
    if code == "25006":
        return EngineUnavailable(
            "the engine's database is read-only",
            fix="Name the primary server in the URL, and the replica in the URL for reads.",
        )
    if code in ("55P03", "25P03"):  # lock_timeout, idle_in_transaction_session_timeout
        return EngineUnavailable(
            "a transaction in the engine's database waits for too long",
            fix="Repeat the call. If this lasts, end the transaction that holds the lock (pg_stat_activity).",
        )
    if code in ("42501", "3F000"):
        return build_missing_right()
    driver = _driver()
    if isinstance(error, driver.OperationalError | driver.InterfaceError):
        # The driver's texts name hosts and users.
        return EngineUnavailable(
            "the engine's database cannot be reached",
            fix="Start the database, or correct its URL, or the password for it "
            "(~/.pgpass, PGPASSFILE or PGPASSWORD).",
        )
    return None


def build_missing_right() -> EngineUnavailable:
    """Return the error for a user who may not create tables, or not change those that exist."""
    return EngineUnavailable(
        "the user of the engine's database may not create or change its tables",
        fix="Grant this user CREATE on the schema: `GRANT CREATE ON SCHEMA public TO …`. If the user has "
        "it, `docyard doctor` names the tables that the user may not read or change.",
    )
