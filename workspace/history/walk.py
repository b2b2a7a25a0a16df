"""A trail: one walk back from a commit, as far as it was asked for, newest commit first."""

from __future__ import annotations

import threading
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from workspace.git import DamagedRepository
from workspace.history.commits import Change, kind_of
from workspace.history.steps import Station
from workspace.history.told import told

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from workspace.git import GitReader
    from workspace.git.ancestry import Graph
    from workspace.history.places import Versions
    from workspace.history.steps import Step, Steps

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
        """Adds a station; whether it is new."""
        if not self.meet(station):
            return False
        self._count += 1
        heappush(self._waiting, (-self._graph.time(station.commit), self._count, station))
        return True

    def meet(self, station: Station) -> bool:
        """Marks a station as met; whether it is new."""
        commit, place = station
        key = (commit, place.path, place.key, place.start)
        if key in self._met:
            return False
        self._met.add(key)
        return True

    def pop(self) -> Station:
        """Takes the youngest."""
        return heappop(self._waiting)[2]

    def copy(self) -> Frontier:
        """The same stations, to go on from by another way."""
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
        """Takes over what is known from a station on, to the same end as if it was walked here."""
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
