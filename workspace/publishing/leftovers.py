"""What a Docyard that died in the middle of a publication left behind."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workspace.publishing.locks import LOCK
from workspace.publishing.prepared import PENDING


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Private folders, and locks of Git's that are ours, by their names within the common Git directory.

    Without a lock, the commit was not begun or is complete, and the folders do no harm. With one, nothing can
    be written until it is removed, and the work tree may hold what was not committed.
    """

    folders: tuple[str, ...]
    locks: tuple[str, ...]


def leftovers(common_dir: Path) -> Leftovers:
    """Find what was left; nothing while a Docyard is writing, whose files these then are. Changes nothing."""
    if _is_writing(common_dir):
        return Leftovers((), ())
    folders = sorted(folder for folder in _entries(common_dir / PENDING) if folder.is_dir())
    ours = {_identity(file) for folder in folders for file in _entries(folder)} - {None}
    return Leftovers(
        tuple(folder.relative_to(common_dir).as_posix() for folder in folders),
        tuple(
            lock.relative_to(common_dir).as_posix()
            for lock in (_git_locks(common_dir) if ours else ())
            if _identity(lock) in ours
        ),
    )


def _git_locks(common_dir: Path) -> Iterator[Path]:
    """The locks that a publication takes, in this and every other work tree."""
    for git_dir in (common_dir, *_entries(common_dir / "worktrees")):
        yield git_dir / "index.lock"
    yield from sorted((common_dir / "refs" / "heads").rglob("*.lock"))


def _is_writing(common_dir: Path) -> bool:
    try:
        handle = os.open(common_dir / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
