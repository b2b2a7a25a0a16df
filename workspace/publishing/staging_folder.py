"""Atomic changes of files, and the staging folder of a publication with its journal and finished files.

A plain rename removes the file that was at a path, even if a user saved a change at the same time. If
possible, two files are swapped instead (renameat2(2), RENAME_EXCHANGE), and the old file is checked
afterwards.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

from workspace.git.private_folder import make_shared_folder, make_subfolder, share_with_group
from workspace.publishing.journal import JOURNAL_NAME, Journal
from workspace.publishing.locks import is_same_inode, lstat

# Errors of systems without hard links, or without them for this file.
_NO_LINK_ERRORS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_UNSUPPORTED_ERRORS = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def swap_files(left: Path, right: Path) -> bool:
    """Swap two files; return False if the system does not support that. Raises OSError."""
    rename = _load_renameat2()
    if rename is None:
        return False
    if rename(_AT_FDCWD, os.fsencode(left), _AT_FDCWD, os.fsencode(right), _RENAME_EXCHANGE):
        number = ctypes.get_errno()
        if number in _UNSUPPORTED_ERRORS:
            return False
        raise OSError(number, os.strerror(number), str(left), None, str(right))
    return True


@cache
def _load_renameat2() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None


def link_or_copy(file: Path, new_path: Path) -> None:
    """Link a file to a second path; copy it if the file system has no hard links."""
    try:
        os.link(file, new_path, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINK_ERRORS:
            raise
        shutil.copy2(file, new_path)


def replace_atomically(new_file: Path, backup: Path, target: Path, expected_status: os.stat_result) -> bool:
    """Replace a file, and preserve the old file as the backup.

    Return False and preserve the file if its status is not `expected_status`. The caller removes the backup.
    """
    link_or_copy(new_file, backup)
    new_status = backup.lstat()
    if swap_files(backup, target):
        if is_unchanged(lstat(backup), expected_status):
            return True
        swap_files(backup, target)
        if not is_unchanged(lstat(backup), new_status):
            # A user saved another version between the two swaps, so that version is preserved.
            os.rename(backup, target)
        return False
    backup.unlink()
    link_or_copy(target, backup)
    new_link = backup.with_suffix(".put")
    link_or_copy(new_file, new_link)
    # Without a swap, a check right before the rename is the best that is possible.
    if not is_unchanged(lstat(target), expected_status) or not has_same_stat(backup.lstat(), expected_status):
        return False
    os.rename(new_link, target)
    return True


def create_atomically(new_file: Path, target: Path) -> bool:
    """Move a finished file to a path; return False, without a change, if a file exists there."""
    try:
        os.link(new_file, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINK_ERRORS:
            raise
        # Without links, a check right before the rename is the best that is possible.
        if lstat(target) is not None:
            return False
        os.rename(new_file, target)
        return True
    new_file.unlink()
    return True


def is_unchanged(before: os.stat_result | None, after: os.stat_result | None) -> bool:
    """Return True if both states are of the same file without a write in between, or both of no file."""
    if before is None or after is None:
        return before is after
    return before.st_ino == after.st_ino and has_same_stat(before, after)


def has_same_stat(left: os.stat_result, right: os.stat_result) -> bool:
    """Return True if two files have the same size and modification time."""
    return (left.st_mtime_ns, left.st_size) == (right.st_mtime_ns, right.st_size)


STAGING_FOLDERS = "docyard/pending"
"""The folder of all staging folders, within the common Git directory."""

LOCK_TOKEN_NAME = "claim"


@dataclass(frozen=True, slots=True)
class StagingFolder:
    """A private folder `docyard/pending/<random digits>/`; with `durable`, its files are synced to disk.

    `lock_token` is the file to which Git's locks are linked: the same inode proves that a lock is ours.
    """

    folder: Path
    durable: bool

    @classmethod
    def make(cls, common_dir: Path, *, durable: bool) -> StagingFolder:
        """Create the folder, with only the lock token in it."""
        pending = common_dir / STAGING_FOLDERS
        is_new = not pending.is_dir()
        make_subfolder(common_dir, pending.name)
        if is_new and durable:
            sync_to_disk(common_dir)
            sync_to_disk(pending.parent)
        folder = pending / secrets.token_hex(8)
        make_shared_folder(folder)
        staging_folder = cls(folder, durable)
        try:
            staging_folder.lock_token.touch(exist_ok=False)
        except BaseException:
            staging_folder.clear()
            raise
        return staging_folder

    @property
    def lock_token(self) -> Path:
        return self.folder / LOCK_TOKEN_NAME

    def write(self, name: str, data: bytes, *, old_file: Path | None = None) -> Path:
        """Write a file, with the permissions of the file `old_file` that it will replace, if that exists."""
        path = self.folder / name
        path.write_bytes(data)
        if old_file is not None and old_file.is_file():
            shutil.copymode(old_file, path)
        else:
            share_with_group(path)
        if self.durable:
            sync_to_disk(path)
        return path

    def back_up(self, name: str, file: Path) -> bool:
        """Link a file to a name in this folder, as a backup; return False if the file does not exist."""
        backup = self.folder / name
        backup.unlink(missing_ok=True)
        try:
            os.link(file, backup)
        except FileNotFoundError:
            return False
        return True

    def install(self, name: str, target: Path) -> None:
        """Rename a finished file to its path atomically; a link in this folder proves the origin later."""
        new_link = self.folder / f"{name}.ready"
        new_link.unlink(missing_ok=True)
        os.link(self.folder / name, new_link)
        os.rename(new_link, target)

    def write_journal(self, journal: Journal) -> None:
        """Write the journal in place of an earlier journal; with `durable`, it survives a loss of power."""
        new_file = self.write(f"{JOURNAL_NAME}.new", journal.encode())
        os.rename(new_file, self.folder / JOURNAL_NAME)
        if self.durable:
            sync_to_disk(self.folder)
            sync_to_disk(self.folder.parent)

    def read_journal(self) -> Journal | None:
        """Return the journal; None if it is missing or incomplete. Raises UnknownJournal."""
        try:
            return Journal.decode((self.folder / JOURNAL_NAME).read_bytes())
        except OSError:
            return None

    def owns(self, file: Path) -> bool:
        """Return True if a file is a hard link to a file in this folder."""
        return lstat(file) is not None and any(
            is_same_inode(file, own_file.lstat()) for own_file in self.folder.iterdir()
        )

    def clear(self) -> bool:
        """Remove the folder with its files, the journal first; return False if the removal failed."""
        with suppress(OSError):
            # A folder without a journal needs no rollback.
            (self.folder / JOURNAL_NAME).unlink(missing_ok=True)
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
            return True
        return not self.folder.exists()


def is_below_link(path: Path, root: Path) -> bool:
    """Return True if the root, or a folder between it and a path, is a symbolic link."""
    names = path.parts[len(root.parts) : -1]
    return any(map(os.path.islink, accumulate(names, os.path.join, initial=str(root))))


def sync_to_disk(path: Path) -> None:
    """Sync a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_empty_folders(folder: Path) -> None:
    """Remove a folder and all folders below it that contain no files."""
    for subfolder, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            os.rmdir(subfolder)
