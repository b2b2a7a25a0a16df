"""The engine: one writer at a time, any number of readers, each at one generation.

A writer holds the lock of the index's location. A change adds a small segment and marks replaced documents as
dead; a rebuild writes a new folder next to the old one. Both become visible in one step, by replacing the
manifest or the pointer to the folder, and open readers stay valid.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from index.documents import IndexedDocument, SectionRecord, UnreadableDocument
from index.port import (
    BaseMoved,
    DocumentSource,
    GenerationGone,
    NotIndexed,
    Progress,
    Query,
    Results,
    State,
)
from index.ranking.cache import ArrayCache
from index.ranking.segment_groups import Statistics
from index.segments.generation import IndexSnapshot, SegmentReader, count_values
from index.segments.segment import DATE
from index.segments.store import Store
from index.status import IndexStatus, find_index_leftovers, read_status
from index.storage.files import remove_entries
from index.storage.location import SCHEMA_VERSION, IndexFolder, IndexLocation
from index.storage.manifest import IndexDamaged
from index.storage.write_lock import IndexWriteLock
from index.whoosh_engine.collector import SectionCollector
from index.whoosh_engine.flat_index import CodecReader, FlatIndex
from index.whoosh_engine.section_query import SectionQuery

if TYPE_CHECKING:
    from whoosh.searching import Searcher as WhooshSearcher

    from index.building.build import SegmentsAndState


@dataclass(frozen=True, eq=False)
class Searcher:
    """A searcher of one generation of a store: Whoosh's searcher, with the statistics for exact scores.

    `cache` outlives the searcher. Safe to use from threads.
    """

    store: Store
    generation: IndexSnapshot
    cache: ArrayCache
    _values: dict[str, Mapping[str, int]] = field(default_factory=dict, init=False)

    @property
    def folder(self) -> Path | None:
        """The folder of the index; None if it is in memory."""
        return self.store.folder

    @property
    def state(self) -> State:
        return self.generation.state

    @cached_property
    def generation_id(self) -> str:
        """An id of everything that decides results: the schema, the commit, and the unreadable documents."""
        schema_and_commit = f"{SCHEMA_VERSION}:{self.state.commit or ''}"
        unreadable = self.state.unreadable
        if not unreadable:
            return schema_and_commit
        return (
            f"{schema_and_commit}:{hashlib.sha256(json.dumps(sorted(unreadable)).encode()).hexdigest()[:16]}"
        )

    @cached_property
    def _whoosh(self) -> WhooshSearcher:
        return FlatIndex(self.generation).searcher()

    @cached_property
    def _reader(self) -> CodecReader:
        return CodecReader(self._whoosh.reader())

    @cached_property
    def statistics(self) -> Statistics:
        return Statistics(self._reader, self.cache)

    def search(
        self,
        query: Query,
        read: Callable[[SectionRecord], bytes],
        *,
        offset: int = 0,
        limit: int = 10,
        generation: str | None = None,
    ) -> Results:
        """Return the hits [offset, offset + limit) of a query; `read` returns the Markdown of a section.

        Raises GenerationGone if `generation` is not this searcher's generation.
        """
        self._check_generation(generation)
        collector = SectionCollector(self._reader, self.statistics, offset, limit)
        self._whoosh.search_with_collector(SectionQuery(query, read), collector)
        hits, has_more, is_partial = collector.result_range
        return Results(
            hits,
            has_more,
            self.generation_id,
            self.state,
            is_partial,
            collector.expanded_terms,
            frozenset(term for term in query.terms if not self.statistics.get_term_statistics(term).df),
        )

    def count_values(self, key: str) -> Mapping[str, int]:
        """Count the live sections that have each value of a taxonomy key."""
        if key not in self._values:
            self._values[key] = count_values(self.generation.segment_readers, key)
        return self._values[key]

    def has_dates(self, key: str) -> bool:
        """Return True if the front matter of a document has a date for a key."""
        return any(
            segment_reader.count_live_sections(DATE + key).any()
            for segment_reader in self.generation.segment_readers
        )

    def find_similar_terms(self, word: str, limit: int) -> tuple[str, ...]:
        """Return at most `limit` terms that a misspelt word may mean."""
        from index.spelling import find_similar_terms

        return find_similar_terms(self.statistics, word, limit)

    def _check_generation(self, generation: str | None) -> None:
        if generation is not None and generation != self.generation_id:
            raise GenerationGone(
                "the documents have changed since the first page of the results",
                fix="Start again at the first page.",
                generation=self.generation_id,
                commit=self.state.commit,
            )


class WhooshEngine:
    """The engine of the index at a location. Safe to use from several threads.

    `read` returns the Markdown of a section. `processes` is the number of processes of a full build; None
    derives it from the number of documents.
    """

    def __init__(
        self,
        index_location: IndexLocation,
        read: Callable[[SectionRecord], bytes],
        *,
        durable: bool = True,
        processes: int | None = None,
    ) -> None:
        self._index_location = index_location
        self._read_text = read
        self._durable = durable
        self._processes = processes
        self._cache = ArrayCache()
        self._write_lock = IndexWriteLock(index_location, lambda: self.serving_state() is not None)
        self._searcher: Searcher | None = None
        self._searcher_lock = threading.Lock()

    def state(self) -> State | None:
        """Read the state that the last writer of any process has committed. Raises IndexDamaged."""
        searcher = self._read_searcher(self._index_location.resolve())
        return searcher.state if searcher else None

    def peek_state(self) -> State | None:
        """Read the state at the current location, without choosing another one. Raises IndexDamaged."""
        searcher = self._read_searcher(self._index_location.peek())
        return searcher.state if searcher else None

    def serving_state(self) -> State | None:
        """Return the state of the index that can be searched now; None if there is none."""
        generation = self.generation()
        return generation.state if generation else None

    def generation(self) -> IndexSnapshot | None:
        """Return the open index if its files are unchanged, else the committed one; None without either."""
        searcher = self._searcher
        if searcher is None or not searcher.generation.is_untouched():
            try:
                searcher = self._read_searcher(self._index_location.peek())
            except IndexDamaged:
                return None
        return searcher.generation if searcher else None

    def apply(
        self,
        base: str | None,
        commit: str | None,
        upserts: Iterable[IndexedDocument | UnreadableDocument],
        deletes: Iterable[str],
    ) -> State:
        """Apply a change, as `index.port.Engine` defines. The documents are read under the write lock."""

        def apply_under_lock(location: IndexFolder | None) -> State:
            searcher = self._read_searcher(location)
            _remove_leftovers(location, searcher.folder if searcher else None)
            state = searcher.state if searcher else None
            if state is not None and state.commit == commit != base:
                return state
            if (state.commit if state else None) != base:
                raise _make_base_error(state)
            from index.building.build import apply_change, begin_index

            if searcher is None:
                return self._build_new(location, lambda _: begin_index(commit, upserts))
            generation = searcher.generation
            return self._commit(
                searcher.store, generation, apply_change(generation, commit, upserts, deletes)
            )

        return self._write_lock.run(apply_under_lock, can_move=False)

    def rebuild(
        self,
        source: DocumentSource,
        progress: Progress | None = None,
        *,
        unless: Callable[[State], bool] | None = None,
    ) -> State:
        """Rebuild the index, as `index.port.Engine` defines.

        Raises IndexBusy, IndexUnwritable, and the errors of `source`.
        """

        def build_segments(folder: Path | None) -> SegmentsAndState:
            from index.building.build import build_index

            return build_index(source, folder, self._processes, progress, durable=self._durable)

        def rebuild_unless_current(location: IndexFolder | None) -> State:
            _remove_leftovers(location, location.current() if location else None)
            if unless is not None:
                with suppress(IndexDamaged):
                    searcher = self._read_searcher(location)
                    if searcher is not None and unless(searcher.state):
                        return searcher.state
            return self._build_new(location, build_segments)

        return self._write_lock.run(rebuild_unless_current, progress)

    def adopt(self, segment_readers: Sequence[SegmentReader], state: State) -> None:
        """Use segments that the caller has opened as an index in memory. Nothing is written."""
        self._commit(Store(None), None, (segment_readers, state))

    def search(
        self,
        query: Query,
        *,
        offset: int = 0,
        limit: int = 10,
        generation: str | None = None,
    ) -> Results:
        """Search the index, as `index.port.Engine` defines."""
        searcher = self._get_searcher()
        if searcher is None:
            raise NotIndexed("there is no index yet", fix="Run `docyard index rebuild`.")
        return searcher.search(query, self._read_text, offset=offset, limit=limit, generation=generation)

    def count_values(self, key: str) -> Mapping[str, int]:
        """Count the values of a key, as `index.port.Engine` defines."""
        return searcher.count_values(key) if (searcher := self._get_searcher()) else {}

    def has_dates(self, key: str) -> bool:
        """Return True if the front matter of a document has a date for a key."""
        return (searcher := self._get_searcher()) is not None and searcher.has_dates(key)

    def find_similar_terms(self, word: str, limit: int) -> tuple[str, ...]:
        """Return similar terms, as `index.port.Engine` defines."""
        return searcher.find_similar_terms(word, limit) if (searcher := self._get_searcher()) else ()

    def sweep(self) -> int:
        """Remove the files of crashed writers; return the number of files and folders. Raises IndexBusy."""
        return self._write_lock.run(
            lambda location: remove_entries(find_index_leftovers(location)) if location else 0
        )

    def status(self, tip: str | None) -> IndexStatus:
        """Return the status of the index, without building, repairing or updating the index."""
        location = self._index_location.peek()
        folder = location.current() if location else None
        generation: IndexSnapshot | None = None
        if folder is not None:
            with suppress(IndexDamaged):
                generation = Store(folder).read()
        elif location is None and self._searcher is not None:
            generation = self._searcher.generation
        state = generation.state if generation else None
        return read_status(location, tip, state, len(generation.segment_readers) if generation else 0)

    def close(self) -> None:
        """Close the open index. An index in memory is lost."""
        with self._write_lock.block_writes():
            self._searcher = None
            self._index_location.reset()

    def _get_searcher(self) -> Searcher | None:
        """Return the searcher of the open index, else of the committed index; None if there is none."""
        return self._searcher or self._read_searcher(self._index_location.resolve())

    def _read_searcher(self, location: IndexFolder | None) -> Searcher | None:
        """Read the index in a location or in memory, and make it the open one. Raises IndexDamaged.

        If another thread has opened another generation meanwhile, the index is read again. A caller therefore
        never gets an older generation after a newer one.
        """
        while True:
            previous = self._searcher
            searcher = self._open_current(location, previous)
            with self._searcher_lock:
                if self._searcher is previous:
                    self._searcher = searcher
                    return searcher

    def _open_current(self, location: IndexFolder | None, searcher: Searcher | None) -> Searcher | None:
        """Read the index in a location or in memory, and reuse `searcher` if it is still current."""
        folder = location.current() if location else None
        if searcher is not None and searcher.store.folder != folder:
            searcher = None
        if folder is None and (searcher is None or location is not None):
            return None
        store = searcher.store if searcher else Store(folder, self._durable)
        generation = store.read(searcher.generation if searcher else None)
        if searcher is None or generation.number != searcher.generation.number:
            searcher = Searcher(store, generation, self._cache)
        return searcher

    def _build_new(
        self, location: IndexFolder | None, build_segments: Callable[[Path | None], SegmentsAndState]
    ) -> State:
        """Build an index next to the current one, and make it the current one."""
        folder = location.prepare() if location else None
        try:
            return self._commit(Store(folder, self._durable), None, build_segments(folder), location)
        except BaseException:
            if location and folder:
                location.discard(folder)
            raise

    def _commit(
        self,
        store: Store,
        previous: IndexSnapshot | None,
        change: SegmentsAndState,
        location: IndexFolder | None = None,
    ) -> State:
        """Commit a change; with a location, make the store's folder the current index there."""
        segment_readers, state = change
        generation = store.commit(previous, segment_readers, state)
        if location and store.folder:
            location.swap(store.folder)
        with self._searcher_lock:
            self._searcher = Searcher(store, generation, self._cache)
        return state


def _remove_leftovers(location: IndexFolder | None, keep: Path | None) -> None:
    """Remove the files of earlier writers except the current index; only the writer may call this."""
    if location is not None:
        with suppress(OSError):
            location.sweep(keep=keep)


def _make_base_error(state: State | None) -> BaseMoved:
    return BaseMoved(
        "the index is not at the base of the change",
        fix="Compute the change from the index's own commit.",
        commit=state.commit if state else None,
    )
