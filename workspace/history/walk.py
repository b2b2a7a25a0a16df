"""Walk back from a commit, newest commit first, until enough changes are found.

A step finds the change that a commit made to a text range, and the range in the commit's parents. A merge is
reported if it differs from every parent. If one parent has the same text at the same address, only that
parent is followed (git-log(1), "History Simplification", "Default mode").
"""

from __future__ import annotations

import threading
from contextlib import suppress
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.repository import DamagedRepository
from workspace.history.commits import CommitChange, classify_change, describe_commit
from workspace.history.origins import OriginFinder
from workspace.history.text_ranges import make_absent_range

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping

    from workspace.git.ancestry import Graph
    from workspace.git.reader import GitReader
    from workspace.history.text_ranges import TextRange, Versions


class HistoryPoint(NamedTuple):
    """A text range in a commit."""

    commit: str
    text_range: TextRange


class ParentRange(NamedTuple):
    """The range in a parent with which a commit is compared.

    `parent` is None for the first commit. `is_in_other_document` is True if the section was moved from
    another document.
    """

    parent: str | None
    text_range: TextRange
    is_in_other_document: bool


class HistoryStep(NamedTuple):
    """The change of a range by a commit.

    `before` is None if the commit made no change. `parents` are the points from which to continue. `work` is
    the cost of the step in scanned commits. `unreadable_commits` are the parents that could not be read.
    """

    parents: tuple[HistoryPoint, ...]
    before: ParentRange | None
    work: int
    unreadable_commits: tuple[str, ...]


class HistoryStepper:
    """A search for the steps back from points of the history, with the settings of one snapshot."""

    def __init__(self, graph: Graph, versions: Versions, is_document: Callable[[str], bool]) -> None:
        self._graph = graph
        self._versions = versions
        self._origin_finder = OriginFinder(versions, is_document)

    def skip_unchanged(
        self, point: HistoryPoint, max_commits: int, stop_commits: Container[str] = ()
    ) -> tuple[HistoryPoint, int]:
        """Return the point before the next possible change of a document, and the number of skipped commits.

        The walk also stops at a commit of `stop_commits`. Most of the time is spent here, so only the ids of
        blobs are compared.
        """
        commit, text_range = point
        node, blob, skipped_count = self._graph.node, self._graph.blob, 0
        with suppress(DamagedRepository):
            commit_node = node(commit)
            while skipped_count < max_commits:
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
                skipped_count += 1
                if commit in stop_commits:
                    break
        return HistoryPoint(commit, text_range), skipped_count

    def step_back(self, point: HistoryPoint) -> HistoryStep:
        """Return the step back from a point."""
        commit, text_range = point
        try:
            node = self._graph.node(commit)
        except DamagedRepository:
            return HistoryStep((), None, 1, (commit,))
        if not node.parents:
            return HistoryStep((), self._make_creation(text_range), 1, ())
        older_point, skipped_count = self.skip_unchanged(point, 1)
        if skipped_count:
            return HistoryStep((older_point,), None, 1, ())
        work, unreadable_commits = 1, []
        parent_ranges: list[ParentRange] = []
        for parent in node.parents:
            try:
                tree = self._graph.node(parent).tree
                origin = self._origin_finder.find(
                    text_range, node.tree, tree, self._graph.blob(tree, text_range.path)
                )
            except DamagedRepository:
                unreadable_commits.append(parent)
                continue
            work += origin.work
            if self._is_unchanged(origin.text_range, text_range):
                return HistoryStep((HistoryPoint(parent, origin.text_range),), None, work, ())
            parent_ranges.append(ParentRange(parent, origin.text_range, origin.is_in_other_document))
        return self._make_step(text_range, parent_ranges, work, tuple(unreadable_commits))

    def _make_step(
        self,
        text_range: TextRange,
        parent_ranges: list[ParentRange],
        work: int,
        unreadable_commits: tuple[str, ...],
    ) -> HistoryStep:
        if not parent_ranges:
            return HistoryStep((), None, work, unreadable_commits)
        equal_ranges = [
            parent_range
            for parent_range in parent_ranges
            if parent_range.text_range.exists and self._has_same_text(parent_range.text_range, text_range)
        ]
        relevant_ranges = equal_ranges[:1] or parent_ranges
        compared_range = next(
            (parent_range for parent_range in relevant_ranges if parent_range.text_range.exists),
            relevant_ranges[0],
        )
        parents = tuple(
            HistoryPoint(parent_range.parent, parent_range.text_range)
            for parent_range in relevant_ranges
            if parent_range.parent
        )
        return HistoryStep(parents, compared_range, work, unreadable_commits)

    def _make_creation(self, text_range: TextRange) -> ParentRange | None:
        """Return the absent range before the first commit; None if that commit did not create the text."""
        return (
            ParentRange(None, make_absent_range(text_range.path, text_range.key), False)
            if text_range.exists
            else None
        )

    def _is_unchanged(self, left: TextRange, right: TextRange) -> bool:
        """Return True if both ranges are absent, or if both have the same address and text."""
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


