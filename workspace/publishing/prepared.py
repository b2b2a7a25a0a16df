"""The staging folder of a publication: its journal, and finished files that are linked to their paths.

A plain rename drops the file that was at a path, and with it a change saved in the same moment. If possible,
two files are exchanged instead (renameat2(2), RENAME_EXCHANGE), and the old one is checked.
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
from workspace.publishing.journal import NAME, Journal
from workspace.publishing.locks import is_same_inode, lstat

# Errors of systems without hard links, or without them for this file.
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_HERE = -100  # AT_FDCWD
_EXCHANGE = 2
_UNABLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def exchange_files(one: Path, two: Path) -> bool:
    """Exchange two files; return False if the system does not support it. Errors: OSError."""
    rename = _renameat2()
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(two), _EXCHANGE):
        number = ctypes.get_errno()
        if number in _UNABLE:
            return False
        raise OSError(number, os.strerror(number), str(one), None, str(two))
    return True


@cache
def _renameat2() -> Any:
    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None


def link_or_copy(file: Path, name: Path) -> None:
    """Link a file to a second name; copy it if the file system has no links."""
    try:
        os.link(file, name, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copy2(file, name)


def replace_atomically(new: Path, backup: Path, target: Path, found: os.stat_result) -> bool:
    """Replace a file, with a backup; return False and change nothing if its status is not `found`."""
    link_or_copy(new, backup)
    ours = backup.lstat()
    if exchange_files(backup, target):
        if is_unchanged(lstat(backup), found):
            return True
        exchange_files(backup, target)
        if not is_unchanged(lstat(backup), ours):
            # A user saved another version between the two exchanges, and this version is preserved.
            os.rename(backup, target)
        return False
    backup.unlink()
    link_or_copy(target, backup)
    put = backup.with_suffix(".put")
    link_or_copy(new, put)
    # Without an exchange, the check right before the rename must suffice.
    if not is_unchanged(lstat(target), found) or not has_same_stat(backup.lstat(), found):
        return False
    os.rename(put, target)
    return True


def create_atomically(put: Path, target: Path) -> bool:
    """Link a finished file to a new name; return False if another file exists there."""
    try:
        os.link(put, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Without links, the check right before the rename must suffice.
        if lstat(target) is not None:
            return False
        os.rename(put, target)
        return True
    put.unlink()
    return True


def is_unchanged(one: os.stat_result | None, two: os.stat_result | None) -> bool:
    """Return True if both states are of one file that was not written to in between, or of no file."""
    if one is None or two is None:
        return one is two
    return one.st_ino == two.st_ino and has_same_stat(one, two)


def has_same_stat(one: os.stat_result, two: os.stat_result) -> bool:
    """Return True if two files have the same size and modification time."""
    return (one.st_mtime_ns, one.st_size) == (two.st_mtime_ns, two.st_size)


PENDING = "docyard/pending"
LOCK_TOKEN = "claim"


@dataclass(frozen=True, slots=True)
class StagingFolder:
    """A private folder `docyard/pending/<random>/`; with `durable`, its files are synced to disk.

    `claim` is the file to which Git's locks are linked: the same inode proves that a lock is ours.
    """

    folder: Path
    durable: bool

    @classmethod
    def make(cls, common_dir: Path, *, durable: bool) -> StagingFolder:
        """Create the folder, with only the lock token in it."""
        pending = common_dir / PENDING
        is_new = not pending.is_dir()
        make_subfolder(common_dir, pending.name)
        if is_new and durable:
            sync_to_disk(common_dir)
            sync_to_disk(pending.parent)
        folder = pending / secrets.token_hex(8)
        make_shared_folder(folder)
        prepared = cls(folder, durable)
        try:
            prepared.claim.touch(exist_ok=False)
        except BaseException:
            prepared.clear()
            raise
        return prepared

    @property
    def claim(self) -> Path:
        return self.folder / LOCK_TOKEN

    def write(self, name: str, data: bytes, *, like: Path | None = None) -> Path:
        """Write a file with the permissions of the file `like`, which it will replace, if that exists."""
        path = self.folder / name
        path.write_bytes(data)
        if like is not None and like.is_file():
            shutil.copymode(like, path)
        else:
            share_with_group(path)
        if self.durable:
            sync_to_disk(path)
        return path

    def keep(self, name: str, file: Path) -> bool:
        """Link a file to another name as a backup; return False if the file does not exist."""
        backup = self.folder / name
        backup.unlink(missing_ok=True)
        try:
            os.link(file, backup)
        except FileNotFoundError:
            return False
        return True

    def install(self, name: str, target: Path) -> None:
        """Rename a finished file to its path atomically; a link stays in the folder to prove the origin."""
        ready = self.folder / f"{name}.ready"
        ready.unlink(missing_ok=True)
        os.link(self.folder / name, ready)
        os.rename(ready, target)

    def record(self, journal: Journal) -> None:
        """Write the journal, in place of an earlier one, and sync it so that it survives a crash."""
        new = self.write(f"{NAME}.new", journal.encode())
        os.rename(new, self.folder / NAME)
        if self.durable:
            sync_to_disk(self.folder)
            sync_to_disk(self.folder.parent)

    def journal(self) -> Journal | None:
        """Return the journal; None if it is missing or incomplete. Raises UnknownJournal."""
        try:
            return Journal.decode((self.folder / NAME).read_bytes())
        except OSError:
            return None

    def owns(self, file: Path) -> bool:
        """Return True if a file is a link to one in this folder."""
        return lstat(file) is not None and any(
            is_same_inode(file, own.lstat()) for own in self.folder.iterdir()
        )

    def clear(self) -> bool:
        """Remove the folder with its files, the journal first; return False if that failed."""
        with suppress(OSError):
            # A folder without a journal needs no rollback.
            (self.folder / NAME).unlink(missing_ok=True)
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
            return True
        return not self.folder.exists()


def is_below_a_link(path: Path, root: Path) -> bool:
    """Return True if the root, or a folder between it and a path, is a symbolic link."""
    names = path.parts[len(root.parts) : -1]
    return any(map(os.path.islink, accumulate(names, os.path.join, initial=str(root))))


def sync_to_disk(path: Path) -> None:
    """Sync a file, or the names in a folder, to the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_empty_folders(folder: Path) -> None:
    """Remove a folder and all folders below it that hold no files."""
    for subfolder, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            os.rmdir(subfolder)
