"""A trail: one walk back from a commit, as far as requested, newest commit first.

One step of a walk: what a commit did to a place, and where that was in the commit's parents.

A merge is told where it differs from every parent; where one parent has the same text at the same place, only
that one is followed (git-log(1), "History Simplification", "Default mode").
"""

from __future__ import annotations

import threading
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.repository import DamagedRepository
from workspace.history.commits import CommitChange, classify_change, describe_commit
from workspace.history.origins import Origins
from workspace.history.places import make_absent_range

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from workspace.git.ancestry import Graph
    from workspace.git.reader import GitReader
    from workspace.history.places import TextRange, Versions


class HistoryPoint(NamedTuple):
    """A text range in a commit."""

    commit: str
    place: TextRange


class ParentState(NamedTuple):
    """The range in a parent against which a commit is compared; None for the first commit."""

    parent: str | None
    place: TextRange
    is_elsewhere: bool


class HistoryStep(NamedTuple):
    """The change of a range by a commit.

    `before` is None where nothing is told of the commit; `parents` are the stations to go on from, `work`
    what the step took, in commits looked at, and `unread` the parents that could not be read.
    """

    parents: tuple[HistoryPoint, ...]
    before: ParentState | None
    work: int
    unread: tuple[str, ...]


class HistoryStepper:
    """Steps through the history, with one snapshot's settings."""

    def __init__(self, graph: Graph, versions: Versions, is_document: Callable[[str], bool]) -> None:
        self._graph = graph
        self._versions = versions
        self._origins = Origins(versions, is_document)

    def skip_unchanged(
        self, station: HistoryPoint, most: int, known: Container[str] = ()
    ) -> tuple[HistoryPoint, int]:
        """Return the commit before the next possible change of a document, and how many were skipped.

        It also ends at a commit of `known`. This is where nearly all of the time goes, so it asks for
        nothing but the file's id.
        """
        commit, place = station
        node, blob, passed = self._graph.node, self._graph.blob, 0
        with suppress(DamagedRepository):
            at = node(commit)
            while passed < most:
                for parent in at.parents:
                    before = node(parent)
                    if before.tree == at.tree or blob(before.tree, place.path) == place.blob:
                        commit, at = parent, before
                        break
                else:
                    break
                passed += 1
                if commit in known:
                    break
        return HistoryPoint(commit, place), passed

    def take(self, station: HistoryPoint) -> HistoryStep:
        """Return the step back from a point. Unreadable parts of the history are reported, not raised."""
        commit, place = station
        try:
            node = self._graph.node(commit)
        except DamagedRepository:
            return HistoryStep((), None, 1, (commit,))
        if not node.parents:
            return HistoryStep((), self._created(place), 1, ())
        passed = self.skip_unchanged(station, 1)
        if passed[1]:
            return HistoryStep((passed[0],), None, 1, ())
        work, unread = 1, []
        found: list[ParentState] = []
        for parent in node.parents:
            try:
                tree = self._graph.node(parent).tree
                origin = self._origins.find(place, node.tree, tree, self._graph.blob(tree, place.path))
            except DamagedRepository:
                unread.append(parent)
                continue
            work += origin.work
            if self._same(origin.place, place):
                return HistoryStep((HistoryPoint(parent, origin.place),), None, work, ())
            found.append(ParentState(parent, origin.place, origin.is_elsewhere))
        return self._make_step(place, found, work, tuple(unread))

    def _make_step(
        self, place: TextRange, found: list[ParentState], work: int, unread: tuple[str, ...]
    ) -> HistoryStep:
        if not found:
            return HistoryStep((), None, work, unread)
        alike = [other for other in found if other.place.is_there and self._same_text(other.place, place)]
        followed = alike[:1] or found
        against = next((other for other in followed if other.place.is_there), followed[0])
        parents = tuple(HistoryPoint(other.parent, other.place) for other in followed if other.parent)
        return HistoryStep(parents, against, work, unread)

    def _created(self, place: TextRange) -> ParentState | None:
        """Return the step of a first commit: it created the text."""
        return ParentState(None, make_absent_range(place.path, place.key), False) if place.is_there else None

    def _same(self, one: TextRange, other: TextRange) -> bool:
        """Return True if a range is unchanged: both absent, or the same address and text."""
        if not one.is_there or not other.is_there:
            return one.is_there == other.is_there
        return one.address == other.address and self._same_text(one, other)

    def _same_text(self, one: TextRange, other: TextRange) -> bool:
        if one.key is None or one[2:] == other[2:]:
            return one.blob == other.blob
        if one.end - one.start != other.end - other.start:
            return False
        text = self._versions.text(one)
        return text is not None and text == self._versions.text(other)


