"""A database of SQLite or PostgreSQL: transactions, and errors that say what the operator can do.

SQLite is opened with WAL, so that readers and one writer work at the same time, with foreign keys, and with
transactions that take the writer's lock at their first statement.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, InterfaceError, NoSuchModuleError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from docyard.database.errors import CannotCopyDatabase, DatabaseUnavailable, InvalidDatabaseURL

BUSY_TIMEOUT_S = 5.0
"""The time for which a writer of SQLite waits for another, and a caller for a free connection."""

_POSTGRES_TIMEOUTS = {
    "connect_timeout": 3,
    # A network that drops all packets would otherwise hold threads for a quarter of an hour.
    "tcp_user_timeout": 10_000,  # milliseconds
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
}
_POOL_SIZE = 5


class Database:
    """A database. Safe to use from threads; a process that is forked must open its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def is_sqlite(self) -> bool:
        """Return True for SQLite."""
        return self._engine.dialect.name == "sqlite"

    @property
    def exists(self) -> bool:
        """Return False for SQLite without a file, which the first connection creates."""
        return not self.is_sqlite or Path(self._engine.url.database or "").exists()

    def check_writable(self) -> None:
        """Raise DatabaseUnavailable if the file of SQLite, or its folder, cannot be written.

        SQLite creates further files in the folder. Nothing is checked for PostgreSQL.
        """
        if not self.is_sqlite or self._engine.url.database in (None, "", ":memory:"):
            return
        file = Path(self._engine.url.database or "")
        for path, purpose in ((file.parent, "its folder"), (file, "its file")):
            if (path == file.parent or path.exists()) and not os.access(path, os.W_OK):
                reason = "cannot be written" if path.exists() else "does not exist"
                raise DatabaseUnavailable(
                    "read-only",
                    f"the database cannot be used: {purpose} {path} {reason}",
                    f"Let the user of the server write to {path}, or correct its URL.",
                )

    @property
    def description(self) -> str:
        """The URL without its password, for messages to the operator."""
        return self._engine.url.render_as_string(hide_password=True)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that the end of the block commits.

        Raises DatabaseUnavailable. Errors of constraints stay those of SQLAlchemy.
        """
        with translate_errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """Yield a connection for reading. Raises DatabaseUnavailable."""
        with translate_errors(), self._engine.connect() as connection:
            yield connection

    def copy_to(self, file: Path) -> None:
        """Write a consistent copy of SQLite to a file, while others read and write the database.

        Raises CannotCopyDatabase for PostgreSQL and for a file that exists, DatabaseUnavailable.
        """
        if not self.is_sqlite:
            raise CannotCopyDatabase(
                "PostgreSQL has its own program for backups",
                fix="Run `pg_dump --format=custom --file=FILE URL`.",
            )
        try:
            file.touch(mode=0o600, exist_ok=False)
        except OSError as error:
            raise CannotCopyDatabase(
                f"the copy cannot be written ({error.strerror})", fix="Name a new file in a writable folder."
            ) from None
        try:
            with self.connect() as connection:
                connection.exec_driver_sql("COMMIT")  # SQLite refuses the copy in a transaction
                connection.exec_driver_sql("VACUUM INTO ?", (str(file),))
        except DatabaseUnavailable:
            file.unlink()
            raise

    def execute_alone(self, statement: str) -> None:
        """Execute a statement outside a transaction, such as VACUUM. Raises DatabaseUnavailable."""
        options = {} if self.is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        with translate_errors(), self._engine.connect().execution_options(**options) as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("ROLLBACK")
            connection.exec_driver_sql(statement)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def open_database(url: str, folder: Path) -> Database:
    """Return the database at a URL, such as `sqlite:///server.sqlite` or `postgresql://host/name`.

    A relative path of SQLite is one in `folder`. No connection is made yet. Raises InvalidDatabaseURL.
    """
    parsed_url = _parse_url(url, folder)
    try:
        if parsed_url.get_backend_name() == "sqlite":
            return Database(_create_sqlite_engine(parsed_url))
        return Database(
            create_engine(
                parsed_url,
                pool_size=_POOL_SIZE,
                pool_timeout=BUSY_TIMEOUT_S,
                pool_pre_ping=True,
                connect_args=_POSTGRES_TIMEOUTS,
            )
        )
    except ModuleNotFoundError as error:
        raise InvalidDatabaseURL(
            f"the driver of the database is not installed ({error.name})",
            fix="Install it with `pip install 'docyard[postgres]'`.",
        ) from None


def _parse_url(url: str, folder: Path) -> URL:
    try:
        parsed_url = make_url(url)
        backend = parsed_url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):  # the URL may contain a password
        backend = ""
    if backend not in ("sqlite", "postgresql"):
        raise InvalidDatabaseURL(
            "the URL of the database must begin with sqlite:/// or postgresql://",
            fix="Write sqlite:///server.sqlite, or postgresql://USER@HOST/NAME.",
        )
    if backend == "postgresql":
        return parsed_url.set(drivername="postgresql+psycopg")
    if not parsed_url.database or parsed_url.database == ":memory:":
        raise InvalidDatabaseURL(
            "the URL of the database names no file", fix="Write sqlite:///server.sqlite."
        )
    return parsed_url.set(database=str(folder / Path(parsed_url.database).expanduser()))


def _create_sqlite_engine(url: URL) -> Engine:
    engine = create_engine(
        url,
        pool_size=_POOL_SIZE,
        pool_timeout=BUSY_TIMEOUT_S,
        connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
    )

    @event.listens_for(engine, "do_connect")
    def create_private_file(*arguments: object) -> None:
        # The database has hashes of tokens, and records. SQLite gives its other files the same mode.
        with suppress(OSError):  # it exists, or SQLite reports the error
            Path(url.database or "").touch(mode=0o600, exist_ok=False)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: object) -> None:
        # SQLAlchemy begins the transactions; the driver would begin them at the first write only.
        connection.isolation_level = None
        for pragma in ("foreign_keys=ON", "journal_mode=WAL", "synchronous=NORMAL"):
            connection.execute(f"PRAGMA {pragma}")
        # SQLite's own function lowers ASCII letters alone.
        connection.create_function("lower", 1, _lower, deterministic=True)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise DatabaseUnavailable for an error that the state of the database causes."""
    try:
        yield
    except PoolTimeout as error:
        raise DatabaseUnavailable(
            "locked", "all connections to the database are in use", "Try again in a moment."
        ) from error
    except DBAPIError as error:
        code = _read_error_code(error)
        if (
            isinstance(error, OperationalError | InterfaceError)
            or code.startswith(_DAMAGE_CODES)
            or code == _UNDEFINED_TABLE
        ):
            raise _describe_failure(error, code) from error
        raise


