"""The locks of a publication: Docyard's own, and Git's, taken by linking finished files to their names."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError

WAIT_FOR_GIT = 2.0
WAIT_FOR_DOCYARD = 10.0
LOCK = "docyard/write.lock"
_PAUSE = 0.02


class Locked(WorkspaceError):
    """Another program holds a lock, and went on holding it; `file` names it within the repository."""

    code: ClassVar[str] = "LOCKED"

    def __init__(self, file: str, *, fix: str = "") -> None:
        super().__init__(
            f"another program is using the repository: it holds `{file}`",
            fix=fix
            or "Try again when it has finished. If no program is running there, remove that file "
            "(`docyard doctor` tells whether it was left by a docyard that died).",
            file=file,
        )
        self.file = file


class CannotWrite(WorkspaceError):
    """The system refused a write (disk full, no permission, a read-only disk); nothing was published."""

    code: ClassVar[str] = "CANNOT_WRITE"

    def __init__(self, error: OSError) -> None:
        reason = os.strerror(error.errno) if error.errno else "input/output error"
        super().__init__(
            f"the repository could not be written: {reason}",
            fix="Nothing was changed. Mend that and try again; `docyard doctor` looks for the cause.",
            reason=reason,
        )


@contextmanager
def docyard_lock(common_dir: Path) -> Iterator[None]:
    """Hold the lock that all of Docyard's writers of a repository share; the system frees it in a crash."""
    file = common_dir / LOCK
    file.parent.mkdir(exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not _wait(lambda: _flock(handle), WAIT_FOR_DOCYARD, pause=0.002):
            name = shown(file, common_dir)
            raise Locked(name, fix="Another Docyard is writing. Try again when it has finished.")
        yield
    finally:
        os.close(handle)


class LinkedLock:
    """One of Git's lock files, made by a hard link from a finished file of ours.

    The link is atomic, and the same inode proves later that the lock is ours: no other is ever removed.
    """

    def __init__(self, prepared: Path, target: Path, common_dir: Path) -> None:
        self.path = target.with_name(target.name + ".lock")
        self._prepared = prepared
        self._shown = shown(self.path, common_dir)

    def take(self) -> None:
        """Take the lock, waiting for another's for a short time; `Locked` if that one stays."""
        if not _wait(self._link, WAIT_FOR_GIT, pause=_PAUSE):
            raise Locked(self._shown)

    def release(self) -> None:
        """Remove the lock file if it is there and ours."""
        # What happened before counts more than a lock that could not be removed.
        with suppress(OSError):
            if self.path.samefile(self._prepared):
                self.path.unlink()

    def _link(self) -> bool:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(self._prepared, self.path)
        except FileExistsError:
            return False
        except FileNotFoundError:
            # `git pack-refs` removes folders that it has emptied.
            return False
        return True


def shown(path: Path, common_dir: Path) -> str:
    """A file's name for people: relative, beginning with `.git` where that is the folder's name."""
    name = path.relative_to(common_dir).as_posix()
    return f".git/{name}" if common_dir.name == ".git" else name


def _flock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _wait(attempt: Callable[[], bool], limit: float, *, pause: float) -> bool:
    until = time.monotonic() + limit
    while not attempt():
        if time.monotonic() >= until:
            return False
        time.sleep(pause)
    return True
