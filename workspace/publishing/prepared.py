"""The private folder of a publication: its journal, and finished files that are linked to their places."""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from workspace.git.private_folder import make_shared_folder, make_subfolder, share
from workspace.publishing.journal import NAME, Journal
from workspace.publishing.placing import lstat, names

PENDING = "docyard/pending"
CLAIM = "claim"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A private folder `docyard/pending/<random>/`; what is written there is durable if that was asked.

    `claim` is the file to which Git's locks are linked: the same inode proves that a lock is ours.
    """

    folder: Path
    durable: bool

    @classmethod
    def make(cls, common_dir: Path, *, durable: bool) -> Prepared:
        """Make the folder, with nothing in it but the claim."""
        pending = common_dir / PENDING
        is_new = not pending.is_dir()
        make_subfolder(common_dir, pending.name)
        if is_new and durable:
            sync(common_dir)
            sync(pending.parent)
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
        return self.folder / CLAIM

    def write(self, name: str, data: bytes, *, like: Path | None = None) -> Path:
        """Write a file that has the permissions of the one that it will replace, if there is one."""
        path = self.folder / name
        path.write_bytes(data)
        if like is not None and like.is_file():
            shutil.copymode(like, path)
        else:
            share(path)
        if self.durable:
            sync(path)
        return path

    def keep(self, name: str, file: Path) -> bool:
        """Keep a file as it is under another name, by a link; False if there is no such file."""
        kept = self.folder / name
        kept.unlink(missing_ok=True)
        try:
            os.link(file, kept)
        except FileNotFoundError:
            return False
        return True

    def install(self, name: str, target: Path) -> None:
        """Rename a finished file to its place, in one step; it stays here too, so that it is known again."""
        ready = self.folder / f"{name}.ready"
        ready.unlink(missing_ok=True)
        os.link(self.folder / name, ready)
        os.rename(ready, target)

    def record(self, journal: Journal) -> None:
        """Write the journal, in place of an earlier one, and make sure that it is found after a crash."""
        new = self.write(f"{NAME}.new", journal.encode())
        os.rename(new, self.folder / NAME)
        if self.durable:
            sync(self.folder)
            sync(self.folder.parent)

    def journal(self) -> Journal | None:
        """The journal; None if there is none that is whole. Raises UnknownJournal."""
        try:
            return Journal.decode((self.folder / NAME).read_bytes())
        except OSError:
            return None

    def owns(self, file: Path) -> bool:
        """Whether a file is a link to one in this folder."""
        return lstat(file) is not None and any(names(file, own.lstat()) for own in self.folder.iterdir())

    def clear(self) -> bool:
        """Remove the folder with all that it holds, the journal first; False if that could not be done."""
        with suppress(OSError):
            # A folder without a journal has nothing to take back.
            (self.folder / NAME).unlink(missing_ok=True)
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
            return True
        return not self.folder.exists()


def is_below_a_link(path: Path, root: Path) -> bool:
    """Whether the root, or a folder from it down to a path in it, is a link, and leads who knows where."""
    names = path.parts[len(root.parts) : -1]
    return any(map(os.path.islink, accumulate(names, os.path.join, initial=str(root))))


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_empty(folder: Path) -> None:
    """Remove a folder and all below it, as far as nothing is in them."""
    for below, _, _ in os.walk(folder, topdown=False):
        with suppress(OSError):
            os.rmdir(below)