_DAMAGE_CODES = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
_UNDEFINED_TABLE = "42P01"  # of PostgreSQL


def _read_error_code(error: DBAPIError) -> str:
    """Return the name of SQLite's result code, or the SQLSTATE of PostgreSQL; empty if there is none."""
    return getattr(error.orig, "sqlite_errorname", "") or getattr(error.orig, "sqlstate", None) or ""


def _describe_failure(error: DBAPIError, code: str) -> DatabaseUnavailable:
    """Return the error for a failure of the driver."""
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) or code in ("55P03", "40P01"):
        return DatabaseUnavailable(
            "locked", "the database is locked by another process", "Try again in a moment."
        )
    if code.startswith("SQLITE_FULL") or code in ("53100", "53200"):
        return DatabaseUnavailable(
            "full", "the disk of the database is full", "Free space on the disk of the database."
        )
    if code.startswith("SQLITE_READONLY") or code == "25006":
        return DatabaseUnavailable(
            "read-only", "the database is read-only", "Make the database and its folder writable."
        )
    if code.startswith(_DAMAGE_CODES):
        return DatabaseUnavailable(
            "damaged", "the file of the database is damaged", "Restore the database from its backup."
        )
    # The server has started before its database, and creates or checks the tables when it first reads them.
    if code == _UNDEFINED_TABLE or (code == "SQLITE_ERROR" and "no such table" in str(error.orig)):
        return DatabaseUnavailable(
            "schema",
            "the database lacks the tables of this version",
            "Try again in a moment; the log of the server has the details.",
        )
    if code.startswith("SQLITE_CANTOPEN"):
        return DatabaseUnavailable(
            "down",
            "the database cannot be reached (its file cannot be opened)",
            "Let the user of the server write to its file and folder; `docyard config check` names the path.",
        )
    # PostgreSQL's texts name hosts and users.
    reason = f" ({error.orig})" if code.startswith("SQLITE") else ""
    return DatabaseUnavailable(
        "down", f"the database cannot be reached{reason}", "Start the database, or correct its URL."
    )
