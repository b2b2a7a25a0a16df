"""SQLite as the link graph uses it: the one door to `sqlite3`, opened so that nothing in a file is run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged

_PATIENCE = 5.0
"""Seconds to wait for another process's transaction."""

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_UNWRITABLE = frozenset(
    {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
    | {sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM}
)


def connect(file: Path | None) -> sqlite3.Connection:
    """Open a file, made if need be, or memory. Each statement outside a transaction is one by itself."""
    with noticing():
        connection = sqlite3.connect(
            ":memory:" if file is None else file,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            for pragma in ("trusted_schema=OFF", "journal_mode=WAL", "synchronous=OFF", "mmap_size=0"):
                connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def noticing() -> Iterator[None]:
    """Turn SQLite's errors into IndexBusy, IndexUnwritable and IndexDamaged."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _BUSY:
            raise IndexBusy(
                "the link graph is being brought up to date", fix="Try again in a moment."
            ) from error
        if code in _UNWRITABLE:
            raise IndexUnwritable.because(OSError(0, error.sqlite_errorname)) from error
        if isinstance(error, sqlite3.ProgrammingError):
            raise
        raise IndexDamaged.because(type(error).__name__) from error
