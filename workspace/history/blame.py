"""Blame: the commit that wrote each line, followed wherever the document or section stood (git-blame(1)).

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
    from workspace.history.places import Place, Versions
    from workspace.history.walk import Station, Step, Steps

_TOLD_EVERY = 500
_PER_STEP = 3_000  # bytes whose lines are compared at the price of a commit that is looked at
_KEPT = 4  # versions whose lines are remembered

Asked = dict[int, int]
"""Lines of the text, each with the line that it was in a version."""


class BlamedLine(NamedTuple):
    """A line of a text, with its ending, and who wrote it.

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
    """Finds who wrote the lines of one text."""

    def __init__(self, graph: Graph, versions: Versions, steps: Steps) -> None:
        self._graph, self._versions, self._steps = graph, versions, steps
        self._waiting: list[tuple[int, int, Station]] = []
        self._asked: dict[Station, Asked] = {}
        self._found: dict[int, BlamedLine] = {}
        self._count = 0
        self._left = 0
        self._split: dict[Place, Sequence[bytes]] = {}
        self._text: Sequence[bytes] = ()
        self._first = 1

    def of(
        self, start: Station, most: int, progress: Callable[[int, int, str], None] | None
    ) -> tuple[BlamedLine, ...]:
        """Return each line of the text at a station. `most` limits the work, in commits looked at."""
        self._text = self._lines(start.place)
        self._first = self._versions.line(start.place)
        self._ask(start, {line: line for line in range(len(self._text))})
        self._left, due = most, _TOLD_EVERY
        while self._waiting:
            station = heappop(self._waiting)[2]
            asked = self._asked.pop(station, None)
            if asked is None:
                continue
            if self._left <= 0:
                self._blame(station, asked, is_boundary=True)
                continue
            if not self._waiting:
                station, passed = self._steps.pass_by(station, min(self._left, _TOLD_EVERY))
                self._left -= passed
            step = self._steps.take(station)
            self._left -= step.work
            self._pass_on(station, asked, step)
            if progress is not None and most - self._left >= due:
                due += _TOLD_EVERY
                progress(most - self._left, most, "Reading the history")
        return tuple(self._found[line] for line in range(len(self._text)))

    def _pass_on(self, station: Station, asked: Asked, step: Step) -> None:
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

    def _ask(self, station: Station, asked: Asked) -> None:
        if not asked:
            return
        if station in self._asked:
            self._asked[station].update(asked)
            return
        self._asked[station] = asked
        self._count += 1
        heappush(self._waiting, (-self._graph.time(station.commit), self._count, station))

    def _blame(self, station: Station, asked: Asked, *, is_boundary: bool) -> None:
        if not asked:
            return
        commit, place = station
        first = self._versions.line(place)
        for here, there in asked.items():
            text = self._text[here]
            self._found[here] = BlamedLine(
                self._first + here, text, commit, place.path, first + there, is_boundary
            )

    def _lines(self, place: Place) -> Sequence[bytes]:
        """Return the lines of a version; a parent's are asked for again when its own turn comes."""
        if place not in self._split:
            text = self._versions.text(place) or b""
            self._left -= len(text) // _PER_STEP
            if len(self._split) >= _KEPT:
                self._split.pop(next(iter(self._split)))
            self._split[place] = split_lines(text)
        return self._split[place]
