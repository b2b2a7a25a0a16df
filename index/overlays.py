"""Overlays: indexes of commits other than the tip, composed of the index and a difference in memory.

The results of an overlay, with their scores, equal those of an index of its commit. An overlay is therefore
identified by its commit, and stays valid when the branch and the index change. If too many documents differ,
or the settings change how documents are read, the overlay has all documents in memory. The most recent
overlays are cached, and their segments are reused for the next overlay.
`python -m benchmarks.checks.refs` compares the first search of a commit with the build of a full index.

Documents with equal path, blob, settings and manifests are indexed equally, so cached ones are reused. Only a
large segment with few of the required documents is not reused.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from index.building.build import compute_state, copy_with_dead_documents
from index.building.builder import build_segments
from index.documents import IndexedDocument, SectionRecord, UnreadableDocument
from index.port import Progress, Query, Results
from index.ranking.cache import ArrayCache
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.merge import merge_segments
from index.source import diff_snapshots, read_documents
from index.whoosh_engine.engine import Searcher
from workspace.config.taxonomy import Values
from workspace.errors import InvalidConfig
from workspace.git.repository import DamagedRepository
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from index.live import LiveIndex
    from workspace.workspace import Workspace

MAX_SMALL_OVERLAY_SECTIONS = 5_000
"""The largest number of sections of a small segment; small segments are merged into one."""

_MAX_SECTIONS_PER_REUSED = 8
"""A large segment is reused only if it has at most this many sections for each reused section."""

ManifestValues = Callable[[str], Values | None]
"""Returns the values that the manifests give a document; None if they are unknown."""


class CachedSegments(NamedTuple):
    """Segments whose documents can be reused, with the manifest values at the time they were read."""

    segment_readers: Sequence[SegmentReader]
    manifest_values: ManifestValues


class ReusedSegments(NamedTuple):
    """Segments in which only required documents are live, and the blobs of the other required documents."""

    segment_readers: tuple[SegmentReader, ...]
    remaining_blobs: Mapping[str, str]


class AddedSegments(NamedTuple):
    """New segments, and the documents that Git could not read, each with its blob."""

    segment_readers: tuple[SegmentReader, ...]
    unreadable: Mapping[str, str]


def reuse_documents(
    required_blobs: Mapping[str, str],
    manifest_values: ManifestValues,
    cached_segments: Iterable[CachedSegments],
) -> ReusedSegments:
    """Find the required documents, given as blobs by path, in cached segments."""
    remaining_blobs = dict(required_blobs)
    readers: list[SegmentReader] = []
    for reader, cached_manifest_values in (
        (reader, segments.manifest_values)
        for segments in cached_segments
        for reader in segments.segment_readers
    ):
        segment = reader.segment
        document_numbers = {path: reader.find(path) for path in remaining_blobs}
        reused_documents = {
            path: document
            for path, document in document_numbers.items()
            if document is not None
            and segment.blob(document) == remaining_blobs[path]
            and cached_manifest_values(path) == manifest_values(path)
        }
        section_count = sum(len(segment.sections_of(document)) for document in reused_documents.values())
        if reused_documents and (
            segment.size <= MAX_SMALL_OVERLAY_SECTIONS
            or _MAX_SECTIONS_PER_REUSED * section_count >= segment.size
        ):
            unused_documents = set(range(segment.document_count)) - set(reused_documents.values())
            readers.append(SegmentReader.of(segment, unused_documents))
            for path in reused_documents:
                del remaining_blobs[path]
    return ReusedSegments(tuple(readers), remaining_blobs)


def index_documents(
    reused_readers: Iterable[SegmentReader], documents: Iterable[IndexedDocument | UnreadableDocument]
) -> AddedSegments:
    """Index documents, given in ascending order of path, and add their segments to the reused ones."""
    built_segments = build_segments(documents)
    return AddedSegments(
        _merge_small_segments([*reused_readers, *map(SegmentReader.of, built_segments.segments)]),
        built_segments.unreadable,
    )


def _merge_small_segments(readers: Sequence[SegmentReader]) -> tuple[SegmentReader, ...]:
    """Merge the small segments into one without dead documents."""
    small_readers = [reader for reader in readers if reader.segment.size <= MAX_SMALL_OVERLAY_SECTIONS]
    if len(small_readers) < 2 and not any(reader.dead_documents for reader in small_readers):
        return tuple(readers)
    large_readers = [reader for reader in readers if reader.segment.size > MAX_SMALL_OVERLAY_SECTIONS]
    return (*large_readers, SegmentReader.of(merge_segments(small_readers)))


def _join_readers_of_segments(readers: Iterable[SegmentReader]) -> tuple[SegmentReader, ...]:
    """Return one reader for each segment. A document is live in it if it is live in one of the given readers.

    The index and earlier overlays may share a segment, each with different live documents.
    """
    joined_readers: dict[str, SegmentReader] = {}
    for reader in readers:
        other_reader = joined_readers.get(reader.segment.id)
        joined_readers[reader.segment.id] = (
            reader
            if other_reader is None
            else SegmentReader.of(reader.segment, reader.dead_documents & other_reader.dead_documents)
        )
    return tuple(joined_readers.values())


MAX_OVERLAYS = 16
"""The largest number of cached overlays. The last one is always cached."""

MAX_OVERLAY_BYTES = 64 << 20
"""The largest number of bytes in memory of all cached overlays."""

_ARRAY_CACHE_BYTES = 4 << 20


class ReadSettings(NamedTuple):
    """The settings that decide how a document is indexed, in addition to its bytes and the manifests."""

    document_bytes: int
    keys: frozenset[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> ReadSettings:
        """Return the settings of a commit. Raises InvalidConfig."""
        return cls(snapshot.config.limits.document_bytes, frozenset(snapshot.config.taxonomy_keys))


class _Base(NamedTuple):
    """The current index, its commit, and the settings of that commit."""

    generation: IndexSnapshot
    snapshot: Snapshot
    read_settings: ReadSettings


@dataclass(frozen=True, eq=False)
class Overlay:
    """An index of one commit, based on the index of another commit. Safe to use from threads.

    `own_readers` has the segments that the base index does not have, and `manifest_values` the manifest
    values of each of their documents. `read_settings` are the settings by which these documents were read,
    `keys` the keys of the taxonomy.
    """

    searcher: Searcher
    own_readers: tuple[SegmentReader, ...]
    manifest_values: Mapping[str, Values]
    read_settings: ReadSettings
    keys: tuple[str, ...]
    live: LiveIndex

    @property
    def nbytes(self) -> int:
        """The number of bytes of its own segments in memory, without those that are mapped from files."""
        segments = (reader.segment for reader in self.own_readers if reader.segment.stamp is None)
        return sum(array.nbytes for segment in segments for array in segment.arrays.values())

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        """Return a range of results. Raises GenerationGone if `generation` is not the overlay's."""
        read = self.live.texts.read
        return self.searcher.search(query, read, offset=offset, limit=limit, generation=generation)

    def count_values(self) -> dict[str, Mapping[str, int]]:
        """Count the sections that have each value of each taxonomy key of the commit."""
        return {key: self.searcher.count_values(key) for key in self.keys}

    def find_similar_terms(self, word: str, limit: int) -> tuple[str, ...]:
        """Return at most `limit` terms that a folded word may mean."""
        return self.searcher.find_similar_terms(word, limit)

    def text(self, record: SectionRecord) -> str:
        """Return the text of a section without its heading; invalid UTF-8 becomes U+FFFD."""
        return self.live.text(record)


