"""A trail: one walk back from a commit, as far as it was asked for, newest commit first.

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
from workspace.history.commits import Change, kind_of, told
from workspace.history.origins import Origins
from workspace.history.places import absent

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from workspace.git.ancestry import Graph
    from workspace.git.reader import GitReader
    from workspace.history.places import Place, Versions


class Station(NamedTuple):
    """A place in a commit."""

    commit: str
    place: Place


class Before(NamedTuple):
    """What a place was in a parent, which a commit is told against; None stands for the first commit's."""

    parent: str | None
    place: Place
    is_elsewhere: bool


class Step(NamedTuple):
    """What a commit did to a place.

    `before` is None where nothing is told of the commit; `parents` are the stations to go on from, `work`
    what the step took, in commits looked at, and `unread` the parents that could not be read.
    """

    parents: tuple[Station, ...]
    before: Before | None
    work: int
    unread: tuple[str, ...]


class Steps:
    """Takes steps through the history of one snapshot's settings."""

    def __init__(self, graph: Graph, versions: Versions, is_document: Callable[[str], bool]) -> None:
        self._graph = graph
        self._versions = versions
        self._origins = Origins(versions, is_document)

    def pass_by(self, station: Station, most: int, known: Container[str] = ()) -> tuple[Station, int]:
        """The commit before the next one that may have changed a station's document; how many were passed.

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
        return Station(commit, place), passed

    def take(self, station: Station) -> Step:
        """Return the step back from a station. What cannot be read of the history is told, not raised."""
        commit, place = station
        try:
            node = self._graph.node(commit)
        except DamagedRepository:
            return Step((), None, 1, (commit,))
        if not node.parents:
            return Step((), self._created(place), 1, ())
        passed = self.pass_by(station, 1)
        if passed[1]:
            return Step((passed[0],), None, 1, ())
        work, unread = 1, []
        found: list[Before] = []
        for parent in node.parents:
            try:
                tree = self._graph.node(parent).tree
                origin = self._origins.of(place, node.tree, tree, self._graph.blob(tree, place.path))
            except DamagedRepository:
                unread.append(parent)
                continue
            work += origin.work
            if self._same(origin.place, place):
                return Step((Station(parent, origin.place),), None, work, ())
            found.append(Before(parent, origin.place, origin.is_elsewhere))
        return self._told(place, found, work, tuple(unread))

    def _told(self, place: Place, found: list[Before], work: int, unread: tuple[str, ...]) -> Step:
        if not found:
            return Step((), None, work, unread)
        alike = [other for other in found if other.place.is_there and self._same_text(other.place, place)]
        followed = alike[:1] or found
        against = next((other for other in followed if other.place.is_there), followed[0])
        parents = tuple(Station(other.parent, other.place) for other in followed if other.parent)
        return Step(parents, against, work, unread)

    def _created(self, place: Place) -> Before | None:
        """Return what a first commit did: it made what is there."""
        return Before(None, absent(place.path, place.key), False) if place.is_there else None

    def _same(self, one: Place, other: Place) -> bool:
        """Return True if a place is as it was: neither there, or at the same address with the same text."""
        if not one.is_there or not other.is_there:
            return one.is_there == other.is_there
        return one.address == other.address and self._same_text(one, other)

    def _same_text(self, one: Place, other: Place) -> bool:
        if one.key is None or one[2:] == other[2:]:
            return one.blob == other.blob
        if one.end - one.start != other.end - other.start:
            return False
        text = self._versions.text(one)
        return text is not None and text == self._versions.text(other)


_TOLD_EVERY = 500


class Found(NamedTuple):
    """A change, and how many commits had been looked at when it was found."""

    seen: int
    change: Change


class Frontier:
    """The stations that a walk goes on from, the youngest first; each is met once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._waiting: list[tuple[int, int, Station]] = []
        self._met: set[tuple[str, str, str | None, int]] = set()
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, station: Station) -> bool:
        """Add a station; whether it is new."""
        if not self.meet(station):
            return False
        self._count += 1
        heappush(self._waiting, (-self._graph.time(station.commit), self._count, station))
        return True

    def meet(self, station: Station) -> bool:
        """Mark a station as met; whether it is new."""
        commit, place = station
        key = (commit, place.path, place.key, place.start)
        if key in self._met:
            return False
        self._met.add(key)
        return True

    def pop(self) -> Station:
        """Take the youngest."""
        return heappop(self._waiting)[2]

    def copy(self) -> Frontier:
        """Return the same stations, to go on from by another way."""
        other = Frontier(self._graph)
        other._waiting, other._met, other._count = [*self._waiting], {*self._met}, self._count
        return other


class Trail:
    """The changes of one place that were found so far. Its methods are called by one thread at a time.

    `seen` counts the commits that were looked at; `unread` are those that could not be read.
    """

    def __init__(
        self, git: GitReader, graph: Graph, versions: Versions, steps: Steps, start: Station
    ) -> None:
        self._git, self._steps = git, steps
        self.versions = versions
        self.start = start
        self._frontier = Frontier(graph)
        self._frontier.add(start)
        self.lock = threading.Lock()
        self.found: list[Found] = []
        self.seen = 0
        self.unread: list[str] = []

    @property
    def is_done(self) -> bool:
        """Whether the walk has come to its end."""
        return not self._frontier

    def walk(
        self,
        until: int,
        work: int,
        known: Mapping[str, Trail],
        progress: Callable[[int, int, str], None] | None,
    ) -> None:
        """Goes on until so many changes are known, the end is reached, or so much work was done.

        `known` are trails by the commits that they began with, which need not be walked again.
        """
        left, due = work, _TOLD_EVERY
        while self._frontier and len(self.found) < until and left > 0:
            station = self._frontier.pop()
            if not self._frontier:
                if self._join(known, station):
                    continue
                station, passed = self._steps.pass_by(station, min(left, _TOLD_EVERY), known)
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
                due += _TOLD_EVERY
                progress(work - left, work, "Reading the history")

    def _join(self, known: Mapping[str, Trail], station: Station) -> bool:
        """Take over what is known from a station on, to the same end as if it was walked here."""
        other = known.get(station.commit)
        if other is None or other.start != station:
            return False
        with other.lock:
            self.found += [Found(self.seen + seen, change) for seen, change in other.found]
            self.seen += other.seen
            self.unread += other.unread
            self.versions.is_cut |= other.versions.is_cut
            self._frontier = other._frontier.copy()
        return True

    def _tell(self, station: Station, step: Step) -> None:
        if step.before is None:
            return
        try:
            commit = self._git.commit(station.commit)
        except DamagedRepository:
            self.unread.append(station.commit)
            return
        parent, old, is_elsewhere = step.before
        kind = kind_of(old, station.place, self.versions, is_elsewhere=is_elsewhere)
        change = Change(told(commit), parent, kind, old, station.place, self.versions)
        self.found.append(Found(self.seen, change))
