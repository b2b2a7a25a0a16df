"""The commit that wrote each line, through renames and moves (git-blame(1)).

Lines that a version shares with its parent are attributed to the parent; in a merge, to the first parent that
has them. The commit wrote the other lines.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sequences import pair_lines
from workspace.markdown.lines import split_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from workspace.git.ancestry import Graph
    from workspace.history.places import TextRange, Versions
    from workspace.history.walk import HistoryPoint, HistoryStep, HistoryStepper

_PROGRESS_INTERVAL = 500
_BYTES_PER_STEP = 3_000  # compared bytes that cost as much as one scanned commit
_CACHED_VERSIONS = 4  # the number of versions whose lines are cached

RequestedLines = dict[int, int]
"""The lines of the text by index, each with its index in a version."""


class BlamedLine(NamedTuple):
    """A line of a text, with its ending, and its author.

    `line` counts from 1 in the current document, `original_line` in the document at `path` in `commit`.
    `is_boundary` is True if the line may be older, because `commit` is the oldest scanned one.
    """

    line: int
    text: bytes
    commit: str
    path: str
    original_line: int
    is_boundary: bool = False


class Blame:
    """The search for the authors of the lines of one text."""

    def __init__(self, graph: Graph, versions: Versions, steps: HistoryStepper) -> None:
        self._graph, self._versions, self._stepper = graph, versions, steps
        self._queue: list[tuple[int, int, HistoryPoint]] = []
        self._requested: dict[HistoryPoint, RequestedLines] = {}
        self._blamed_lines: dict[int, BlamedLine] = {}
        self._count = 0
        self._remaining_work = 0
        self._lines_of_version: dict[TextRange, Sequence[bytes]] = {}
        self._text: Sequence[bytes] = ()
        self._first_line = 1

    def annotate(
        self, start: HistoryPoint, max_commits: int, progress: Callable[[int, int, str], None] | None
    ) -> tuple[BlamedLine, ...]:
        """Return each line of the text at a point with its commit.

        `max_commits` limits the number of scanned commits.
        """
        self._text = self._read_lines(start.place)
        self._first_line = self._versions.line(start.place)
        self._request(start, {line: line for line in range(len(self._text))})
        self._remaining_work, next_report = max_commits, _PROGRESS_INTERVAL
        while self._queue:
            point = heappop(self._queue)[2]
            requested = self._requested.pop(point, None)
            if requested is None:
                continue
            if self._remaining_work <= 0:
                self._attribute(point, requested, is_boundary=True)
                continue
            if not self._queue:
                point, skipped = self._stepper.skip_unchanged(
                    point, min(self._remaining_work, _PROGRESS_INTERVAL)
                )
                self._remaining_work -= skipped
            step = self._stepper.step_back(point)
            self._remaining_work -= step.work
            self._attribute_to_parents(point, requested, step)
            if progress is not None and max_commits - self._remaining_work >= next_report:
                next_report += _PROGRESS_INTERVAL
                progress(max_commits - self._remaining_work, max_commits, "Reading the history")
        return tuple(self._blamed_lines[line] for line in range(len(self._text)))

    def _attribute_to_parents(
        self, point: HistoryPoint, requested: RequestedLines, step: HistoryStep
    ) -> None:
        if step.before is None:
            if step.parents:
                self._request(step.parents[0], requested)
            else:
                self._attribute(point, requested, is_boundary=bool(step.unread))
            return
        lines: Sequence[bytes] | None = None
        for parent in step.parents:
            if not requested or not parent.place.exists:
                continue
            if lines is None:
                lines = self._read_lines(point.place)
            old_by_new = {new: old for old, new in pair_lines(self._read_lines(parent.place), lines)}
            self._request(
                parent,
                {
                    line: old_by_new[version_line]
                    for line, version_line in requested.items()
                    if version_line in old_by_new
                },
            )
            requested = {
                line: version_line
                for line, version_line in requested.items()
                if version_line not in old_by_new
            }
        self._attribute(point, requested, is_boundary=False)

    def _request(self, point: HistoryPoint, requested: RequestedLines) -> None:
        if not requested:
            return
        if point in self._requested:
            self._requested[point].update(requested)
            return
        self._requested[point] = requested
        self._count += 1
        heappush(self._queue, (-self._graph.time(point.commit), self._count, point))

    def _attribute(self, point: HistoryPoint, requested: RequestedLines, *, is_boundary: bool) -> None:
        if not requested:
            return
        commit, text_range = point
        first = self._versions.line(text_range)
        for line, version_line in requested.items():
            text = self._text[line]
            self._blamed_lines[line] = BlamedLine(
                self._first_line + line, text, commit, text_range.path, first + version_line, is_boundary
            )

    def _read_lines(self, text_range: TextRange) -> Sequence[bytes]:
        """Return the lines of a version; those of a parent are read again on its visit."""
        if text_range not in self._lines_of_version:
            text = self._versions.text(text_range) or b""
            self._remaining_work -= len(text) // _BYTES_PER_STEP
            if len(self._lines_of_version) >= _CACHED_VERSIONS:
                self._lines_of_version.pop(next(iter(self._lines_of_version)))
            self._lines_of_version[text_range] = split_lines(text)
        return self._lines_of_version[text_range]