class Overlays:
    """The overlays of an index that follows its branch. Safe to use from threads."""

    def __init__(self, workspace: Workspace, live: LiveIndex) -> None:
        """Create nothing until it is needed."""
        self.workspace = workspace
        self.live = live
        self._cached_overlays: OrderedDict[str | None, Overlay] = OrderedDict()
        self._locks: WeakValueDictionary[str | None, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._close_count = 0

    def get_or_create(self, snapshot: Snapshot, progress: Progress | None = None) -> Overlay:
        """Return the overlay of a commit; one thread creates it while others wait.

        Raises InvalidConfig, and, if there is no index yet, the errors of `LiveIndex.update_to_tip`.
        """
        with self._lock_commit(snapshot.commit, progress):
            cached_overlay = self._find_cached(snapshot.commit)
            if cached_overlay is not None:
                return cached_overlay
            close_count = self._close_count
            overlay = self._make_overlay(snapshot, progress)
            self._add_to_cache(overlay, close_count)
            return overlay

    @property
    def nbytes(self) -> int:
        """The number of bytes in memory of the cached overlays."""
        with self._lock:
            return sum(overlay.nbytes for overlay in self._cached_overlays.values())

    def close(self) -> None:
        """Drop all cached overlays. An overlay that a thread is creating now is not cached."""
        with self._lock:
            self._close_count += 1
            self._cached_overlays.clear()

    @contextmanager
    def _lock_commit(self, commit: str | None, progress: Progress | None) -> Iterator[None]:
        with self._lock:
            lock = self._locks.get(commit)
            if lock is None:
                lock = self._locks[commit] = threading.Lock()
        if not lock.acquire(blocking=False):
            if progress:
                progress(0, 0, "Waiting for another call that indexes this commit")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _find_cached(self, commit: str | None) -> Overlay | None:
        """Return a cached overlay if its files are unchanged and no unreadable document became readable."""
        with self._lock:
            cached_overlay = self._cached_overlays.get(commit)
            if cached_overlay is None:
                return None
            self._cached_overlays.move_to_end(commit)
        if cached_overlay.searcher.generation.is_untouched() and not self.live.has_recovered_document(
            cached_overlay.searcher.state
        ):
            return cached_overlay
        return None

    def _add_to_cache(self, overlay: Overlay, close_count: int) -> None:
        with self._lock:
            if close_count != self._close_count:
                return
            self._cached_overlays.pop(overlay.searcher.state.commit, None)
            self._cached_overlays[overlay.searcher.state.commit] = overlay
            total_bytes = sum(overlay.nbytes for overlay in self._cached_overlays.values())
            while len(self._cached_overlays) > 1 and (
                len(self._cached_overlays) > MAX_OVERLAYS or total_bytes > MAX_OVERLAY_BYTES
            ):
                total_bytes -= self._cached_overlays.popitem(last=False)[1].nbytes

    def _make_overlay(self, target: Snapshot, progress: Progress | None) -> Overlay:
        base = self._read_base(progress)
        read_settings = ReadSettings.of(target)
        base_readers, required_blobs, is_rebuilt = _reuse_base_segments(base, target)
        cached_segments = self._list_cached_segments(read_settings)
        if is_rebuilt and base is not None and base.read_settings == read_settings:
            cached_segments.append(
                CachedSegments(base.generation.segment_readers, base.snapshot.taxonomy.manifest_values)
            )
        manifest_values = {path: target.taxonomy.manifest_values(path) for path in required_blobs}
        reused_segments = reuse_documents(required_blobs, manifest_values.get, cached_segments)
        own_readers, unreadable = index_documents(
            reused_segments.segment_readers,
            read_documents(target, reused_segments.remaining_blobs, progress, "Indexing another commit"),
        )
        all_readers = _join_readers_of_segments(
            reader for reader in (*base_readers, *own_readers) if reader.document_count
        )
        generation = IndexSnapshot(0, compute_state(all_readers, target.commit, unreadable), all_readers)
        searcher = Searcher(generation, ArrayCache(_ARRAY_CACHE_BYTES))
        return Overlay(
            searcher,
            own_readers,
            manifest_values,
            read_settings,
            tuple(target.config.taxonomy_keys),
            self.live,
        )

    def _list_cached_segments(self, read_settings: ReadSettings) -> list[CachedSegments]:
        """Return the cached segments that were read with the same settings, the most recent first."""
        with self._lock:
            overlays = [
                overlay
                for overlay in reversed(self._cached_overlays.values())
                if overlay.read_settings == read_settings
            ]
        return [CachedSegments(overlay.own_readers, overlay.manifest_values.get) for overlay in overlays]

    def _read_base(self, progress: Progress | None) -> _Base | None:
        """Return the current index; None if its commit cannot be read or its settings are invalid."""
        with suppress(InvalidConfig, DamagedRepository):
            generation = self.live.generation(progress)
            commit = generation.state.commit if generation else None
            if generation is not None and (commit is None or self.workspace.has_commit(commit)):
                workspace = self.workspace
                snapshot = workspace.snapshot(commit) if commit else Snapshot(workspace.git, None)
                return _Base(generation, snapshot, ReadSettings.of(snapshot))
        return None


def _reuse_base_segments(
    base: _Base | None, target: Snapshot
) -> tuple[list[SegmentReader], dict[str, str], bool]:
    """Return the segments to reuse, the blobs by path of the other documents, and True if none is reused."""
    if base is not None:
        generation, snapshot, _ = base
        with suppress(DamagedRepository):  # objects of an unreachable commit may have been pruned
            difference = diff_snapshots(snapshot, target, generation.state.files)
            if difference is not None:
                required_blobs = {**generation.state.unreadable, **difference.upserts}
                changed_paths = {*required_blobs, *difference.deletes}
                for path in difference.deletes:
                    required_blobs.pop(path, None)
                readers = [
                    copy_with_dead_documents(reader, changed_paths) for reader in generation.segment_readers
                ]
                return readers, required_blobs, False
    return [], dict(target.documents), True
