"""One synchronisation of a repository at a time, whichever process does it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git.private_folder import open_lock

LOCK = "docyard/sync.lock"
_PATIENCE = 10.0
_PAUSE = 0.05


class SyncBusy(WorkspaceError):
    """Another Docyard speaks with a remote of this repository, and went on for long."""

    code: ClassVar[str] = "SYNC_BUSY"

    def __init__(self) -> None:
        super().__init__(
            "another docyard is synchronising this repository",
            fix="Try again when it is done.",
            retry_after_ms=1000,
        )


@contextmanager
def turn(common_dir: Path, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the lock of synchronisation; the system frees it in a crash. Raises SyncBusy, OSError."""
    file = common_dir / LOCK
    handle = open_lock(common_dir, file.name)
    try:
        until = time.monotonic() + patience
        while not _taken(handle):
            if time.monotonic() > until:
                raise SyncBusy
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
