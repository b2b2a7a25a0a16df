"""A lock between processes, held on an open file: the system releases it when its holder dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from index.storage.files import IndexUnwritable, translate_write_errors
from workspace.errors import WorkspaceError

_PAUSE = 0.02


class IndexBusy(WorkspaceError):
    """Another process has been writing this index for longer than we may wait."""

    code: ClassVar[str] = "INDEX_BUSY"


@contextmanager
def hold_lock(file: Path, patience: float, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock; `waiting` is called once if it is taken, IndexBusy comes after `patience` seconds.

    Raises IndexUnwritable if there can be no lock here.
    """
    deadline = time.monotonic() + patience
    told = False
    descriptor = _open(file)
    try:
        while not _take(descriptor, file):
            if time.monotonic() >= deadline:
                raise IndexBusy(
                    "another process is still bringing the search index up to date",
                    fix="Try again in a moment.",
                )
            if not told:
                waiting()
                told = True
            time.sleep(_PAUSE)
            os.close(descriptor)
            descriptor = -1
            descriptor = _open(file)
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def is_locked(file: Path) -> bool:
    """Return True if somebody holds the lock now; nothing is made or waited for."""
    try:
        descriptor = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        return not _try(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _open(file: Path) -> int:
    with translate_write_errors():
        return os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _take(descriptor: int, file: Path) -> bool:
    """Lock the open file, if it still is the one that others would open: someone may have removed it."""
    try:
        if not _try(descriptor):
            return False
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
    except OSError as error:  # such as a file system without locks
        raise IndexUnwritable.because(error) from error


def _try(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return _try_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_windows(descriptor: int) -> bool:
    import msvcrt

    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
