"""A lock between processes, held on an open file: the system releases it when its holder dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from index.location import writing
from workspace.errors import WorkspaceError

_PAUSE = 0.02


class IndexBusy(WorkspaceError):
    """Another process has been writing this index for longer than we may wait."""

    code: ClassVar[str] = "INDEX_BUSY"


@contextmanager
def locked(file: Path, patience: float, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock; `waiting` is called once if it is taken, IndexBusy comes after `patience` seconds."""
    with writing():
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        deadline = time.monotonic() + patience
        told = False
        while not _try(descriptor):
            if time.monotonic() >= deadline:
                raise IndexBusy(
                    "another process is still bringing the search index up to date",
                    fix="Try again in a moment.",
                )
            if not told:
                waiting()
                told = True
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(descriptor)


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
