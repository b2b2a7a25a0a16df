"""The walk back from a commit, as far as requested, newest commit first.

A step finds the change that a commit made to a text range, and the range in the commit's parents. A merge is
reported if it differs from every parent. If one parent has the same text at the same place, only that parent
is followed (git-log(1), "History Simplification", "Default mode").
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
    """The range in a parent with which a commit is compared; `parent` is None for the first commit."""

    parent: str | None
    place: TextRange
    is_elsewhere: bool


class HistoryStep(NamedTuple):
    """The change of a range by a commit.

    `before` is None if the commit made no change. `parents` are the points from which to continue. `work` is
    the cost of the step in scanned commits, and `unread` are the parents that could not be read.
    """

    parents: tuple[HistoryPoint, ...]
    before: ParentState | None
    work: int
    unread: tuple[str, ...]


class HistoryStepper:
    """The steps back through the history, with the settings of one snapshot."""

    def __init__(self, graph: Graph, versions: Versions, is_document: Callable[[str], bool]) -> None:
        self._graph = graph
        self._versions = versions
        self._origins = Origins(versions, is_document)

    def skip_unchanged(
        self, point: HistoryPoint, max_commits: int, known: Container[str] = ()
    ) -> tuple[HistoryPoint, int]:
        """Return the point before the next possible change of a document, and the number of skipped commits.

        The walk also stops at a commit of `known`. Most of the time is spent here, so only the ids of blobs
        are compared.
        """
        commit, text_range = point
        node, blob, skipped = self._graph.node, self._graph.blob, 0
        with suppress(DamagedRepository):
            commit_node = node(commit)
            while skipped < max_commits:
                for parent in commit_node.parents:
                    parent_node = node(parent)
                    if (
                        parent_node.tree == commit_node.tree
                        or blob(parent_node.tree, text_range.path) == text_range.blob
                    ):
                        commit, commit_node = parent, parent_node
                        break
                else:
                    break
                skipped += 1
                if commit in known:
                    break
        return HistoryPoint(commit, text_range), skipped

    def step_back(self, point: HistoryPoint) -> HistoryStep:
        """Return the step back from a point; unreadable parts of the history are listed in its `unread`."""
        commit, text_range = point
        try:
            node = self._graph.node(commit)
        except DamagedRepository:
            return HistoryStep((), None, 1, (commit,))
        if not node.parents:
            return HistoryStep((), self._make_creation(text_range), 1, ())
        skipped = self.skip_unchanged(point, 1)
        if skipped[1]:
            return HistoryStep((skipped[0],), None, 1, ())
        work, unreadable = 1, []
        states: list[ParentState] = []
        for parent in node.parents:
            try:
                tree = self._graph.node(parent).tree
                origin = self._origins.find(
                    text_range, node.tree, tree, self._graph.blob(tree, text_range.path)
                )
            except DamagedRepository:
                unreadable.append(parent)
                continue
            work += origin.work
            if self._is_unchanged(origin.place, text_range):
                return HistoryStep((HistoryPoint(parent, origin.place),), None, work, ())
            states.append(ParentState(parent, origin.place, origin.is_elsewhere))
        return self._make_step(text_range, states, work, tuple(unreadable))

    def _make_step(
        self, text_range: TextRange, states: list[ParentState], work: int, unreadable: tuple[str, ...]
    ) -> HistoryStep:
        if not states:
            return HistoryStep((), None, work, unreadable)
        equal_states = [
            state for state in states if state.place.exists and self._has_same_text(state.place, text_range)
        ]
        relevant_states = equal_states[:1] or states
        compared_state = next((state for state in relevant_states if state.place.exists), relevant_states[0])
        parents = tuple(HistoryPoint(state.parent, state.place) for state in relevant_states if state.parent)
        return HistoryStep(parents, compared_state, work, unreadable)

    def _make_creation(self, text_range: TextRange) -> ParentState | None:
        """Return the state before the first commit, if the text exists: this commit created it."""
        return (
            ParentState(None, make_absent_range(text_range.path, text_range.key), False)
            if text_range.exists
            else None
        )

    def _is_unchanged(self, left: TextRange, right: TextRange) -> bool:
        """Return True if a range is unchanged: both absent, or the same address and text."""
        if not left.exists or not right.exists:
            return left.exists == right.exists
        return left.address == right.address and self._has_same_text(left, right)

    def _has_same_text(self, left: TextRange, right: TextRange) -> bool:
        if left.key is None or left[2:] == right[2:]:
            return left.blob == right.blob
        if left.end - left.start != right.end - right.start:
            return False
        text = self._versions.text(left)
        return text is not None and text == self._versions.text(right)


_PROGRESS_INTERVAL = 500


class FoundChange(NamedTuple):
    """A change, and the number of commits scanned before it."""

    seen: int
    change: CommitChange


class Frontier:
    """The points from which a walk continues, newest first; each is visited once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._points: list[tuple[int, int, HistoryPoint]] = []
        self._visited: set[tuple[str, str, str | None, int]] = set()
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._points)

    def add(self, point: HistoryPoint) -> bool:
        """Add a point; return True if it is new."""
        if not self.mark_visited(point):
            return False
        self._count += 1
        heappush(self._points, (-self._graph.time(point.commit), self._count, point))
        return True

    def mark_visited(self, point: HistoryPoint) -> bool:
        """Mark a point as visited; return True if it is new."""
        commit, text_range = point
        key = (commit, text_range.path, text_range.key, text_range.start)
        if key in self._visited:
            return False
        self._visited.add(key)
        return True

    def pop(self) -> HistoryPoint:
        """Remove and return the newest point."""
        return heappop(self._points)[2]

    def copy(self) -> Frontier:
        """Return a copy of the points, for another walk."""
        other = Frontier(self._graph)
        other._points, other._visited, other._count = [*self._points], {*self._visited}, self._count
        return other


