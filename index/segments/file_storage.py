"""The storage of an index in files: a folder for each full build, at the first writable location.

A writer holds the lock of the index's location. A change adds a small segment to the current folder; a
rebuild writes a new folder next to it. Both become visible in one step, by replacing the manifest or the
pointer to the folder. Without a writable location, the index is in memory: the open generation is all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from index.segments.generation import IndexSnapshot, SegmentsAndState
from index.segments.index_storage import BuildSegments, IndexWriter, T
from index.segments.store import Store
from index.storage.files import remove_entries
from index.storage.location import IndexFolder, IndexLocation
from index.storage.manifest import IndexDamaged
from index.storage.status import IndexStatus, find_index_leftovers, read_status
from index.storage.write_lock import IndexWriteLock

if TYPE_CHECKING:
    from index.port import Progress, State


class FileStorage:
    """The storage of the index at a location. `durable` forces each commit to the disk."""

    def __init__(self, index_location: IndexLocation, durable: bool = True) -> None:
        self._index_location = index_location
        self._durable = durable
        self._write_lock = IndexWriteLock(index_location)

    def read(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        return read_current(self._index_location.resolve(), previous)

    def peek(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        return read_current(self._index_location.peek(), previous)

    def write(
        self,
        work: Callable[[IndexWriter], T],
        has_index: Callable[[], bool],
        progress: Progress | None = None,
        *,
        can_move: bool = True,
    ) -> T:
        def write_at(location: IndexFolder | None) -> T:
            return work(FileWriter(location, self._durable))

        return self._write_lock.run(write_at, has_index, progress, can_move=can_move)

    def sweep(self, has_index: Callable[[], bool]) -> int:
        return self._write_lock.run(
            lambda location: remove_entries(find_index_leftovers(location)) if location else 0, has_index
        )

    def status(self, tip: str | None, opened: IndexSnapshot | None) -> IndexStatus:
        location = self._index_location.peek()
        snapshot = opened if opened is not None and location is None and opened.origin is None else None
        if location is not None:
            # Nothing is reused, so that all checksums are verified.
            with suppress(IndexDamaged):
                snapshot = read_current(location, None)
        state = snapshot.state if snapshot else None
        return read_status(location, tip, state, len(snapshot.segment_readers) if snapshot else 0)

    def close(self) -> None:
        with self._write_lock.block_writes():
            self._index_location.reset()


class FileWriter:
    """The writer of the index at a location, or in memory without one, while it holds the lock there."""

    def __init__(self, location: IndexFolder | None, durable: bool) -> None:
        self._location = location
        self._durable = durable
        if location is not None:
            location.sweep_before_write()

    def read(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        return read_current(self._location, previous)

    def commit(self, base: IndexSnapshot | None, change: SegmentsAndState) -> IndexSnapshot:
        if base is None:
            return self._build(lambda folder, durable: change)
        readers, state = change
        if not isinstance(base.origin, Path):
            return IndexSnapshot(base.number + 1, state, tuple(readers))
        return Store(base.origin, self._durable).commit(base, readers, state)

    def replace(
        self, build: BuildSegments, base: IndexSnapshot | None, unless: Callable[[State], bool] | None
    ) -> IndexSnapshot:
        if unless is not None:
            with suppress(IndexDamaged):
                current = self.read(base)
                if current is not None and unless(current.state):
                    return current
        return self._build(build)

    def _build(self, build: BuildSegments) -> IndexSnapshot:
        if self._location is None:
            readers, state = build(None, self._durable)
            return IndexSnapshot(0, state, tuple(readers))
        folder = self._location.prepare()
        try:
            readers, state = build(folder, self._durable)
            snapshot = Store(folder, self._durable).commit(None, readers, state)
            self._location.swap(folder)
        except BaseException:
            self._location.discard(folder)
            raise
        return snapshot


def read_current(location: IndexFolder | None, previous: IndexSnapshot | None) -> IndexSnapshot | None:
    """Return the current generation at a location, or in memory without one. Raises IndexDamaged."""
    if location is None:
        return previous if previous is not None and previous.origin is None else None
    folder = location.current()
    return Store(folder).read(previous) if folder is not None else None
