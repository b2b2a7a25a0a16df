"""The engine: one writer at a time, any number of readers, each at one generation.

A change adds a small segment and marks replaced documents as dead; a rebuild builds a full index next to the
old one. Both become visible in one step, and open readers stay valid. Where the index is stored is the
concern of its storage (`index.segments.index_storage`).
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from index.documents import IndexedDocument, SectionRecord, UnreadableDocument
from index.port import (
    BaseMoved,
    DocumentSource,
    EngineUnavailable,
    GenerationGone,
    NotIndexed,
    Progress,
    Query,
    Results,
    State,
)
from index.ranking.cache import ArrayCache
from index.ranking.segment_groups import Statistics
from index.segments.generation import IndexSnapshot, SegmentReader, SegmentsAndState, count_values
from index.segments.segment import DATE
from index.storage.location import SCHEMA_VERSION
from index.storage.manifest import IndexDamaged
from index.whoosh_engine.collector import SectionCollector
from index.whoosh_engine.flat_index import CodecReader, FlatIndex
from index.whoosh_engine.section_query import SectionQuery

if TYPE_CHECKING:
    from whoosh.searching import Searcher as WhooshSearcher

    from index.segments.index_storage import IndexStorage, IndexWriter
    from index.storage.status import IndexStatus


@dataclass(frozen=True, eq=False)
class Searcher:
    """A searcher of one generation of an index: Whoosh's searcher, with the statistics for exact scores.

    `cache` outlives the searcher. Safe to use from threads.
    """

    generation: IndexSnapshot
    cache: ArrayCache
    _values: dict[str, Mapping[str, int]] = field(default_factory=dict, init=False)

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
    """The engine of the index in a storage. Safe to use from several threads.

    `read` returns the Markdown of a section. `processes` is the number of processes of a full build; None
    derives it from the number of documents.
    """

    def __init__(
        self,
        storage: IndexStorage,
        read: Callable[[SectionRecord], bytes],
        *,
        processes: int | None = None,
    ) -> None:
        self._storage = storage
        self._read_text = read
        self._processes = processes
        self._cache = ArrayCache()
        self._searcher: Searcher | None = None
        self._searcher_lock = threading.Lock()

    def state(self) -> State | None:
        """Read the state that the last writer of any process has committed. Raises IndexDamaged."""
        searcher = self._open_current(self._storage.read)
        return searcher.state if searcher else None

    def peek_state(self) -> State | None:
        """Read the state at the current location, without choosing another one. Raises IndexDamaged."""
        searcher = self._open_current(self._storage.peek)
        return searcher.state if searcher else None

    def serving_state(self) -> State | None:
        """Return the state of the index that can be searched now; None if there is none."""
        generation = self.generation()
        return generation.state if generation else None

    def opened_state(self) -> State | None:
        """Return the state of the open index, without reading its storage; None if none is open."""
        searcher = self._searcher
        return searcher.state if searcher else None

    def generation(self) -> IndexSnapshot | None:
        """Return the open index if its files are unchanged, else the committed one; None without either."""
        searcher = self._searcher
        if searcher is None or not searcher.generation.is_untouched():
            try:
                searcher = self._open_current(self._storage.peek)
            except (IndexDamaged, EngineUnavailable):
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

        def apply_to_current(writer: IndexWriter) -> State:
            searcher = self._open_current(writer.read)
            state = searcher.state if searcher else None
            if state is not None and state.commit == commit != base:
                return state
            if (state.commit if state else None) != base:
                raise BaseMoved.to(state.commit if state else None)
            from index.building.build import apply_change, begin_index

            if searcher is None:
                return self._serve(writer.commit(None, begin_index(commit, upserts)))
            generation = searcher.generation
            change = apply_change(generation, commit, upserts, deletes)
            return self._serve(writer.commit(generation, change))

        return self._storage.write(apply_to_current, self._has_index, can_move=False)

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

        def build_segments(folder: Path | None, durable: bool) -> SegmentsAndState:
            from index.building.build import build_index

            return build_index(source, folder, self._processes, progress, durable=durable)

        def replace_current(writer: IndexWriter) -> State:
            opened = self._searcher.generation if self._searcher else None
            return self._serve(writer.replace(build_segments, opened, unless))

        return self._storage.write(replace_current, self._has_index, progress)

    def adopt(self, segment_readers: Sequence[SegmentReader], state: State) -> None:
        """Use segments that the caller has opened as an index in memory. Nothing is written."""
        self._serve(IndexSnapshot(0, state, tuple(segment_readers)))

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
        return self._storage.sweep(self._has_index)

    def status(self, tip: str | None) -> IndexStatus:
        """Return the status of the index, without building, repairing or updating the index."""
        return self._storage.status(tip, self._searcher.generation if self._searcher else None)

    def close(self) -> None:
        """Close the open index. An index in memory is lost."""
        self._storage.close()
        self._searcher = None

    def _has_index(self) -> bool:
        return self.serving_state() is not None

    def _get_searcher(self) -> Searcher | None:
        """Return the searcher of the open index, else of the committed index; None if there is none."""
        return self._searcher or self._open_current(self._storage.read)

    def _open_current(self, read: Callable[[IndexSnapshot | None], IndexSnapshot | None]) -> Searcher | None:
        """Read the current index, and make it the open one. Raises IndexDamaged.

        If another thread has opened another generation meanwhile, the index is read again. A caller therefore
        never gets an older generation after a newer one.
        """
        while True:
            previous = self._searcher
            generation = read(previous.generation if previous else None)
            if generation is None:
                searcher = None
            elif previous is not None and generation is previous.generation:
                searcher = previous
            else:
                searcher = Searcher(generation, self._cache)
            with self._searcher_lock:
                if self._searcher is previous:
                    self._searcher = searcher
                    return searcher

    def _serve(self, generation: IndexSnapshot) -> State:
        """Make a committed generation the open one, and return its state.

        Another thread may have opened a later one, which stays open.
        """
        with self._searcher_lock:
            opened = self._searcher.generation if self._searcher else None
            if generation is not opened and (opened is None or not opened.is_later_than(generation)):
                self._searcher = Searcher(generation, self._cache)
        return generation.state
