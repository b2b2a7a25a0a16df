"""SQLite databases of an index. This is the only module that imports `sqlite3`.

Files are opened so that SQLite executes nothing in them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index.storage.files import IndexUnwritable, remove_entries
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged

_TRANSACTION_TIMEOUT_S = 5.0
"""Seconds to wait for another process's transaction."""

_BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

_UNWRITABLE_CODES = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
    | {sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM}
)


_PRAGMAS = ("trusted_schema=OFF", "journal_mode=WAL", "synchronous=OFF", "mmap_size=0")


def connect(file: Path | None, *, read_only: bool = False) -> sqlite3.Connection:
    """Open a database in a file, created if needed, or in memory.

    Each statement outside a transaction is committed immediately. A file that is opened read-only must not
    change while it is open.
    """
    name = ":memory:" if file is None else str(file)
    if read_only and file is not None:
        name = f"{file.absolute().as_uri()}?mode=ro&immutable=1"
    with translate_sqlite_errors():
        connection = sqlite3.connect(
            name,
            uri=read_only,
            timeout=_TRANSACTION_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            for pragma in _PRAGMAS[:1] if read_only else _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
    return connection


def remove_database(file: Path) -> None:
    """Remove a database and SQLite's own files beside it. A process that has it open can still use it."""
    remove_entries([file, *(file.with_name(file.name + suffix) for suffix in ("-wal", "-shm"))])


@contextmanager
def translate_sqlite_errors() -> Iterator[None]:
    """Translate SQLite's errors into IndexBusy, IndexUnwritable and IndexDamaged."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _BUSY_CODES:
            raise IndexBusy("another process is updating the index", fix="Try again in a moment.") from error
        if code in _UNWRITABLE_CODES:
            raise IndexUnwritable.with_reason(OSError(0, error.sqlite_errorname)) from error
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        raise IndexDamaged.with_reason(type(error).__name__) from error