_PROGRESS_INTERVAL = 500  # scanned commits


class FoundChange(NamedTuple):
    """A change, and the number of commits that were scanned to find it, including its own."""

    scanned_count: int
    change: CommitChange


class Frontier:
    """The points from which a walk continues, newest first; each is visited once."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._points: list[tuple[int, int, HistoryPoint]] = []
        self._visited: set[tuple[str, str, str | None, int]] = set()
        self._point_count = 0

    def __bool__(self) -> bool:
        return bool(self._points)

    def add(self, point: HistoryPoint) -> bool:
        """Add a point; return True if it is new."""
        if not self.mark_visited(point):
            return False
        self._point_count += 1
        heappush(self._points, (-self._graph.time(point.commit), self._point_count, point))
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
        """Return a copy for another walk."""
        frontier_copy = Frontier(self._graph)
        frontier_copy._points, frontier_copy._visited = [*self._points], {*self._visited}
        frontier_copy._point_count = self._point_count
        return frontier_copy


class RangeHistory:
    """The changes of one range that a walk has found. A caller must acquire `lock` before it calls a method.

    `scanned_count` is the number of scanned commits. `unreadable_commits` could not be read.
    """

    def __init__(
        self, git: GitReader, graph: Graph, versions: Versions, stepper: HistoryStepper, start: HistoryPoint
    ) -> None:
        self._git, self._stepper = git, stepper
        self.versions = versions
        self.start = start
        self._frontier = Frontier(graph)
        self._frontier.add(start)
        self.lock = threading.Lock()
        self.changes: list[FoundChange] = []
        self.scanned_count = 0
        self.unreadable_commits: list[str] = []

    @property
    def is_done(self) -> bool:
        """Return True if the walk has reached its end."""
        return not self._frontier

    def walk(
        self,
        target_count: int,
        max_work: int,
        known_histories: Mapping[str, RangeHistory],
        progress: Callable[[int, int, str], None] | None,
    ) -> None:
        """Walk until `target_count` changes are found, the end is reached, or `max_work` is used up.

        `max_work` is a cost in scanned commits, which the last step may exceed. The changes of
        `known_histories` (histories by their start commits) are reused.
        """
        remaining_work, next_progress = max_work, _PROGRESS_INTERVAL
        while self._frontier and len(self.changes) < target_count and remaining_work > 0:
            point = self._frontier.pop()
            if not self._frontier:
                if self._append_known_history(known_histories, point):
                    continue
                point, skipped_count = self._stepper.skip_unchanged(
                    point, min(remaining_work, _PROGRESS_INTERVAL), known_histories
                )
                remaining_work -= skipped_count
                self.scanned_count += skipped_count
                # If times are out of order, the parents of a newer commit may have been visited before it.
                if (skipped_count and not self._frontier.mark_visited(point)) or self._append_known_history(
                    known_histories, point
                ):
                    continue
            step = self._stepper.step_back(point)
            remaining_work -= step.work
            self.scanned_count += 1
            self.unreadable_commits += step.unreadable_commits
            self._add_change(point, step)
            for parent in step.parents:
                self._frontier.add(parent)
            if progress is not None and max_work - remaining_work >= next_progress:
                next_progress += _PROGRESS_INTERVAL
                progress(max_work - remaining_work, max_work, "Reading the history")

    def _append_known_history(self, known_histories: Mapping[str, RangeHistory], point: HistoryPoint) -> bool:
        """Add the changes of the known history that starts at a point; return False if there is none."""
        known_history = known_histories.get(point.commit)
        if known_history is None or known_history.start != point:
            return False
        with known_history.lock:
            self.changes += [
                FoundChange(self.scanned_count + scanned_count, change)
                for scanned_count, change in known_history.changes
            ]
            self.scanned_count += known_history.scanned_count
            self.unreadable_commits += known_history.unreadable_commits
            self.versions.has_unread_version |= known_history.versions.has_unread_version
            self._frontier = known_history._frontier.copy()
        return True

    def _add_change(self, point: HistoryPoint, step: HistoryStep) -> None:
        if step.before is None:
            return
        try:
            commit = self._git.commit(point.commit)
        except DamagedRepository:
            self.unreadable_commits.append(point.commit)
            return
        parent, old, is_in_other_document = step.before
        kind = classify_change(
            old, point.text_range, self.versions, is_in_other_document=is_in_other_document
        )
        change = CommitChange(describe_commit(commit), parent, kind, old, point.text_range, self.versions)
        self.changes.append(FoundChange(self.scanned_count, change))
