"""The levels of buckets in a file that all workers of a server map, so that a limit is one of all together.

The file is a hash table of sets of slots. A set that is full replaces the slot that was charged least
recently. Keys are stored as digests. Processes exclude each other by a lock of the file, which the system
releases when a process ends. A process that is killed while it writes damages one level at most.

The clock of buckets is the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from docyard.limits.buckets import MAX_BUCKETS, BucketKey, Level

_DIGEST_BYTES = 16
_SLOT = struct.Struct(f"={_DIGEST_BYTES}sqq")  # the digest, the missing units, the time
_EMPTY = bytes(_DIGEST_BYTES)
_SLOTS_OF_A_SET = 8


class SharedLevels:
    """The levels in a file. The first process creates it; `folder` is private to the user of the server."""

    def __init__(self, folder: Path, capacity: int = MAX_BUCKETS) -> None:
        self._set_count = max(1, capacity // _SLOTS_OF_A_SET)
        size = self._set_count * _SLOTS_OF_A_SET * _SLOT.size
        self._file = os.open(folder / "limits", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(self._file, size)  # keeps the content of a file of this size
        self._map = mmap.mmap(self._file, size)
        self._lock = threading.Lock()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude all other threads and processes for the block."""
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)

    def find(self, key: BucketKey) -> Level | None:
        """Return the level of a bucket; None if it was not charged, or was forgotten."""
        digest = _compute_digest(key)
        for offset in self._list_offsets(digest):
            slot_digest, missing, time_ns = _SLOT.unpack_from(self._map, offset)
            if slot_digest == digest:
                return Level(missing, time_ns)
        return None

    def put(self, key: BucketKey, value: Level) -> None:
        """Store the level of a bucket."""
        digest = _compute_digest(key)
        oldest_offset, oldest_time = -1, 0
        for offset in self._list_offsets(digest):
            slot_digest, _, time_ns = _SLOT.unpack_from(self._map, offset)
            if slot_digest in (digest, _EMPTY):
                oldest_offset = offset
                break
            if oldest_offset < 0 or time_ns < oldest_time:
                oldest_offset, oldest_time = offset, time_ns
        self._map[oldest_offset : oldest_offset + _SLOT.size] = _SLOT.pack(digest, *value)

    def close(self) -> None:
        """Close the file."""
        self._map.close()
        os.close(self._file)

    def _list_offsets(self, digest: bytes) -> range:
        """Return the offsets of the slots in which a digest may be."""
        set_size = _SLOTS_OF_A_SET * _SLOT.size
        first = int.from_bytes(digest[:8], "big") % self._set_count * set_size
        return range(first, first + set_size, _SLOT.size)


def _compute_digest(key: BucketKey) -> bytes:
    return hashlib.blake2b(
        "\0".join(key).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES
    ).digest()
