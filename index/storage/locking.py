"""A lock between processes, on an open file: the system releases the lock when its holder dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from index.storage.files import IndexUnwritable, translate_write_errors
from workspace.errors import WorkspaceError

_POLL_INTERVAL_S = 0.02


class IndexBusy(WorkspaceError):
    """Another thread or process has been changing the index for longer than the timeout."""

    code: ClassVar[str] = "INDEX_BUSY"


@contextmanager
def hold_lock(file: Path, timeout_s: float, on_wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a lock during the block. `on_wait` is called once if another process holds the lock.

    Raises IndexBusy after `timeout_s` seconds, IndexUnwritable if the file cannot be locked.
    """
    deadline = time.monotonic() + timeout_s
    is_waiting = False
    descriptor = _open(file)
    try:
        while not _lock_current_file(descriptor, file):
            if time.monotonic() >= deadline:
                raise IndexBusy(
                    "another process is still updating the search index",
                    fix="Try again in a moment.",
                )
            if not is_waiting:
                on_wait()
                is_waiting = True
            time.sleep(_POLL_INTERVAL_S)
            os.close(descriptor)
            descriptor = -1
            descriptor = _open(file)
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def is_locked(file: Path) -> bool:
    """Return True if a process holds the lock now. Creates no file and does not wait."""
    try:
        descriptor = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return False
    try:
        return not _try_lock(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _open(file: Path) -> int:
    with translate_write_errors():
        return os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _lock_current_file(descriptor: int, file: Path) -> bool:
    """Lock the open file; return False if it is locked, or if the path is now missing or another file."""
    try:
        if not _try_lock(descriptor):
            return False
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False
    except OSError as error:  # such as a file system without locks
        raise IndexUnwritable.with_reason(error) from error


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError:
        return _try_lock_windows(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _try_lock_windows(descriptor: int) -> bool:
    import msvcrt

    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True
