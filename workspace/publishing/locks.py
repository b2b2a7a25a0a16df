"""The locks of a publication: Docyard's own lock, and Git's locks, which are links to a private file.

Threads wait for a lock within this process, so only one thread waits for the lock of all processes.
"""

from __future__ import annotations

import errno
import fcntl
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git.private_folder import open_lock

WAIT_FOR_GIT_S = 2.0
WAIT_FOR_DOCYARD_S = 10.0
LOCK_PATH = "docyard/write.lock"
LOCKED_WORKTREE_FILES = ("index", "HEAD")
"""The locked files of a work tree: its index, and HEAD, because a `git switch -c` writes only HEAD."""

_PAUSE_FOR_GIT_S = 0.008
_PAUSE_FOR_DOCYARD_S = 0.002
_PAUSE_AFTER_GIT_S = 0.1
_RETRY_AFTER_MS = 500


def lstat(path: Path) -> os.stat_result | None:
    """Return the status of a path, without following links; None if it does not exist."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def is_same_inode(path: Path, expected_status: os.stat_result) -> bool:
    """Return True if a path is a name of the file with this status, even if its bytes have changed since."""
    status = lstat(path)
    return status is not None and (status.st_dev, status.st_ino) == (
        expected_status.st_dev,
        expected_status.st_ino,
    )


class Locked(WorkspaceError):
    """An error: another program did not release a lock in time; `file` is its path in the repository."""

    code: ClassVar[str] = "LOCKED"

    def __init__(self, file: str, *, fix: str = "") -> None:
        super().__init__(
            f"another program is using the repository: it has the lock `{file}`",
            fix=fix
            or "Try again when it has finished. If no program is using the repository, remove that file "
            "(`docyard doctor` reports whether a killed docyard left it).",
            file=file,
        )
        self.file = file


class Busy(WorkspaceError):
    """An error: a write failed because other writers were first; `retry_after_ms` is the time to wait."""

    code: ClassVar[str] = "BUSY"

    def __init__(self, message: str) -> None:
        super().__init__(message, fix="Send the same call again.", retry_after_ms=_RETRY_AFTER_MS)


class AnotherWriter(Locked):
    """An error: another Docyard writer did not release a lock; `retry_after_ms` is the time to wait."""

    code: ClassVar[str] = "BUSY"

    def __init__(self, file: str) -> None:
        super().__init__(file, fix="Another Docyard is writing. Send the same call again.")
        self.details |= {"retry_after_ms": 1000}


class CannotWrite(WorkspaceError):
    """An error: the system refused a write (disk full, no permission, read-only disk)."""

    code: ClassVar[str] = "CANNOT_WRITE"

    def __init__(self, error: OSError) -> None:
        reason = os.strerror(error.errno) if error.errno else "input/output error"
        super().__init__(
            f"the repository could not be written: {reason}",
            fix="Nothing was committed. Fix the cause and try again; `docyard doctor` checks for causes.",
            reason=reason,
        )


@contextmanager
def docyard_lock(
    common_dir: Path, path: str = LOCK_PATH, *, timeout_s: float | None = None
) -> Iterator[None]:
    """Acquire the lock that all Docyard writers of a repository share; the system releases it after a crash.

    `path` is the path of another lock, which may be acquired before that of writers, and not after it.

    Raises:
        AnotherWriter: the lock was not free within `timeout_s` seconds (default 10).
    """
    file = common_dir / path
    deadline = time.monotonic() + (WAIT_FOR_DOCYARD_S if timeout_s is None else timeout_s)
    while True:
        descriptor = open_lock(common_dir, file.name)
        try:
            if not _retry_until(lambda: _try_flock(descriptor), deadline, pause=_PAUSE_FOR_DOCYARD_S):  # noqa: B023
                raise AnotherWriter(format_path(file, common_dir))
            if is_same_inode(file, os.fstat(descriptor)):
                yield
                return
            # The file was removed, so a lock on it does not exclude a process that creates it again.
        finally:
            os.close(descriptor)


def wait_for_release(locks: Iterable[Path], common_dir: Path) -> None:
    """Wait until all locks are released, and then briefly for the last steps of the program that had them.

    Raises:
        Locked: a lock is not released in time.
    """
    deadline = time.monotonic() + WAIT_FOR_GIT_S
    for lock in locks:
        if not lock.exists():
            continue
        if not _retry_until(lambda: not lock.exists(), deadline, pause=_PAUSE_FOR_GIT_S):  # noqa: B023
            raise Locked(format_path(lock, common_dir))
        time.sleep(_PAUSE_AFTER_GIT_S)


class LinkedLock:
    """One of Git's lock files: a hard link to a file in a publication's staging folder.

    The creation of the link is atomic. The same inode proves later, even after a crash, that the lock is
    ours. Locks of other programs are never removed.
    """

    def __init__(self, lock_token: Path, target: Path, common_dir: Path) -> None:
        self.path = target.with_name(target.name + ".lock")
        self._lock_token = lock_token
        self._identity = lock_token.stat()
        self._display_path = format_path(self.path, common_dir)

    def acquire(self) -> None:
        """Acquire the lock, unless it is already acquired. Raises Locked after the time limit."""
        if not _retry_until(self._link, time.monotonic() + WAIT_FOR_GIT_S, pause=_PAUSE_FOR_GIT_S):
            raise Locked(self._display_path)

    def release(self) -> bool:
        """Remove the lock file if it exists and is ours; return False if the removal failed."""
        with suppress(OSError):
            if self._is_ours():
                self.path.unlink()
            return True
        return False

    def _is_ours(self) -> bool:
        return is_same_inode(self.path, self._identity)

    def _link(self) -> bool:
        try:
            os.link(self._lock_token, self.path)
        except FileExistsError:
            return self._is_ours()
        return True


def format_path(path: Path, common_dir: Path) -> str:
    """Return a path for messages, relative to the Git directory, after `.git/` if that is its name."""
    name = path.relative_to(common_dir).as_posix()
    return f".git/{name}" if common_dir.name == ".git" else name


def _try_flock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _retry_until(try_once: Callable[[], bool], deadline: float, *, pause: float) -> bool:
    while not try_once():
        if time.monotonic() >= deadline:
            return False
        # The pauses are random, because waiters that retry at the same time could starve each other.
        time.sleep(random.uniform(0.2, 1.0) * pause)
    return True


_WAIT_FOR_THREADS_S = 30.0


class WriterLock:
    """The writer lock of a repository in this process. The `with` statement raises Busy after 30 seconds.

    `hold` returns a block that begins before the lock is acquired, and ends after its release.
    """

    def __init__(self, hold: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        self._lock = threading.Lock()
        self._hold = hold
        self._stack = ExitStack()

    def __enter__(self) -> None:
        with ExitStack() as stack:
            stack.enter_context(self._hold())
            if not self._lock.acquire(timeout=_WAIT_FOR_THREADS_S):
                raise Busy("timed out waiting for another write in this process")
            stack.callback(self._lock.release)
            self._stack = stack.pop_all()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        # Another thread replaces the stack as soon as the lock is released.
        self._stack.pop_all().close()
