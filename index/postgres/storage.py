"""The storage of an index in PostgreSQL: one index for all nodes that serve the same branch of a source.

A node downloads the segments that it lacks, saves them (`index.postgres.segment_files`), and evaluates
queries with them as with its own files. While its index is at the tip of the branch, it sends no query to the
database.

One process of a node writes at a time. Of two nodes, the one that commits first wins, and the other one gets
BaseMoved. A rebuild that is overtaken replaces what the other node has committed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from index.port import BaseMoved, EngineUnavailable
from index.postgres.heads import (
    OLD_VERSION_S,
    SEGMENT_GRACE_S,
    Head,
    SegmentEntry,
    choose_generation,
    create_tables,
    delete_head,
    delete_released_segments,
    follows_primary,
    has_tables,
    measure_segments,
    read_head,
    read_segments,
    release_old_versions,
    set_head,
    write_segment,
)
from index.postgres.segment_files import SegmentFiles
from index.segments.arrays import pack
from index.segments.generation import IndexSnapshot, SegmentReader, SegmentsAndState
from index.segments.index_storage import BuildSegments, IndexWriter, T
from index.segments.store import decode_numbers, encode_numbers
from index.storage.files import IndexUnwritable
from index.storage.location import IndexFolder, IndexLocation
from index.storage.manifest import IndexDamaged
from index.storage.status import IndexStatus, read_status
from index.storage.write_lock import IndexWriteLock

if TYPE_CHECKING:
    from index.port import Progress, State
    from index.postgres.database import Connection, Database
    from index.segments.segment import Segment

_SEGMENT_FOLDER = "segments"


class PostgresStorage:
    """The storage of the index of a namespace, whose id `namespace_id` returns.

    The node's own segments are at `index_location`. Segments that no head names are deleted after `grace_s`
    seconds.
    """

    def __init__(
        self,
        database: Database,
        namespace_id: Callable[[], str],
        index_location: IndexLocation,
        *,
        replica: Database | None = None,
        grace_s: float = SEGMENT_GRACE_S,
    ) -> None:
        self._database = database
        self._replica = replica
        self._namespace_id = namespace_id
        self._index_location = index_location
        self._grace_s = grace_s
        self._write_lock = IndexWriteLock(index_location)
        # Of the threads that need a new generation, one downloads its segments.
        self._read_lock = threading.Lock()

    def read(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        return self._read_at(self._index_location.resolve(), previous)

    def peek(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        return self._read_at(self._index_location.peek(), previous)

    def write(
        self,
        work: Callable[[IndexWriter], T],
        has_index: Callable[[], bool],
        progress: Progress | None = None,
        *,
        can_move: bool = True,
    ) -> T:
        def write_at(location: IndexFolder | None) -> T:
            return work(PostgresWriter(self._database, self._namespace_id(), location, self._grace_s))

        return self._write_lock.run(write_at, has_index, progress, can_move=can_move)

    def sweep(self, has_index: Callable[[], bool]) -> int:
        """Remove the files of dead writers, and delete all segments that no head names.

        A node that is downloading one of them reads the head again. Returns the number of files and rows.
        """

        def sweep_at(location: IndexFolder | None) -> int:
            file_count = location.sweep(keep=location.current()) if location else 0
            return file_count + self._database.run(self._delete_released_segments)

        return self._write_lock.run(sweep_at, has_index)

    def _delete_released_segments(self, connection: Connection) -> int:
        return delete_released_segments(connection, self._namespace_id(), 0) if has_tables(connection) else 0

    def status(self, tip: str | None, opened: IndexSnapshot | None) -> IndexStatus:
        location, namespace_id = self._index_location.peek(), self._namespace_id()
        local_status = replace(read_status(location, tip, None, 0), engine="postgresql")
        try:
            head = self._database.run(lambda connection: read_head(connection, namespace_id))
        except IndexDamaged:
            return replace(local_status, is_damaged=True)
        if head is None:
            return replace(local_status, size=0, is_damaged=False)
        sizes = self._database.run(
            lambda connection: measure_segments(connection, namespace_id, head.segment_ids)
        )
        is_damaged = any(sizes.get(entry.id) != entry.size for entry in head.segments)
        return replace(
            local_status,
            state=None if is_damaged else head.state,
            segments=len(head.segments),
            size=sum(sizes.values()),
            is_damaged=is_damaged,
        )

    def close(self) -> None:
        with self._write_lock.block_writes():
            self._index_location.reset()

    def _read_at(self, location: IndexFolder | None, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        with self._read_lock:
            try:
                return self._read_from_servers(location, previous)
            except IndexUnwritable:
                if location is None:
                    raise
                self._index_location.fall_back(location)
                return self._read_from_servers(None, previous)

    def _read_from_servers(
        self, location: IndexFolder | None, previous: IndexSnapshot | None
    ) -> IndexSnapshot | None:
        namespace_id, files = self._namespace_id(), _find_segment_files(location)
        primary_reader = PostgresReader(self._database, namespace_id, files)
        if self._replica is None:
            return primary_reader.read(previous)
        try:
            follows = self._replica.run(follows_primary)
            current = PostgresReader(self._replica, namespace_id, files).read(previous)
        except EngineUnavailable:
            return primary_reader.read(previous)
        if not follows:
            with suppress(EngineUnavailable):  # then the replica has the newest index that can be read
                return primary_reader.read(previous)
        # A replica may lag behind what this node has read or written.
        is_behind = (
            previous is not None
            and previous.origin == namespace_id
            and (current is None or previous.is_later_than(current))
        )
        return previous if is_behind else current


class PostgresReader:
    """The reader of the index of a namespace at one server, for a node with some segments."""

    def __init__(self, database: Database, namespace_id: str, files: SegmentFiles) -> None:
        self._database = database
        self._namespace_id = namespace_id
        self._files = files

    def read_head(self) -> Head | None:
        """Return the head; None if there is no index. Raises IndexDamaged."""
        return self._database.run(lambda connection: read_head(connection, self._namespace_id))

    def read(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        """Return the current generation, as `IndexStorage.read` defines."""
        return self.open(self.read_head(), previous)

    def open(self, head: Head | None, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        """Return the generation of a head, or of a later one if the segments of that are deleted already.

        Raises IndexDamaged.
        """
        if previous is not None and previous.origin != self._namespace_id:
            previous = None
        while head is not None:
            if previous is not None and previous.number == head.generation and previous.is_untouched():
                return previous
            segments = self._load_segments(head, previous)
            if segments is not None:
                self._files.remove_others(head.segment_ids)
                return self._make_snapshot(head, segments, previous)
            unreadable_generation, head = head.generation, self.read_head()
            if head is not None and head.generation == unreadable_generation:
                raise IndexDamaged.with_reason("the database lacks segments of the head")
        return None

    def _load_segments(self, head: Head, previous: IndexSnapshot | None) -> dict[str, Segment] | None:
        """Return the segments of a head by id; None if the server lacks one."""
        opened_segments = (
            {reader.segment.id: reader.segment for reader in previous.segment_readers} if previous else {}
        )
        segments: dict[str, Segment] = {}
        missing_entries: dict[str, SegmentEntry] = {}
        for entry in head.segments:
            segment = opened_segments.get(entry.id)
            if segment is None or not segment.is_untouched():
                segment = self._files.find(entry)
            if segment is not None:
                segments[entry.id] = segment
            else:
                missing_entries[entry.id] = entry
        if missing_entries:
            self._database.run(lambda connection: self._download(connection, missing_entries, segments))
        return segments if len(segments) == len(head.segments) else None

    def _download(
        self, connection: Connection, entries: Mapping[str, SegmentEntry], segments: dict[str, Segment]
    ) -> None:
        for id, parts in read_segments(connection, self._namespace_id, list(entries)):
            segments[id] = self._files.save(entries[id], parts)

    def _make_snapshot(
        self, head: Head, segments: Mapping[str, Segment], previous: IndexSnapshot | None
    ) -> IndexSnapshot:
        opened_readers = (
            {reader.segment.id: reader for reader in previous.segment_readers} if previous else {}
        )
        readers: list[SegmentReader] = []
        for entry in head.segments:
            segment, dead_documents = segments[entry.id], decode_numbers(entry.dead_documents)
            reader = opened_readers.get(entry.id)
            if reader is None or (reader.segment, reader.dead_documents) != (segment, dead_documents):
                reader = SegmentReader.of(segment, dead_documents)
            readers.append(reader)
        if sum(reader.size for reader in readers) != head.state.chunks:
            raise IndexDamaged.with_reason("the state does not match the segments")
        return IndexSnapshot(head.generation, head.state, tuple(readers), self._namespace_id)


class PostgresWriter:
    """The only writer of this node, at the primary server. Other nodes may write at the same time."""

    def __init__(
        self, database: Database, namespace_id: str, location: IndexFolder | None, grace_s: float
    ) -> None:
        self._database = database
        self._namespace_id = namespace_id
        self._location = location
        self._grace_s = grace_s
        self._files = _find_segment_files(location)
        self._reader = PostgresReader(database, namespace_id, self._files)
        self._head: Head | None = None
        if location is not None:
            location.sweep_before_write()

    def read(self, previous: IndexSnapshot | None) -> IndexSnapshot | None:
        self._head = self._reader.read_head()
        return self._reader.open(self._head, previous)

    def commit(self, base: IndexSnapshot | None, change: SegmentsAndState) -> IndexSnapshot:
        if (base.number if base else None) != (self._head.generation if self._head else None):
            raise BaseMoved.to(self._head.state.commit if self._head else None)
        readers, state = change
        return self._commit(self._save_segments(readers), state)

    def replace(
        self, build: BuildSegments, base: IndexSnapshot | None, unless: Callable[[State], bool] | None
    ) -> IndexSnapshot:
        current = self._read_unless(base, unless)
        if current is not None:
            return current
        folder = self._location.prepare() if self._location else None
        try:
            readers, state = build(folder, False)
            readers = self._save_segments(readers)
        finally:
            if self._location and folder:
                self._location.discard(folder)
        while True:
            try:
                return self._commit(readers, state)
            except BaseMoved:
                current = self._read_unless(base, unless)
                if current is not None:
                    return current

    def _read_unless(
        self, base: IndexSnapshot | None, unless: Callable[[State], bool] | None
    ) -> IndexSnapshot | None:
        """Read the head; return its generation if `unless` returns True for its state."""
        try:
            self._head = self._reader.read_head()
        except IndexDamaged:
            self._database.run(lambda connection: delete_head(connection, self._namespace_id))
            self._head = None
        if unless is not None and self._head is not None:
            with suppress(IndexDamaged):
                current = self._reader.open(self._head, base)
                if current is not None and unless(current.state):
                    return current
        return None

    def _save_segments(self, readers: Sequence[SegmentReader]) -> tuple[SegmentReader, ...]:
        """Save the new segments of a change on this node."""
        known_ids = self._head.segment_ids if self._head else frozenset()
        return tuple(
            reader
            if reader.segment.id in known_ids
            else replace(reader, segment=self._files.add(reader.segment))
            for reader in readers
        )

    def _commit(self, readers: tuple[SegmentReader, ...], state: State) -> IndexSnapshot:
        """Commit segments and a state in place of the head that was read last. Raises BaseMoved."""
        head = self._database.run(lambda connection: self._write(connection, readers, state))
        with suppress(EngineUnavailable):  # the next commit deletes them
            self._database.run(self._delete_unused_rows)
        self._files.remove_others(head.segment_ids)
        return IndexSnapshot(head.generation, state, readers, self._namespace_id)

    def _delete_unused_rows(self, connection: Connection) -> None:
        release_old_versions(connection, self._namespace_id, OLD_VERSION_S)
        delete_released_segments(connection, self._namespace_id, self._grace_s)

    def _write(self, connection: Connection, readers: Sequence[SegmentReader], state: State) -> Head:
        if self._head is None and not has_tables(connection):
            create_tables(connection)
        known_entries = {entry.id: entry for entry in self._head.segments} if self._head else {}
        entries: list[SegmentEntry] = []
        with connection.transaction():
            for segment, dead_documents in ((reader.segment, reader.dead_documents) for reader in readers):
                if (known_entry := known_entries.get(segment.id)) is not None:
                    size, sha256 = known_entry.size, known_entry.sha256
                else:
                    chunks = pack(segment.arrays, {"total": segment.total_length})
                    size, sha256 = write_segment(connection, self._namespace_id, segment.id, chunks)
                entries.append(SegmentEntry(segment.id, size, sha256, encode_numbers(dead_documents)))
            head = Head(choose_generation(self._head), state, tuple(entries))
            if not set_head(connection, self._namespace_id, head, self._head):
                current = read_head(connection, self._namespace_id)
                raise BaseMoved.to(current.state.commit if current else None)
        return head


def _find_segment_files(location: IndexFolder | None) -> SegmentFiles:
    return SegmentFiles(location.folder / _SEGMENT_FOLDER if location else None)
