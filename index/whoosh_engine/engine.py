"""The engine: one writer at a time, any number of readers, each at one generation.

A writer holds the lock of the index's location. A change adds a small segment and marks replaced pages as
dead; a rebuild goes into a new folder next to the old one. Both become visible in one step, by replacing the
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

from index.page import IndexedDocument, SectionRecord, UnreadableDocument
from index.port import (
    BaseMoved,
    GenerationGone,
    NotIndexed,
    Progress,
    Query,
    Results,
    Source,
    State,
)
from index.query import make_phrase_filter, required_terms
from index.ranking.blocks import Statistics
from index.ranking.cache import ArrayCache
from index.ranking.results import top_results
from index.segments.generation import IndexSnapshot, SegmentReader, count_values
from index.segments.store import Store
from index.status import Status, find_leftovers, read_status
from index.storage.files import remove_entries
from index.storage.location import SCHEMA, IndexLocation, Location
from index.storage.manifest import IndexDamaged
from index.storage.write_lock import IndexWriteLock

if TYPE_CHECKING:
    from index.building.build import Change


@dataclass(frozen=True, eq=False)
class Searcher:
    """One generation of a store. `cache` outlives it. Safe to use from threads."""

    store: Store
    generation: IndexSnapshot
    cache: ArrayCache
    _values: dict[str, Mapping[str, int]] = field(default_factory=dict, init=False)

    @property
    def folder(self) -> Path | None:
        """Where the index is; None if it is in memory."""
        return self.store.folder

    @property
    def state(self) -> State:
        return self.generation.state

    @cached_property
    def edition(self) -> str:
        """What decides the lists: how they are made, the commit, and which of its documents were left out."""
        edition = f"{SCHEMA}:{self.state.commit or ''}"
        left_out = self.state.unreadable
        if not left_out:
            return edition
        return f"{edition}:{hashlib.sha256(json.dumps(sorted(left_out)).encode()).hexdigest()[:16]}"

    @cached_property
    def statistics(self) -> Statistics:
        return Statistics(self.generation.parts, self.cache)

    def search(
        self,
        query: Query,
        read: Callable[[SectionRecord], bytes],
        *,
        offset: int = 0,
        limit: int = 10,
        generation: str | None = None,
    ) -> Results:
        """Give the hits [offset, offset + limit) of a query; `read` gives the text of a section as Markdown.

        Raises GenerationGone if that is another generation than this one.
        """
        self._check(generation)
        stretch = top_results(
            self.statistics,
            query,
            offset=offset,
            limit=limit,
            required=[term for phrase in query.phrases for term in required_terms(phrase)],
            verify=make_phrase_filter(query.phrases, read) if query.phrases else None,
        )
        return Results(stretch.hits, stretch.more, self.edition, self.state, stretch.partial)

    def values(self, key: str) -> Mapping[str, int]:
        """Count the live sections that have each value of a taxonomy key."""
        if key not in self._values:
            self._values[key] = count_values(self.generation.parts, key)
        return self._values[key]

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """Return at most so many terms that a misspelt word may stand for."""
        from index.spelling import find_similar_terms

        return find_similar_terms(self.statistics, word, most)

    def _check(self, generation: str | None) -> None:
        if generation is not None and generation != self.edition:
            raise GenerationGone(
                "the documents have changed since the first page of the list",
                fix="Start again at the first page.",
                generation=self.edition,
                commit=self.state.commit,
            )


class WhooshEngine:
    """The engine of the index at a home. Safe to use from several threads.

    `read` gives the text of a section as Markdown. `processes` build a whole index, as many as its size asks
    for if None.
    """

    def __init__(
        self,
        home: IndexLocation,
        read: Callable[[SectionRecord], bytes],
        *,
        durable: bool = True,
        processes: int | None = None,
    ) -> None:
        self._home = home
        self._read_text = read
        self._durable = durable
        self._processes = processes
        self._cache = ArrayCache()
        self._write_lock = IndexWriteLock(home, lambda: self.serving() is not None)
        self._searcher: Searcher | None = None
        self._keeping = threading.Lock()

    def state(self) -> State | None:
        """Read the index as the last writer left it, be it this process or another. Raises IndexDamaged."""
        opened = self._read(self._home.resolve())
        return opened.state if opened else None

    def latest(self) -> State | None:
        """Read the same where the index lives now, and go nowhere else for it. Raises IndexDamaged."""
        opened = self._read(self._home.peek())
        return opened.state if opened else None

    def serving(self) -> State | None:
        """Return the state of what can be answered from at once: of what is open, else of what is there."""
        generation = self.generation()
        return generation.state if generation else None

    def generation(self) -> IndexSnapshot | None:
        """Return what can be answered from at once, with its parts."""
        opened = self._searcher
        if opened is None or not opened.generation.is_untouched():
            try:
                opened = self._read(self._home.peek())
            except IndexDamaged:
                return None
        return opened.generation if opened else None

    def apply(
        self,
        base: str | None,
        commit: str | None,
        upserts: Iterable[IndexedDocument | UnreadableDocument],
        deletes: Iterable[str],
    ) -> State:
        """As the port says. Only the writer whose turn it is reads the documents."""

        def change(location: Location | None) -> State:
            opened = self._read(location)
            _sweep(location, opened.folder if opened else None)
            state = opened.state if opened else None
            if state is not None and state.commit == commit != base:
                return state
            if (state.commit if state else None) != base:
                raise _moved_error(state)
            from index.building.build import apply_change, begin_index

            if opened is None:
                return self._fill(location, lambda _: begin_index(commit, upserts))
            generation = opened.generation
            return self._commit(opened.store, generation, apply_change(generation, commit, upserts, deletes))

        return self._write_lock.run(change, moves=False)

    def rebuild(
        self,
        source: Source,
        progress: Progress | None = None,
        *,
        unless: Callable[[State], bool] | None = None,
    ) -> State:
        """As the port says. Raises IndexBusy, IndexUnwritable, and what `source` raises."""

        def collect(folder: Path | None) -> Change:
            from index.building.build import build_index

            return build_index(source, folder, self._processes, progress, durable=self._durable)

        def anew(location: Location | None) -> State:
            _sweep(location, location.current() if location else None)
            if unless is not None:
                with suppress(IndexDamaged):
                    opened = self._read(location)
                    if opened is not None and unless(opened.state):
                        return opened.state
            return self._fill(location, collect)

        return self._write_lock.run(anew, progress)

    def adopt(self, parts: Sequence[SegmentReader], state: State) -> None:
        """Serve segments that were opened elsewhere, as an index in memory: nothing is written."""
        self._commit(Store(None), None, (parts, state))

    def search(
        self,
        query: Query,
        *,
        offset: int = 0,
        limit: int = 10,
        generation: str | None = None,
    ) -> Results:
        """As the port says."""
        opened = self._current()
        if opened is None:
            raise NotIndexed("there is no index yet", fix="Run `docyard index rebuild`.")
        return opened.search(query, self._read_text, offset=offset, limit=limit, generation=generation)

    def values(self, key: str) -> Mapping[str, int]:
        """As the port says."""
        return opened.values(key) if (opened := self._current()) else {}

    def similar(self, word: str, most: int) -> tuple[str, ...]:
        """As the port says."""
        return opened.similar(word, most) if (opened := self._current()) else ()

    def sweep(self) -> int:
        """Remove what writers that died left behind; return how many files and folders. Raises IndexBusy."""
        return self._write_lock.run(
            lambda location: remove_entries(find_leftovers(location)) if location else 0
        )

    def status(self, tip: str | None) -> Status:
        """Tell of the index, without building, mending or following it."""
        location = self._home.peek()
        folder = location.current() if location else None
        generation: IndexSnapshot | None = None
        if folder is not None:
            with suppress(IndexDamaged):
                generation = Store(folder).read()
        elif location is None and self._searcher is not None:
            generation = self._searcher.generation
        state = generation.state if generation else None
        return read_status(location, tip, state, len(generation.parts) if generation else 0)

    def close(self) -> None:
        """Let go of what is open; an index in memory is gone then."""
        with self._write_lock.exclusive():
            self._searcher = None
            self._home.reset()

    def _current(self) -> Searcher | None:
        """Return what is open, else what is there."""
        return self._searcher or self._read(self._home.resolve())

    def _read(self, location: Location | None) -> Searcher | None:
        """Read what is in a location, or in memory, and go on with it. Raises IndexDamaged.

        Where another thread has put something else there meanwhile, which may be older or newer, it is read
        again: whoever is told of a state gets no answer from an older one.
        """
        while True:
            before = self._searcher
            opened = self._look(location, before)
            with self._keeping:
                if self._searcher is before:
                    self._searcher = opened
                    return opened

    def _look(self, location: Location | None, opened: Searcher | None) -> Searcher | None:
        """Read what is in a location, or in memory; what is opened of it already is not opened again."""
        folder = location.current() if location else None
        if opened is not None and opened.store.folder != folder:
            opened = None
        if folder is None and (opened is None or location is not None):
            return None
        store = opened.store if opened else Store(folder, self._durable)
        generation = store.read(opened.generation if opened else None)
        if opened is None or generation.number != opened.generation.number:
            opened = Searcher(store, generation, self._cache)
        return opened

    def _fill(self, location: Location | None, collect: Callable[[Path | None], Change]) -> State:
        """Make an index beside the one that serves, and let it serve."""
        folder = location.prepare() if location else None
        try:
            return self._commit(Store(folder, self._durable), None, collect(folder), location)
        except BaseException:
            if location and folder:
                location.discard(folder)
            raise

    def _commit(
        self, store: Store, previous: IndexSnapshot | None, change: Change, location: Location | None = None
    ) -> State:
        """Make a change; that of a new folder, by putting this in its place in the location."""
        from index.whoosh_engine.codec import write_toc  # takes long to import, and is not needed to read

        parts, state = change
        generation = store.commit(previous, parts, state, write_toc)
        if location and store.folder:
            location.swap(store.folder)
        with self._keeping:
            self._searcher = Searcher(store, generation, self._cache)
        return state


def _sweep(location: Location | None, keep: Path | None) -> None:
    """Remove what earlier writers left beside the index that is kept; only for the writer."""
    if location is not None:
        with suppress(OSError):
            location.sweep(keep=keep)


def _moved_error(state: State | None) -> BaseMoved:
    return BaseMoved(
        "the index stands at another commit than the change begins with",
        fix="Begin with the commit that it stands at.",
        commit=state.commit if state else None,
    )
