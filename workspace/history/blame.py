"""The commit that wrote each line, through renames and moves (git-blame(1)).

Lines that a version shares with a parent commit come from the first such parent. The commit of the version
wrote the other lines.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sequences import pair_lines
from workspace.markdown.lines import split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.git.ancestry import Graph
    from workspace.history.text_ranges import TextRange, Versions
    from workspace.history.walk import HistoryPoint, HistoryStep, HistoryStepper

_PROGRESS_INTERVAL = 500  # scanned commits
_BYTES_PER_STEP = 3_000  # compared bytes that cost as much as one scanned commit
_MAX_CACHED_VERSIONS = 4  # versions whose lines are cached

RequestedLines = dict[int, int]
"""A map from the index of a line in the blamed text to its index in an older version."""


class BlamedLine(NamedTuple):
    """A line of a text, with its ending, and the commit that wrote it.

    `line` counts from 1 in the current document, `original_line` in the document at `path` in `commit`.
    `is_boundary` is True if the line may be older, because `commit` is the oldest scanned one.
    """

    line: int
    text: bytes
    commit: str
    path: str
    original_line: int
    is_boundary: bool = False


class BlameSearch:
    """The search for the commits that wrote the lines of one text."""

    def __init__(self, graph: Graph, versions: Versions, stepper: HistoryStepper) -> None:
        self._graph, self._versions, self._stepper = graph, versions, stepper
        self._queue: list[tuple[int, int, HistoryPoint]] = []
        self._lines_by_point: dict[HistoryPoint, RequestedLines] = {}
        self._blamed_lines: dict[int, BlamedLine] = {}
        self._point_count = 0
        self._remaining_work = 0
        self._lines_of_version: dict[TextRange, Sequence[bytes]] = {}
        self._lines: Sequence[bytes] = ()
        self._first_line = 1

    def annotate(
        self, start: HistoryPoint, max_commits: int, progress: Callable[[int, int, str], None] | None
    ) -> tuple[BlamedLine, ...]:
        """Return each line of the text at a point with its commit.

        `max_commits` limits the number of scanned commits.
        """
        self._lines = self._read_lines(start.text_range)
        self._first_line = self._versions.line(start.text_range)
        self._request_lines(start, {line: line for line in range(len(self._lines))})
        self._remaining_work, next_progress = max_commits, _PROGRESS_INTERVAL
        while self._queue:
            point = heappop(self._queue)[2]
            requested_lines = self._lines_by_point.pop(point, None)
            if requested_lines is None:
                continue
            if self._remaining_work <= 0:
                self._attribute_lines(point, requested_lines, is_boundary=True)
                continue
            if not self._queue:
                point, skipped_count = self._stepper.skip_unchanged(
                    point, min(self._remaining_work, _PROGRESS_INTERVAL)
                )
                self._remaining_work -= skipped_count
            step = self._stepper.step_back(point)
            self._remaining_work -= step.work
            self._attribute_to_parents(point, requested_lines, step)
            if progress is not None and max_commits - self._remaining_work >= next_progress:
                next_progress += _PROGRESS_INTERVAL
                progress(max_commits - self._remaining_work, max_commits, "Reading the history")
        return tuple(self._blamed_lines[line] for line in range(len(self._lines)))

    def _attribute_to_parents(
        self, point: HistoryPoint, requested_lines: RequestedLines, step: HistoryStep
    ) -> None:
        if step.before is None:
            if step.parents:
                self._request_lines(step.parents[0], requested_lines)
            else:
                self._attribute_lines(point, requested_lines, is_boundary=bool(step.unreadable_commits))
            return
        lines: Sequence[bytes] | None = None
        for parent in step.parents:
            if not requested_lines or not parent.text_range.exists:
                continue
            if lines is None:
                lines = self._read_lines(point.text_range)
            old_by_new = {new: old for old, new in pair_lines(self._read_lines(parent.text_range), lines)}
            self._request_lines(
                parent,
                {
                    line: old_by_new[version_line]
                    for line, version_line in requested_lines.items()
                    if version_line in old_by_new
                },
            )
            requested_lines = {
                line: version_line
                for line, version_line in requested_lines.items()
                if version_line not in old_by_new
            }
        self._attribute_lines(point, requested_lines, is_boundary=False)

    def _request_lines(self, point: HistoryPoint, requested_lines: RequestedLines) -> None:
        if not requested_lines:
            return
        if point in self._lines_by_point:
            self._lines_by_point[point].update(requested_lines)
            return
        self._lines_by_point[point] = requested_lines
        self._point_count += 1
        heappush(self._queue, (-self._graph.time(point.commit), self._point_count, point))

    def _attribute_lines(
        self, point: HistoryPoint, requested_lines: RequestedLines, *, is_boundary: bool
    ) -> None:
        if not requested_lines:
            return
        commit, text_range = point
        first_line = self._versions.line(text_range)
        for line, version_line in requested_lines.items():
            text = self._lines[line]
            self._blamed_lines[line] = BlamedLine(
                self._first_line + line, text, commit, text_range.path, first_line + version_line, is_boundary
            )

    def _read_lines(self, text_range: TextRange) -> Sequence[bytes]:
        """Return the lines of a version, cached because a parent is read again when it is visited."""
        if text_range not in self._lines_of_version:
            text = self._versions.text(text_range) or b""
            self._remaining_work -= len(text) // _BYTES_PER_STEP
            if len(self._lines_of_version) >= _MAX_CACHED_VERSIONS:
                self._lines_of_version.pop(next(iter(self._lines_of_version)))
            self._lines_of_version[text_range] = split_lines(text)
        return self._lines_of_version[text_range]
