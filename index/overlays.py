"""Other commits than the tip, to be searched: the index less what differs, and what differs in memory.

An overlay's lists are those of an index of its commit, to the last digit, so it is named by the commit alone
and stays right when the branch, and the index, move on. Where most of a commit differs, or its settings ask
for other pages, all of it is in memory. The overlays that were asked for last are kept, and what they have
analysed is used for the next.

`python -m benchmarks.checks.refs` measures the first search of a commit with and without.

What stands for another commit than an index does: parts of it, and the documents that differ, in memory.

Nothing that was analysed once is analysed again while it is at hand: a document of the same path, blob,
settings and manifests has the same page.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakValueDictionary

from index.building.build import state_of, without
from index.building.builder import build_segments
from index.page import Page, Record, Unreadable
from index.port import Progress, Query, Results
from index.ranking.cache import ArrayCache
from index.segments.generation import Generation, Part
from index.segments.merge import merge
from index.segments.store import Store
from index.source import difference, pages
from index.whoosh_engine.engine import Opened
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


class AtHand(NamedTuple):
    """Parts whose pages may be used again, and what the manifests said of these when they were read."""

    parts: Sequence[Part]
    governed: Governed


class Taken(NamedTuple):
    """Parts in which only what is wanted lives, and the blobs of what is wanted beside, by path."""

    parts: tuple[Part, ...]
    rest: Mapping[str, str]


class Added(NamedTuple):
    """Parts to add to others, and the documents that Git could not read, each with its blob."""

    parts: tuple[Part, ...]
    unreadable: Mapping[str, str]


def take(wanted: Mapping[str, str], governed: Governed, at_hand: Iterable[AtHand]) -> Taken:
    """Look for documents, given as blobs by path, among the pages at hand."""
    rest = dict(wanted)
    parts: list[Part] = []
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
            parts.append(Part.of(segment, set(range(segment.pages)) - set(found.values())))
            for path in found:
                del rest[path]
    return Taken(tuple(parts), rest)


def added(taken: Iterable[Part], rest: Iterable[Page | Unreadable]) -> Added:
    """Put beside what was taken the rest, which is analysed; it comes in ascending order of path."""
    built = build_segments(rest)
    return Added(_joined([*taken, *map(Part.of, built.segments)]), built.unreadable)


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Make one part of the small ones, which then keep nothing that is dead."""
    small = [part for part in parts if part.segment.size <= SMALL]
    if len(small) < 2 and not any(part.dead_pages for part in small):
        return tuple(parts)
    large = [part for part in parts if part.segment.size > SMALL]
    return (*large, Part.of(merge(small)))


KEPT = 16


"""Overlays that are kept, if they fit; the last one always is."""


KEPT_BYTES = 64 << 20


"""The bytes of memory of what they have analysed."""


_CACHED_BYTES = 4 << 20


class Reading(NamedTuple):
    """The settings that decide, beside the bytes and the manifests, what is read of a document."""

    document_bytes: int
    keys: frozenset[str]

    @classmethod
    def of(cls, snapshot: Snapshot) -> Reading:
        """Return those of a commit. Raises InvalidConfig."""
        return cls(snapshot.config.limits.document_bytes, frozenset(snapshot.config.taxonomy_keys))


class _Base(NamedTuple):
    """The index as it is, the commit that it stands for, and the settings of that."""

    generation: Generation
    snapshot: Snapshot
    reading: Reading


@dataclass(frozen=True, eq=False)
class Overlay:
    """An index of one commit, made of another's. Safe to use from threads.

    `own` are the parts that the other does not have, `governed` is what the manifests say of each document in
    them, `reading` the settings by which they were read, `keys` those of the taxonomy.
    """

    opened: Opened
    own: tuple[Part, ...]
    governed: Mapping[str, Values]
    reading: Reading
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

    def text(self, record: Record) -> str:
        """Return what a section says beside its heading; what is not UTF-8 becomes U+FFFD."""
        return self.live.text(record)


