"""Overlays: indexes of commits other than the tip, made of the index and a difference in memory.

The results of an overlay equal those of an index of its commit, to the last digit. An overlay is therefore
identified by its commit, and stays valid when the branch and the index change. If most of a commit differs,
or its settings change the pages, the overlay has all pages in memory. The most recent overlays are cached,
and their pages are reused for the next one. `python -m benchmarks.checks.refs` measures the first search of a
commit with and without this reuse.

Documents with equal path, blob, settings and manifests have equal pages, so nothing is analysed twice while
it is cached.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from index.building.build import compute_state, remove_pages
from index.building.builder import build_segments
from index.page import IndexedDocument, SectionRecord, UnreadableDocument
from index.port import Progress, Query, Results
from index.ranking.cache import ArrayCache
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.merge import merge
from index.segments.store import Store
from index.source import diff_snapshots, read_pages
from index.whoosh_engine.engine import Searcher
from workspace.config.taxonomy import Values
from workspace.errors import InvalidConfig
from workspace.git.repository import DamagedRepository
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from index.live import LiveIndex
    from workspace.workspace import Workspace

MAX_SMALL_SECTIONS = 5_000
"""The largest number of sections of a small part; small parts are merged into one."""

_MAX_SECTIONS_PER_REUSED = 8
"""The largest ratio of all sections of a large segment to those that are reused."""

ManifestValues = Callable[[str], Values | None]
"""Returns the values that the manifests give a document; None if they are unknown."""


class CachedParts(NamedTuple):
    """Parts whose pages can be reused, with the manifest values at the time they were read."""

    parts: Sequence[SegmentReader]
    manifest_values: ManifestValues


class ReusedParts(NamedTuple):
    """Parts in which only the required pages are live, and the blobs of the other documents by path."""

    parts: tuple[SegmentReader, ...]
    remaining: Mapping[str, str]


class AddedParts(NamedTuple):
    """New parts, and the documents that Git could not read, each with its blob."""

    parts: tuple[SegmentReader, ...]
    unreadable: Mapping[str, str]


def reuse_pages(
    required: Mapping[str, str], manifest_values: ManifestValues, cached: Iterable[CachedParts]
) -> ReusedParts:
    """Find the required documents, given as blobs by path, in the pages of cached parts."""
    remaining = dict(required)
    parts: list[SegmentReader] = []
    for part, cached_manifest_values in (
        (part, source.manifest_values) for source in cached for part in source.parts
    ):
        segment = part.segment
        pages = {path: part.find(path) for path in remaining}
        reused_pages = {
            path: page
            for path, page in pages.items()
            if page is not None
            and segment.blob(page) == remaining[path]
            and cached_manifest_values(path) == manifest_values(path)
        }
        sections = sum(len(segment.sections_of(page)) for page in reused_pages.values())
        if reused_pages and (
            segment.size <= MAX_SMALL_SECTIONS or _MAX_SECTIONS_PER_REUSED * sections >= segment.size
        ):
            parts.append(SegmentReader.of(segment, set(range(segment.pages)) - set(reused_pages.values())))
            for path in reused_pages:
                del remaining[path]
    return ReusedParts(tuple(parts), remaining)


def add_remaining(
    reused: Iterable[SegmentReader], remaining: Iterable[IndexedDocument | UnreadableDocument]
) -> AddedParts:
    """Index the remaining documents, in ascending order of path, and add them to the reused parts."""
    built = build_segments(remaining)
    return AddedParts(_merge_small_parts([*reused, *map(SegmentReader.of, built.segments)]), built.unreadable)


def _merge_small_parts(parts: Sequence[SegmentReader]) -> tuple[SegmentReader, ...]:
    """Merge the small parts into one without dead pages."""
    small = [part for part in parts if part.segment.size <= MAX_SMALL_SECTIONS]
    if len(small) < 2 and not any(part.dead_pages for part in small):
        return tuple(parts)
    large = [part for part in parts if part.segment.size > MAX_SMALL_SECTIONS]
    return (*large, SegmentReader.of(merge(small)))


MAX_OVERLAYS = 16
"""The largest number of cached overlays. The last one is always cached."""

MAX_OVERLAY_BYTES = 64 << 20
"""The bytes of memory of all cached overlays."""

_CACHED_BYTES = 4 << 20


class ReadSettings(NamedTuple):
    """The settings that decide a document's page, in addition to its bytes and the manifests."""

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
    """An index of one commit, based on that of another. Safe to use from threads.

    `own_parts` has the parts that the base index does not have, and `manifest_values` the manifest values of
    each document in them. `read_settings` are the settings by which they were read, `keys` the keys of the
    taxonomy.
    """

    searcher: Searcher
    own_parts: tuple[SegmentReader, ...]
    manifest_values: Mapping[str, Values]
    read_settings: ReadSettings
    keys: tuple[str, ...]
    live: LiveIndex

    @property
    def nbytes(self) -> int:
        """The bytes of its own parts in memory, without those that are mapped from files."""
        segments = (part.segment for part in self.own_parts if part.segment.stamp is None)
        return sum(array.nbytes for segment in segments for array in segment.arrays.values())

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        """Return a range of results. Raises GenerationGone for another generation than its own."""
        read = self.live.texts.read
        return self.searcher.search(query, read, offset=offset, limit=limit, generation=generation)

    def values(self) -> dict[str, Mapping[str, int]]:
        """Count the sections that have each value of each taxonomy key of the commit."""
        return {key: self.searcher.values(key) for key in self.keys}

    def similar(self, word: str, limit: int) -> tuple[str, ...]:
        """Return at most `limit` terms that a folded word may mean."""
        return self.searcher.similar(word, limit)

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

    def at(self, snapshot: Snapshot, progress: Progress | None = None) -> Overlay:
        """Return the overlay of a commit; one thread creates it while others wait.

        Raises InvalidConfig, and the errors of following the branch if there is no index yet.
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
    def size(self) -> int:
        """The bytes of memory of the cached overlays."""
        with self._lock:
            return sum(overlay.nbytes for overlay in self._cached_overlays.values())

    def close(self) -> None:
        """Release all overlays, and those under construction."""
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
                progress(0, 0, "Waiting for another call to index")
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
        if cached_overlay.searcher.generation.is_untouched() and not self.live.is_readable_again(
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
            size = sum(overlay.nbytes for overlay in self._cached_overlays.values())
            while len(self._cached_overlays) > 1 and (
                len(self._cached_overlays) > MAX_OVERLAYS or size > MAX_OVERLAY_BYTES
            ):
                size -= self._cached_overlays.popitem(last=False)[1].nbytes

    def _make_overlay(self, target: Snapshot, progress: Progress | None) -> Overlay:
        base = self._read_base(progress)
        read_settings = ReadSettings.of(target)
        parts, required, is_rebuilt = _reuse_base_parts(base, target)
        cached_parts = self._list_cached_parts(read_settings)
        if is_rebuilt and base is not None and base.read_settings == read_settings:
            cached_parts.append(CachedParts(base.generation.parts, base.snapshot.taxonomy.manifest_values))
        manifest_values = {path: target.taxonomy.manifest_values(path) for path in required}
        reused = reuse_pages(required, manifest_values.get, cached_parts)
        own_parts, unreadable = add_remaining(
            reused.parts, read_pages(target, reused.remaining, progress, "Indexing another commit")
        )
        all_parts = tuple(part for part in (*parts, *own_parts) if part.pages)
        generation = IndexSnapshot(0, compute_state(all_parts, target.commit, unreadable), all_parts)
        searcher = Searcher(Store(None), generation, ArrayCache(_CACHED_BYTES))
        return Overlay(
            searcher, own_parts, manifest_values, read_settings, tuple(target.config.taxonomy_keys), self.live
        )

    def _list_cached_parts(self, read_settings: ReadSettings) -> list[CachedParts]:
        """Return the cached parts that were read by the same settings, the most recent first."""
        with self._lock:
            overlays = [
                overlay
                for overlay in reversed(self._cached_overlays.values())
                if overlay.read_settings == read_settings
            ]
        return [CachedParts(overlay.own_parts, overlay.manifest_values.get) for overlay in overlays]

    def _read_base(self, progress: Progress | None) -> _Base | None:
        """Return the current index; None if its commit is no longer readable, or no index can be built."""
        with suppress(InvalidConfig, DamagedRepository):
            generation = self.live.generation(progress)
            commit = generation.state.commit if generation else None
            if generation is not None and (commit is None or self.workspace.has_commit(commit)):
                workspace = self.workspace
                snapshot = workspace.snapshot(commit) if commit else Snapshot(workspace.git, None)
                return _Base(generation, snapshot, ReadSettings.of(snapshot))
        return None


def _reuse_base_parts(
    base: _Base | None, target: Snapshot
) -> tuple[list[SegmentReader], dict[str, str], bool]:
    """Return the reusable parts of an index, the blobs of the other documents, and True without reuse."""
    if base is not None:
        generation, snapshot, _ = base
        with suppress(DamagedRepository):  # objects of an unreachable commit may have been pruned
            difference = diff_snapshots(snapshot, target, generation.state.files)
            if difference is not None:
                required = {**generation.state.unreadable, **difference.upserts}
                changed_paths = {*required, *difference.deletes}
                for path in difference.deletes:
                    required.pop(path, None)
                return [remove_pages(part, changed_paths) for part in generation.parts], required, False
    return [], dict(target.documents), True
