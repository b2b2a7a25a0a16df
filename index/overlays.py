"""Overlays: indexes of other commits than the tip, made of the index and an in-memory difference.

The results of an overlay equal those of an index of its commit, to the last digit. It is therefore named by
the commit alone, and stays valid when the branch and the index move on. If most of a commit differs, or its
settings change the pages, all of it is in memory. The most recent overlays are cached, and their pages are
reused for the next one. `python -m benchmarks.checks.refs` measures the first search of a commit with and
without.

A document of the same path, blob, settings and manifests has the same page, so nothing is analysed twice
while it is cached.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from index.building.build import remove_pages, state_of
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

SMALL = 5_000
"""Sections of a part that is copied, rather than kept beside others, so that few parts remain."""

_SHARE = 8
"""Less than one part in so many of a large segment is not worth keeping all of it: it is analysed again."""

Governed = Callable[[str], Values | None]
"""Gives what the manifests say of a document; None where that is not known."""


class CachedParts(NamedTuple):
    """Parts whose pages can be reused, with the manifest values at the time they were read."""

    parts: Sequence[SegmentReader]
    governed: Governed


class ReusedParts(NamedTuple):
    """Parts with only the wanted pages live, and the blobs of the other wanted documents by path."""

    parts: tuple[SegmentReader, ...]
    rest: Mapping[str, str]


class AddedParts(NamedTuple):
    """Parts to add to others, and the documents that Git could not read, each with its blob."""

    parts: tuple[SegmentReader, ...]
    unreadable: Mapping[str, str]


def reuse_pages(wanted: Mapping[str, str], governed: Governed, at_hand: Iterable[CachedParts]) -> ReusedParts:
    """Find wanted documents, given as blobs by path, among the cached pages."""
    rest = dict(wanted)
    parts: list[SegmentReader] = []
    for part, said in ((part, source.governed) for source in at_hand for part in source.parts):
        segment = part.segment
        pages = {path: part.find(path) for path in rest}
        found = {
            path: page
            for path, page in pages.items()
            if page is not None and segment.blob(page) == rest[path] and said(path) == governed(path)
        }
        sections = sum(len(segment.sections_of(page)) for page in found.values())
        if found and (segment.size <= SMALL or _SHARE * sections >= segment.size):
            parts.append(SegmentReader.of(segment, set(range(segment.pages)) - set(found.values())))
            for path in found:
                del rest[path]
    return ReusedParts(tuple(parts), rest)


def add_rest(
    taken: Iterable[SegmentReader], rest: Iterable[IndexedDocument | UnreadableDocument]
) -> AddedParts:
    """Index the remaining documents, in ascending order of path, and add them to the reused parts."""
    built = build_segments(rest)
    return AddedParts(_merge_small([*taken, *map(SegmentReader.of, built.segments)]), built.unreadable)


def _merge_small(parts: Sequence[SegmentReader]) -> tuple[SegmentReader, ...]:
    """Merge the small parts into one without dead pages."""
    small = [part for part in parts if part.segment.size <= SMALL]
    if len(small) < 2 and not any(part.dead_pages for part in small):
        return tuple(parts)
    large = [part for part in parts if part.segment.size > SMALL]
    return (*large, SegmentReader.of(merge(small)))


MAX_OVERLAYS = 16
"""Overlays that are kept, if they fit; the last one always is."""

MAX_OVERLAY_BYTES = 64 << 20
"""The bytes of memory of what they have analysed."""

_CACHED_BYTES = 4 << 20


class ReadSettings(NamedTuple):
    """The settings that decide, beside the bytes and the manifests, what is read of a document."""

    document_bytes: int
    keys: frozenset[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> ReadSettings:
        """Return those of a commit. Raises InvalidConfig."""
        return cls(snapshot.config.limits.document_bytes, frozenset(snapshot.config.taxonomy_keys))


class _Base(NamedTuple):
    """The index as it is, the commit that it stands for, and the settings of that."""

    generation: IndexSnapshot
    snapshot: Snapshot
    reading: ReadSettings


@dataclass(frozen=True, eq=False)
class Overlay:
    """An index of one commit, made of another's. Safe to use from threads.

    `own` are the parts that the other does not have, `governed` is what the manifests say of each document in
    them, `reading` the settings by which they were read, `keys` those of the taxonomy.
    """

    opened: Searcher
    own: tuple[SegmentReader, ...]
    governed: Mapping[str, Values]
    reading: ReadSettings
    keys: tuple[str, ...]
    live: LiveIndex

    @property
    def nbytes(self) -> int:
        """The bytes of its own parts; those that are mapped from files take none."""
        own = (part.segment for part in self.own if part.segment.stamp is None)
        return sum(array.nbytes for segment in own for array in segment.arrays.values())

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        """Return a stretch of a list. Raises GenerationGone for another generation than its own."""
        read = self.live.texts.read
        return self.opened.search(query, read, offset=offset, limit=limit, generation=generation)

    def values(self) -> dict[str, Mapping[str, int]]:
        """Count the sections that have each value of each taxonomy key of the commit."""
        return {key: self.opened.values(key) for key in self.keys}

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """Return at most so many terms that a folded word may have meant."""
        return self.opened.similar(word, most)

    def text(self, record: SectionRecord) -> str:
        """Return what a section says beside its heading; what is not UTF-8 becomes U+FFFD."""
        return self.live.text(record)


class Overlays:
    """The overlays of an index that follows its branch. Safe to use from threads."""

    def __init__(self, workspace: Workspace, live: LiveIndex) -> None:
        """Create nothing until it is needed."""
        self.workspace = workspace
        self.live = live
        self._kept: OrderedDict[str | None, Overlay] = OrderedDict()
        self._locks: WeakValueDictionary[str | None, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._closed = 0

    def at(self, snapshot: Snapshot, progress: Progress | None = None) -> Overlay:
        """Return the overlay of a commit; one thread creates it while others wait.

        Raises InvalidConfig, and the errors of following the branch if there is no index yet.
        """
        with self._lock_commit(snapshot.commit, progress):
            known = self._cached(snapshot.commit)
            if known is not None:
                return known
            closed = self._closed
            made = self._make_overlay(snapshot, progress)
            self._keep(made, closed)
            return made

    @property
    def size(self) -> int:
        """The bytes of memory of the cached overlays."""
        with self._lock:
            return sum(overlay.nbytes for overlay in self._kept.values())

    def close(self) -> None:
        """Release all overlays, and those under construction."""
        with self._lock:
            self._closed += 1
            self._kept.clear()

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

    def _cached(self, commit: str | None) -> Overlay | None:
        """Return a cached overlay if its files are unchanged and no document is missing that can be read."""
        with self._lock:
            known = self._kept.get(commit)
            if known is None:
                return None
            self._kept.move_to_end(commit)
        if known.opened.generation.is_untouched() and not self.live.is_readable_again(known.opened.state):
            return known
        return None

    def _keep(self, made: Overlay, closed: int) -> None:
        with self._lock:
            if closed != self._closed:
                return
            self._kept.pop(made.opened.state.commit, None)
            self._kept[made.opened.state.commit] = made
            size = sum(overlay.nbytes for overlay in self._kept.values())
            while len(self._kept) > 1 and (len(self._kept) > MAX_OVERLAYS or size > MAX_OVERLAY_BYTES):
                size -= self._kept.popitem(last=False)[1].nbytes

    def _make_overlay(self, target: Snapshot, progress: Progress | None) -> Overlay:
        base = self._base(progress)
        reading = ReadSettings.of(target)
        parts, wanted, is_whole = _reuse_base(base, target)
        at_hand = self._at_hand(reading)
        if is_whole and base is not None and base.reading == reading:
            at_hand.append(CachedParts(base.generation.parts, base.snapshot.taxonomy.governed))
        governed = {path: target.taxonomy.governed(path) for path in wanted}
        taken = reuse_pages(wanted, governed.get, at_hand)
        own, unreadable = add_rest(
            taken.parts, read_pages(target, taken.rest, progress, "Indexing another commit")
        )
        every = tuple(part for part in (*parts, *own) if part.pages)
        generation = IndexSnapshot(0, state_of(every, target.commit, unreadable), every)
        opened = Searcher(Store(None), generation, ArrayCache(_CACHED_BYTES))
        return Overlay(opened, own, governed, reading, tuple(target.config.taxonomy_keys), self.live)

    def _at_hand(self, reading: ReadSettings) -> list[CachedParts]:
        """Return what was analysed by the same settings, for the commits that were asked for last."""
        with self._lock:
            kept = [overlay for overlay in reversed(self._kept.values()) if overlay.reading == reading]
        return [CachedParts(overlay.own, overlay.governed.get) for overlay in kept]

    def _base(self, progress: Progress | None) -> _Base | None:
        """Return the index as it is; None if its commit can no longer be read, or none can be built."""
        with suppress(InvalidConfig, DamagedRepository):
            generation = self.live.generation(progress)
            commit = generation.state.commit if generation else None
            if generation is not None and (commit is None or self.workspace.exists(commit)):
                workspace = self.workspace
                snapshot = workspace.snapshot(commit) if commit else Snapshot(workspace.git, None)
                return _Base(generation, snapshot, ReadSettings.of(snapshot))
        return None


def _reuse_base(base: _Base | None, target: Snapshot) -> tuple[list[SegmentReader], dict[str, str], bool]:
    """Return the reusable part of an index, the blobs of the rest, and whether that is everything."""
    if base is not None:
        generation, snapshot, _ = base
        with suppress(DamagedRepository):  # of a commit that was reset away, some objects may be gone
            found = diff_snapshots(snapshot, target, generation.state.files)
            if found is not None:
                wanted = {**generation.state.unreadable, **found.upserts}
                gone = {*wanted, *found.deletes}
                for path in found.deletes:
                    wanted.pop(path, None)
                return [remove_pages(part, gone) for part in generation.parts], wanted, False
    return [], dict(target.documents), True
