"""Another process that makes segments of the documents that it is handed, block by block.

It reads its documents by itself, writes its segments into the folder, and returns what it wrote.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from index.building.builder import Builder, Built
from index.page import Unreadable
from index.port import Source
from index.segments.segment import Segment
from index.storage.manifest import Stamp, Sum
from workspace.child_processes import Workers

Block = tuple[str, ...]
"""The paths of neighbouring documents."""

_AHEAD = 2
_PATIENCE = 60.0


@dataclass(frozen=True, slots=True)
class Task:
    """Whose documents are to be read, and where segments go: what `build_segments` is told."""

    source: Source
    folder: Path
    durable: bool
    limit: int


class _Written(NamedTuple):
    """What a child wrote: the segments by id, and the documents that could not be read."""

    segments: tuple[tuple[str, Stamp, Sum], ...]
    unreadable: dict[str, str]


class Child:
    """A child process at work on the next of `blocks`, from entering to leaving a `with`; leaving ends it.

    `handed` has the blocks that it was given so far, `done` counts the documents that it has finished.
    """

    def __init__(self, task: Task, blocks: Iterator[Block]) -> None:
        self.handed: list[Block] = []
        self.done = 0
        self._task = task
        self._blocks = blocks
        self._has_failed = False
        # A pool of one: what it is handed is done in order, and in the same process.
        self._workers = Workers(1, partial(_begin, task))
        self._waiting: deque[Future[int]] = deque()

    def __enter__(self) -> Child:
        self._workers.__enter__()
        self._hand()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(kind, error, trace)

    def attend(self) -> None:
        """Return it further blocks if it has finished some; never waits."""
        while self._waiting and self._waiting[0].done():
            self._take()

    def result(self, tell: Callable[[], None]) -> Built | None:
        """Wait for what it built, calling `tell` whenever it is further; None if it failed or was killed."""
        while self._waiting:
            self._take()
            tell()
        if self._has_failed:
            return None
        try:
            written = self._workers.submit(_finish).result(_PATIENCE)
        except Exception:  # as below
            return None
        segments = (Segment.load(self._task.folder, *one) for one in written.segments)
        return Built(tuple(segments), written.unreadable)

    def _take(self) -> None:
        try:
            # One that was stopped, or waits for a disk that is gone, would be waited for without end.
            self.done += self._waiting.popleft().result(_PATIENCE)
        except Exception:
            # A failure is not reported: the parent does the work again, and meets the same if it lasts.
            self._has_failed = True
            self._waiting.clear()
        self._hand()

    def _hand(self) -> None:
        while not self._has_failed and len(self._waiting) < _AHEAD:
            block = next(self._blocks, None)
            if block is None:
                return
            self.handed.append(block)
            try:
                self._waiting.append(self._workers.submit(_add, block))
            except (OSError, RuntimeError):  # where there is no room for a process, its work is done here
                self._has_failed = True


class _Building(NamedTuple):
    task: Task
    builder: Builder
    unreadable: dict[str, str]


_building: list[_Building] = []
"""What a child builds; empty in a process that is no child."""


def _begin(task: Task) -> None:
    gc.disable()  # what grows holds no cycles, and would be walked again and again
    _building.append(_Building(task, Builder(task.folder, task.durable, task.limit), {}))


def _add(block: Block) -> int:
    """Take in a block, and return how many documents it has."""
    (building,) = _building
    for page in building.task.source.pages(block):
        if isinstance(page, Unreadable):
            building.unreadable[page.path] = page.blob
        else:
            building.builder.add(page)
    return len(block)


def _finish() -> _Written:
    (building,) = _building
    segments = tuple(
        (segment.id, segment.stamp, segment.checksum)
        for segment in building.builder.finish()
        if segment.stamp and segment.checksum
    )
    return _Written(segments, building.unreadable)
