"""The segments of a node, downloaded or built: files of `index.segments.segment` in a private folder.

A file is written once, under the id of its segment, and opened only after its SHA-256 was compared with that
in the head. A file that is missing or damaged is downloaded again. Several processes share the folder.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Container, Iterable
from contextlib import suppress
from pathlib import Path

from index.postgres.heads import SegmentEntry
from index.segments.arrays import unpack
from index.segments.segment import Segment, make_file_name
from index.storage.files import DRAFT_SUFFIX, translate_write_errors, write_parts_atomically
from index.storage.location import make_private_folder
from index.storage.manifest import FileStamp, IndexDamaged

UNUSED_FILE_S = 60.0
"""Seconds after its creation from which a file may be removed: another process may be about to open it."""


class SegmentFiles:
    """The folder of a node's segments; without a folder, they are in memory."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def find(self, entry: SegmentEntry) -> Segment | None:
        """Return a saved segment; None if its file is missing or has another checksum."""
        if self._folder is None:
            return None
        file = self._folder / make_file_name(entry.id)
        try:
            stamp = FileStamp.of(file)
            if (stamp.size, _compute_sha256(file)) != (entry.size, entry.sha256):
                return None
            return Segment.load(self._folder, entry.id, stamp)
        except (OSError, IndexDamaged):  # another process may have removed the file meanwhile
            return None

    def save(self, entry: SegmentEntry, parts: Iterable[bytes]) -> Segment:
        """Save a segment that was downloaded. Raises IndexDamaged if its bytes are not those of the entry.

        Raises IndexUnwritable.
        """
        if self._folder is None:
            data = b"".join(parts)
            _check(entry, len(data), hashlib.sha256(data).hexdigest())
            return Segment(entry.id, unpack(data))
        folder, size, digest = self._open_folder(self._folder), 0, hashlib.sha256()

        def measure(parts: Iterable[bytes]) -> Iterable[bytes]:
            nonlocal size
            for part in parts:
                size += len(part)
                digest.update(part)
                yield part
            _check(entry, size, digest.hexdigest())

        file = folder / make_file_name(entry.id)
        with translate_write_errors():
            write_parts_atomically(file, measure(parts))
            stamp = FileStamp.of(file)
        return Segment.load(folder, entry.id, stamp)

    def add(self, segment: Segment) -> Segment:
        """Save a segment that this node has built, in memory or in a file that is moved to the folder.

        Raises IndexUnwritable.
        """
        if self._folder is None:
            return segment
        folder = self._open_folder(self._folder)
        if segment.stamp is None:
            return segment.save(folder)
        file = folder / make_file_name(segment.id)
        with translate_write_errors():
            os.replace(segment.stamp.file, file)
            stamp = FileStamp.of(file)
        return Segment.load(folder, segment.id, stamp)

    def remove_others(self, ids: Container[str]) -> None:
        """Remove the files of segments with other ids, except new ones. Open segments stay readable."""
        if self._folder is None:
            return
        oldest_time = time.time() - UNUSED_FILE_S
        with suppress(OSError):
            for file in self._folder.iterdir():
                id = file.stem.removeprefix("MAIN_")
                if (id not in ids or file.suffix == DRAFT_SUFFIX) and file.stat().st_mtime < oldest_time:
                    file.unlink(missing_ok=True)

    def _open_folder(self, folder: Path) -> Path:
        """Return the folder, created if it is missing."""
        with translate_write_errors():
            if not make_private_folder(folder):
                raise PermissionError(0, "the folder of the index's segments is not private or not writable")
        return folder


def _check(entry: SegmentEntry, size: int, sha256: str) -> None:
    if (size, sha256) != (entry.size, entry.sha256):
        raise IndexDamaged.with_reason(f"segment {entry.id} in the database has a wrong checksum")


def _compute_sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
