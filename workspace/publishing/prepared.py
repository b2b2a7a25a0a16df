"""The finished files of a publication, in a private folder from which they are linked to their places."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PENDING = "docyard/pending"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A private folder `docyard/pending/<random>/`; what is written there is durable if that was asked."""

    folder: Path
    durable: bool

    def write(self, name: str, data: bytes, *, like: Path) -> Path:
        """Write a file that has the permissions of the one that it will replace, if there is one."""
        path = self.folder / name
        path.write_bytes(data)
        return self.finish(path, like=like)

    def finish(self, path: Path, *, like: Path) -> Path:
        """Give a file that stands here those permissions, and sync it."""
        if like.is_file():
            shutil.copymode(like, path)
        if self.durable:
            sync(path)
        return path


@contextmanager
def prepared(common_dir: Path, *, durable: bool) -> Iterator[Prepared]:
    """Make the private folder, and remove it with all it holds at the end."""
    folder = common_dir / PENDING / secrets.token_hex(8)
    folder.mkdir(parents=True)
    try:
        yield Prepared(folder, durable)
    finally:
        # The private files are spent, and whatever happened before counts more than their removal.
        with suppress(OSError):
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
