"""A child process that builds segments of the documents that it receives, block by block.

It reads its documents itself, writes its segments to the folder, and returns what it wrote.
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

from index.building.builder import Builder, BuiltSegments
from index.page import UnreadableDocument
from index.port import Source
from index.segments.segment import Segment
from index.storage.manifest import FileChecksum, FileStamp
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


class _ChildResult(NamedTuple):
    """What a child wrote: the segments by id, and the documents that could not be read."""

    segments: tuple[tuple[str, FileStamp, FileChecksum], ...]
    unreadable: dict[str, str]


class BuildProcess:
    """A child process at work on the next of `blocks`, from entering to leaving a `with`; leaving ends it.

    `handed` has the blocks that it was given so far, `done` counts the documents that it has finished.
    """

    def __init__(self, task: Task, blocks: Iterator[Block]) -> None:
        self.sent: list[Block] = []
        self.done = 0
        self._task = task
        self._blocks = blocks
        self._has_failed = False
        # A pool of one: what it is handed is done in order, and in the same process.
        self._workers = Workers(1, partial(_begin, task))
        self._waiting: deque[Future[int]] = deque()

    def __enter__(self) -> BuildProcess:
        self._workers.__enter__()
        self._send_blocks()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(kind, error, trace)

    def refill(self) -> None:
        """Send more blocks if the process has finished some; never wait."""
        while self._waiting and self._waiting[0].done():
            self._receive()

    def result(self, tell: Callable[[], None]) -> BuiltSegments | None:
        """Wait for the result, and call `tell` at each progress; return None if the process failed."""
        while self._waiting:
            self._receive()
            tell()
        if self._has_failed:
            return None
        try:
            written = self._workers.submit(_finish).result(_PATIENCE)
        except Exception:  # as below
            return None
        segments = (Segment.load(self._task.folder, *one) for one in written.segments)
        return BuiltSegments(tuple(segments), written.unreadable)

    def _receive(self) -> None:
        try:
            # One that was stopped, or waits for a disk that is gone, would be waited for without end.
            self.done += self._waiting.popleft().result(_PATIENCE)
        except Exception:
            # A failure is not reported: the parent does the work again, and meets the same if it lasts.
            self._has_failed = True
            self._waiting.clear()
        self._send_blocks()

    def _send_blocks(self) -> None:
        while not self._has_failed and len(self._waiting) < _AHEAD:
            block = next(self._blocks, None)
            if block is None:
                return
            self.sent.append(block)
            try:
                self._waiting.append(self._workers.submit(_add, block))
            except (OSError, RuntimeError):  # where there is no room for a process, its work is done here
                self._has_failed = True


class _ChildState(NamedTuple):
    task: Task
    builder: Builder
    unreadable: dict[str, str]


_building: list[_ChildState] = []
"""What a child builds; empty in a process that is no child."""


def _begin(task: Task) -> None:
    gc.disable()  # what grows holds no cycles, and would be walked again and again
    _building.append(_ChildState(task, Builder(task.folder, task.durable, task.limit), {}))


def _add(block: Block) -> int:
    """Add a block, and return its number of documents."""
    (building,) = _building
    for page in building.task.source.pages(block):
        if isinstance(page, UnreadableDocument):
            building.unreadable[page.path] = page.blob
        else:
            building.builder.add(page)
    return len(block)


def _finish() -> _ChildResult:
    (building,) = _building
    segments = tuple(
        (segment.id, segment.stamp, segment.checksum)
        for segment in building.builder.finish()
        if segment.stamp and segment.checksum
    )
    return _ChildResult(segments, building.unreadable)
