"""The private folder of a repository: `docyard/` in its Git directory, not accessible to other users.

Its locks use `flock`, which only needs an open file. Another user who can read the repository could otherwise
take the locks and stop all writes. So no other user can open the files, except the group with which Git
shares the repository (`core.sharedRepository`).

Files that are later moved into Git's own folders have the modes that Git gives them.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from workspace.git.sharing import is_group_shared

PRIVATE_FOLDER_NAME = "docyard"

_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class FolderModes(NamedTuple):
    """The modes of the folder, and of a lock in it."""

    folder: int
    lock: int


PRIVATE_MODES = FolderModes(0o700, 0o600)
GROUP_MODES = FolderModes(0o2770, 0o660)


def determine_modes(common_dir: Path) -> FolderModes:
    """Return the modes that the private folder of a repository must have."""
    return GROUP_MODES if is_group_shared(common_dir) else PRIVATE_MODES


def make_private_folder(common_dir: Path) -> Path:
    """Return the private folder, created if missing, and make it inaccessible to unauthorized users.

    Only the owner can set the mode, so a folder of another user is unchanged. Raises OSError, also for a
    symbolic link.
    """
    folder, modes = common_dir / PRIVATE_FOLDER_NAME, determine_modes(common_dir)
    try:
        status = folder.lstat()
    except FileNotFoundError:
        with suppress(FileExistsError):  # another process created the folder first
            folder.mkdir(mode=0o700)
        status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if stat.S_IMODE(status.st_mode) != modes.folder and status.st_uid == os.geteuid():
        _set_modes(common_dir, folder, modes)
    return folder


def make_subfolder(common_dir: Path, name: str) -> Path:
    """Return a folder in the private folder, created if missing. Raises OSError."""
    path = make_private_folder(common_dir) / name
    make_shared_folder(path)
    return path


def make_shared_folder(path: Path) -> None:
    """Create a folder if missing, for this user, and for the group that may write its parent folder."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if path.is_symlink() or not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None
        return
    share_with_group(path)


def share_with_group(path: Path) -> None:
    """Add the parent folder's permissions to a new file or folder, if the group may write the parent."""
    parent_mode, own_mode = path.parent.stat().st_mode, path.stat().st_mode
    if not parent_mode & stat.S_IWGRP:
        return
    mode = own_mode | (parent_mode & (0o7777 if stat.S_ISDIR(own_mode) else 0o666))
    if mode != own_mode:
        path.chmod(stat.S_IMODE(mode))


def open_lock(common_dir: Path, name: str) -> int:
    """Open a lock in the private folder, created if missing, and return its descriptor. Raises OSError."""
    file = make_private_folder(common_dir) / name
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    mode = determine_modes(common_dir).lock
    status = os.fstat(handle)
    if stat.S_IMODE(status.st_mode) != mode and status.st_uid == os.geteuid():
        with suppress(OSError):  # the file system has no modes
            os.fchmod(handle, mode)
    return handle


def is_accessible_to_others(common_dir: Path) -> bool:
    """Return True if unauthorized users can access the private folder."""
    try:
        mode = stat.S_IMODE((common_dir / PRIVATE_FOLDER_NAME).lstat().st_mode)
    except OSError:
        return False
    return bool(mode & ~determine_modes(common_dir).folder & 0o077)


def is_inaccessible(common_dir: Path) -> bool:
    """Return True if the private folder exists and this process cannot access it."""
    folder = common_dir / PRIVATE_FOLDER_NAME
    return folder.is_dir() and not os.access(folder, os.X_OK)


def _set_modes(common_dir: Path, folder: Path, modes: FolderModes) -> None:
    """Set the modes of the folder, and of the folders and locks in it."""
    group = common_dir.stat().st_gid
    if modes == GROUP_MODES and not _change_group(folder, group):
        modes = PRIVATE_MODES  # otherwise the folder would be shared with the wrong group

    # The folder is made private first, so that no other user opens a file meanwhile, and shared last.
    _chmod(folder, PRIVATE_MODES.folder)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                mode = modes.folder
            elif entry.name.endswith(".lock") and entry.is_file(follow_symlinks=False):
                mode = modes.lock
            else:
                continue
            with suppress(OSError):  # the entry belongs to another user, or was removed
                if modes == PRIVATE_MODES or _change_group(Path(entry.path), group):
                    _chmod(Path(entry.path), mode)
    _chmod(folder, modes.folder)


def _change_group(path: Path, group: int) -> bool:
    """Assign a file or folder to the group of the repository; return False if this user may not."""
    with suppress(OSError):
        if path.lstat().st_gid != group:
            os.chown(path, -1, group, follow_symlinks=False)
        return True
    return False


def _chmod(path: Path, mode: int) -> None:
    """Set the mode of a file or folder, never of the target of a link."""
    handle = os.open(path, _OPEN_FLAGS)
    try:
        with suppress(PermissionError):  # the file system has no modes
            os.fchmod(handle, mode)
    finally:
        os.close(handle)
