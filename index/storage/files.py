"""Atomic writes of the index's files, and the error for a system that refuses to write them."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError

DRAFT_SUFFIX = ".draft"


class IndexUnwritable(WorkspaceError):
    """The index's folder could not be written, for example because the disk is full."""

    code: ClassVar[str] = "INDEX_UNWRITABLE"

    @classmethod
    def with_reason(cls, error: OSError) -> IndexUnwritable:
        """Return the error with the system's reason, without the path."""
        return cls(
            f"the search index cannot be written: {error.strerror or type(error).__name__}",
            fix="Free disk space, or fix the permissions of the index's folder; `docyard doctor` checks it.",
        )


@contextmanager
def translate_write_errors() -> Iterator[None]:
    """Translate each OSError to IndexUnwritable."""
    try:
        yield
    except OSError as error:
        raise IndexUnwritable.with_reason(error) from error


def write_atomically(file: Path, data: bytes, durable: bool = False) -> None:
    """Replace a file's content in one step: a reader sees the old bytes or the new ones.

    `durable` forces the content and the folder's entries to the disk. Otherwise, a file that a power loss
    truncates is detected by its checksum and rebuilt.
    """
    write_parts_atomically(file, (data,), durable)


def write_parts_atomically(file: Path, parts: Iterable[bytes], durable: bool = False) -> None:
    """Replace a file's content in one step, like `write_atomically`; an error of `parts` changes nothing."""
    draft = file.with_name(f"{file.name}-{secrets.token_hex(4)}{DRAFT_SUFFIX}")
    try:
        write_file(draft, parts, durable)
        os.replace(draft, file)
        if durable:
            _sync_folder(file.parent)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def write_file(file: Path, parts: Iterable[bytes], durable: bool = False) -> None:
    """Write a file; `durable` forces its bytes to the disk."""
    with file.open("wb") as stream:
        stream.writelines(parts)
        if durable:
            stream.flush()
            os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_entries(entries: Iterable[Path]) -> int:
    """Remove files and folders, as far as the system permits; return how many were removed."""
    removed_count = 0
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                entry.unlink()
        removed_count += not os.path.lexists(entry)
    return removed_count
