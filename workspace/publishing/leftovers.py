"""What a Docyard that died in the middle of a publication left behind."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from workspace.git.private_folder import is_closed_to_us
from workspace.publishing.locks import LOCK
from workspace.publishing.prepared import Prepared
from workspace.publishing.recovery import git_locks, private_folders


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Private folders, and locks of Git's that are ours, by their names within the common Git directory.

    Until the next write recovers, a lock keeps other programs from writing, and the work tree may hold what
    was not committed.
    """

    folders: tuple[str, ...]
    locks: tuple[str, ...]


def leftovers(common_dir: Path) -> Leftovers:
    """Find what was left; nothing while a Docyard is writing, whose files these then are. Changes nothing."""
    if is_closed_to_us(common_dir) or _is_writing(common_dir):
        return Leftovers((), ())
    folders = [Prepared(folder, durable=False) for folder in private_folders(common_dir)]
    locks = git_locks(common_dir) if folders else ()
    return Leftovers(
        tuple(prepared.folder.relative_to(common_dir).as_posix() for prepared in folders),
        tuple(
            lock.relative_to(common_dir).as_posix()
            for lock in locks
            if any(prepared.owns(lock) for prepared in folders)
        ),
    )


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