class Overlays:
    """The overlays of an index that follows its branch. Safe to use from threads."""

    def __init__(self, workspace: Workspace, live: LiveIndex) -> None:
        """Nothing is made before it is asked for."""
        self.workspace = workspace
        self.live = live
        self._kept: OrderedDict[str | None, Overlay] = OrderedDict()
        self._turns: WeakValueDictionary[str | None, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()
        self._closed = 0

    def at(self, snapshot: Snapshot, progress: Progress | None = None) -> Overlay:
        """Return the overlay of a commit, made when it is first asked for, by one thread while others wait.

        Raises InvalidConfig, and what following the branch raises where there is no index yet.
        """
        with self._turn(snapshot.commit, progress):
            known = self._known(snapshot.commit)
            if known is not None:
                return known
            closed = self._closed
            made = self._made(snapshot, progress)
            self._keep(made, closed)
            return made

    @property
    def size(self) -> int:
        """The bytes of memory of what is kept."""
        with self._lock:
            return sum(overlay.nbytes for overlay in self._kept.values())

    def close(self) -> None:
        """Let go of all of them, and of those that are being made just now."""
        with self._lock:
            self._closed += 1
            self._kept.clear()

    @contextmanager
    def _turn(self, commit: str | None, progress: Progress | None) -> Iterator[None]:
        with self._lock:
            turn = self._turns.get(commit)
            if turn is None:
                turn = self._turns[commit] = threading.Lock()
        if not turn.acquire(blocking=False):
            if progress:
                progress(0, 0, "Waiting for another call to index")
            turn.acquire()
        try:
            yield
        finally:
            turn.release()

    def _known(self, commit: str | None) -> Overlay | None:
        """Give an overlay that is kept, if its files are as they were and it lacks nothing it could have."""
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
            while len(self._kept) > 1 and (len(self._kept) > KEPT or size > KEPT_BYTES):
                size -= self._kept.popitem(last=False)[1].nbytes

    def _made(self, target: Snapshot, progress: Progress | None) -> Overlay:
        base = self._base(progress)
        reading = Reading.of(target)
        parts, wanted, is_whole = _less(base, target)
        at_hand = self._at_hand(reading)
        if is_whole and base is not None and base.reading == reading:
            at_hand.append(AtHand(base.generation.parts, base.snapshot.taxonomy.governed))
        governed = {path: target.taxonomy.governed(path) for path in wanted}
        taken = take(wanted, governed.get, at_hand)
        own, unreadable = added(taken.parts, pages(target, taken.rest, progress, "Indexing another commit"))
        every = tuple(part for part in (*parts, *own) if part.pages)
        generation = Generation(0, state_of(every, target.commit, unreadable), every)
        opened = Opened(Store(None), generation, ArrayCache(_CACHED_BYTES))
        return Overlay(opened, own, governed, reading, tuple(target.config.taxonomy_keys), self.live)

    def _at_hand(self, reading: Reading) -> list[AtHand]:
        """Return what was analysed by the same settings, for the commits that were asked for last."""
        with self._lock:
            kept = [overlay for overlay in reversed(self._kept.values()) if overlay.reading == reading]
        return [AtHand(overlay.own, overlay.governed.get) for overlay in kept]

    def _base(self, progress: Progress | None) -> _Base | None:
        """The index as it is; None where its commit can be read no more, or none can be built of the tip."""
        with suppress(InvalidConfig, DamagedRepository):
            generation = self.live.generation(progress)
            commit = generation.state.commit if generation else None
            if generation is not None and (commit is None or self.workspace.exists(commit)):
                workspace = self.workspace
                snapshot = workspace.snapshot(commit) if commit else Snapshot(workspace.git, None)
                return _Base(generation, snapshot, Reading.of(snapshot))
        return None


def _less(base: _Base | None, target: Snapshot) -> tuple[list[Part], dict[str, str], bool]:
    """What of an index stands for another commit too, the blobs of what else that has, and if that is all."""
    if base is not None:
        generation, snapshot, _ = base
        with suppress(DamagedRepository):  # of a commit that was reset away, some objects may be gone
            found = difference(snapshot, target, generation.state.files)
            if found is not None:
                wanted = {**generation.state.unreadable, **found.upserts}
                gone = {*wanted, *found.deletes}
                for path in found.deletes:
                    wanted.pop(path, None)
                return [without(part, gone) for part in generation.parts], wanted, False
    return [], dict(target.documents), True