class Trail:
    """The changes of one range found so far. Only one thread at a time may call its methods.

    `seen` counts the scanned commits; `unread` are those that could not be read.
    """

    def __init__(
        self, git: GitReader, graph: Graph, versions: Versions, steps: HistoryStepper, start: HistoryPoint
    ) -> None:
        self._git, self._stepper = git, steps
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
        """Walk until `until` changes are found, the end is reached, or the work is used up.

        `work` is the maximum number of scanned commits. `known` are trails by their start commits, whose
        changes are reused.
        """
        remaining, next_report = work, _PROGRESS_INTERVAL
        while self._frontier and len(self.found) < until and remaining > 0:
            point = self._frontier.pop()
            if not self._frontier:
                if self._append_known(known, point):
                    continue
                point, skipped = self._stepper.skip_unchanged(
                    point, min(remaining, _PROGRESS_INTERVAL), known
                )
                remaining -= skipped
                self.seen += skipped
                # If times are out of order, the parents of a newer commit may have been visited before it.
                if (skipped and not self._frontier.mark_visited(point)) or self._append_known(known, point):
                    continue
            step = self._stepper.step_back(point)
            remaining -= step.work
            self.seen += 1
            self.unread += step.unread
            self._add_change(point, step)
            for parent in step.parents:
                self._frontier.add(parent)
            if progress is not None and work - remaining >= next_report:
                next_report += _PROGRESS_INTERVAL
                progress(work - remaining, work, "Reading the history")

    def _append_known(self, known_trails: Mapping[str, Trail], point: HistoryPoint) -> bool:
        """Add the changes of a known trail that starts at a point; return True if there is one."""
        other = known_trails.get(point.commit)
        if other is None or other.start != point:
            return False
        with other.lock:
            self.found += [FoundChange(self.seen + seen, change) for seen, change in other.found]
            self.seen += other.seen
            self.unread += other.unread
            self.versions.is_cut |= other.versions.is_cut
            self._frontier = other._frontier.copy()
        return True

    def _add_change(self, point: HistoryPoint, step: HistoryStep) -> None:
        if step.before is None:
            return
        try:
            commit = self._git.commit(point.commit)
        except DamagedRepository:
            self.unread.append(point.commit)
            return
        parent, old, is_elsewhere = step.before
        kind = classify_change(old, point.place, self.versions, is_elsewhere=is_elsewhere)
        change = CommitChange(describe_commit(commit), parent, kind, old, point.place, self.versions)
        self.found.append(FoundChange(self.seen, change))