_PROGRESS_INTERVAL = 500


class FoundChange(NamedTuple):
    """A change, and the number of commits scanned before it."""

    seen: int
    change: CommitChange


class Frontier:
    """The points from which a walk continues, newest first; each is visited once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._waiting: list[tuple[int, int, HistoryPoint]] = []
        self._met: set[tuple[str, str, str | None, int]] = set()
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, station: HistoryPoint) -> bool:
        """Add a point; return True if it is new."""
        if not self.meet(station):
            return False
        self._count += 1
        heappush(self._waiting, (-self._graph.time(station.commit), self._count, station))
        return True

    def meet(self, station: HistoryPoint) -> bool:
        """Mark a point as visited; return True if it is new."""
        commit, place = station
        key = (commit, place.path, place.key, place.start)
        if key in self._met:
            return False
        self._met.add(key)
        return True

    def pop(self) -> HistoryPoint:
        """Remove and return the newest point."""
        return heappop(self._waiting)[2]

    def copy(self) -> Frontier:
        """Return the same points, for another walk."""
        other = Frontier(self._graph)
        other._waiting, other._met, other._count = [*self._waiting], {*self._met}, self._count
        return other


class Trail:
    """The changes of one range found so far. Its methods are called by one thread at a time.

    `seen` counts the commits that were looked at; `unread` are those that could not be read.
    """

    def __init__(
        self, git: GitReader, graph: Graph, versions: Versions, steps: HistoryStepper, start: HistoryPoint
    ) -> None:
        self._git, self._steps = git, steps
        self.versions = versions
        self.start = start
        self._frontier = Frontier(graph)
        self._frontier.add(start)
        self.lock = threading.Lock()
        self.found: list[FoundChange] = []
        self.seen = 0
        self.unread: list[str] = []

    @property
    def is_done(self) -> bool:
        """Return True if the walk has reached its end."""
        return not self._frontier

    def walk(
        self,
        until: int,
        work: int,
        known: Mapping[str, Trail],
        progress: Callable[[int, int, str], None] | None,
    ) -> None:
        """Walk until this many changes are known, the end is reached, or the work is used up.

        `known` are trails by the commits that they began with, which need not be walked again.
        """
        left, due = work, _PROGRESS_INTERVAL
        while self._frontier and len(self.found) < until and left > 0:
            station = self._frontier.pop()
            if not self._frontier:
                if self._join(known, station):
                    continue
                station, passed = self._steps.skip_unchanged(station, min(left, _PROGRESS_INTERVAL), known)
                left -= passed
                self.seen += passed
                # Where times are out of order, a younger commit's parents may have been met before it.
                if (passed and not self._frontier.meet(station)) or self._join(known, station):
                    continue
            step = self._steps.take(station)
            left -= step.work
            self.seen += 1
            self.unread += step.unread
            self._tell(station, step)
            for parent in step.parents:
                self._frontier.add(parent)
            if progress is not None and work - left >= due:
                due += _PROGRESS_INTERVAL
                progress(work - left, work, "Reading the history")

    def _join(self, known: Mapping[str, Trail], station: HistoryPoint) -> bool:
        """Add the known changes from a point on, to the same end as if they were walked here."""
        other = known.get(station.commit)
        if other is None or other.start != station:
            return False
        with other.lock:
            self.found += [FoundChange(self.seen + seen, change) for seen, change in other.found]
            self.seen += other.seen
            self.unread += other.unread
            self.versions.is_cut |= other.versions.is_cut
            self._frontier = other._frontier.copy()
        return True

    def _tell(self, station: HistoryPoint, step: HistoryStep) -> None:
        if step.before is None:
            return
        try:
            commit = self._git.commit(station.commit)
        except DamagedRepository:
            self.unread.append(station.commit)
            return
        parent, old, is_elsewhere = step.before
        kind = classify_change(old, station.place, self.versions, is_elsewhere=is_elsewhere)
        change = CommitChange(describe_commit(commit), parent, kind, old, station.place, self.versions)
        self.found.append(FoundChange(self.seen, change))
