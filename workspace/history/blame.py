"""Blame: the commit that wrote each line, through renames and moves (git-blame(1)).

The lines that a version shares with its parent are the parent's; of a merge, the first parent that has a line
is asked for it. What is left was written by the commit.
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
_PER_STEP = 3_000  # bytes whose lines are compared at the price of a commit that is looked at
_KEPT = 4  # versions whose lines are remembered

RequestedLines = dict[int, int]
"""Lines of the text, each with the line that it was in a version."""


class BlamedLine(NamedTuple):
    """A line of a text, with its ending, and its author.

    `line` counts from 1 in the document as it is, `original_line` in the document at `path` in `commit`.
    `is_boundary` says that the line may be older: `commit` is the oldest that could be looked at.
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
        self._graph, self._versions, self._steps = graph, versions, steps
        self._waiting: list[tuple[int, int, HistoryPoint]] = []
        self._asked: dict[HistoryPoint, RequestedLines] = {}
        self._found: dict[int, BlamedLine] = {}
        self._count = 0
        self._left = 0
        self._split: dict[TextRange, Sequence[bytes]] = {}
        self._text: Sequence[bytes] = ()
        self._first = 1

    def annotate(
        self, start: HistoryPoint, most: int, progress: Callable[[int, int, str], None] | None
    ) -> tuple[BlamedLine, ...]:
        """Return each line of the text at a point. `most` limits the work, in commits scanned."""
        self._text = self._lines(start.place)
        self._first = self._versions.line(start.place)
        self._ask(start, {line: line for line in range(len(self._text))})
        self._left, due = most, _PROGRESS_INTERVAL
        while self._waiting:
            station = heappop(self._waiting)[2]
            asked = self._asked.pop(station, None)
            if asked is None:
                continue
            if self._left <= 0:
                self._blame(station, asked, is_boundary=True)
                continue
            if not self._waiting:
                station, passed = self._steps.skip_unchanged(station, min(self._left, _PROGRESS_INTERVAL))
                self._left -= passed
            step = self._steps.take(station)
            self._left -= step.work
            self._pass_on(station, asked, step)
            if progress is not None and most - self._left >= due:
                due += _PROGRESS_INTERVAL
                progress(most - self._left, most, "Reading the history")
        return tuple(self._found[line] for line in range(len(self._text)))

    def _pass_on(self, station: HistoryPoint, asked: RequestedLines, step: HistoryStep) -> None:
        if step.before is None:
            if step.parents:
                self._ask(step.parents[0], asked)
            else:
                self._blame(station, asked, is_boundary=bool(step.unread))
            return
        lines: Sequence[bytes] | None = None
        for parent in step.parents:
            if not asked or not parent.place.is_there:
                continue
            if lines is None:
                lines = self._lines(station.place)
            twins = {new: old for old, new in pair_lines(self._lines(parent.place), lines)}
            self._ask(parent, {line: twins[there] for line, there in asked.items() if there in twins})
            asked = {line: there for line, there in asked.items() if there not in twins}
        self._blame(station, asked, is_boundary=False)

    def _ask(self, station: HistoryPoint, asked: RequestedLines) -> None:
        if not asked:
            return
        if station in self._asked:
            self._asked[station].update(asked)
            return
        self._asked[station] = asked
        self._count += 1
        heappush(self._waiting, (-self._graph.time(station.commit), self._count, station))

    def _blame(self, station: HistoryPoint, asked: RequestedLines, *, is_boundary: bool) -> None:
        if not asked:
            return
        commit, place = station
        first = self._versions.line(place)
        for here, there in asked.items():
            text = self._text[here]
            self._found[here] = BlamedLine(
                self._first + here, text, commit, place.path, first + there, is_boundary
            )

    def _lines(self, place: TextRange) -> Sequence[bytes]:
        """Return the lines of a version; those of a parent are read again when it is visited."""
        if place not in self._split:
            text = self._versions.text(place) or b""
            self._left -= len(text) // _PER_STEP
            if len(self._split) >= _KEPT:
                self._split.pop(next(iter(self._split)))
            self._split[place] = split_lines(text)
        return self._split[place]
