"""Another process that makes segments of the documents that it is handed, block by block.

It reads its documents by itself, writes its segments into the folder, and says over a pipe how far it is and
what it wrote.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from index.building.builder import Built, build_segments
from index.integrity import Stamp, Sum
from index.page import Page, Unreadable
from index.port import Source
from index.segments.segment import Segment
from workspace.spawning import settle, start

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
        context = multiprocessing.get_context("spawn")
        self.handed: list[Block] = []
        self.done = 0
        self._task = task
        self._blocks = blocks
        self._written: _Written | None = None
        self._has_failed = False
        self._pipe, self._end = context.Pipe()
        self._process = context.Process(target=_work, args=(self._end, task), daemon=True)
        self._has_begun = False

    def __enter__(self) -> Child:
        # Where the system has no room for another process, its work is done in this one.
        with self._noticing(), self._end:
            start(self._process)
            self._has_begun = True
        with self._noticing():
            for _ in range(_AHEAD):
                self._hand()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_begun:
            self._process.kill()
            self._process.join()
            self._process.close()
        self._pipe.close()

    def attend(self) -> None:
        """Give it further blocks if it asks for them; never waits."""
        with self._noticing():
            while not self._is_over() and self._pipe.poll():
                self._hear()

    def result(self, tell: Callable[[], None]) -> Built | None:
        """Wait for what it built, calling `tell` whenever it is further; None if it failed or was killed."""
        with self._noticing():
            while not self._is_over():
                # One that was stopped, or waits for a disk that is gone, would be waited for without end.
                if not self._pipe.poll(_PATIENCE):
                    return None
                self._hear()
                tell()
        if self._written is None:
            return None
        segments = (Segment.load(self._task.folder, *written) for written in self._written.segments)
        return Built(tuple(segments), self._written.unreadable)

    def _is_over(self) -> bool:
        return self._written is not None or self._has_failed

    def _hear(self) -> None:
        message = self._pipe.recv()
        if isinstance(message, int):
            self.done = message
            self._hand()
        else:
            self._written = message

    def _hand(self) -> None:
        block = next(self._blocks, None)
        if block is not None:
            self.handed.append(block)
        self._pipe.send(block)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Take a pipe that is cut for the end of the child."""
        try:
            yield
        except (EOFError, OSError):
            self._has_failed = True


def _work(pipe: Connection, task: Task) -> None:
    settle()
    # A failure is not reported: the parent does the work again, and meets the same if it lasts.
    with suppress(Exception):
        built = build_segments(_pages(task.source, pipe), task.folder, durable=task.durable, limit=task.limit)
        segments = tuple(
            (segment.id, segment.stamp, segment.checksum)
            for segment in built.segments
            if segment.stamp and segment.checksum
        )
        pipe.send(_Written(segments, dict(built.unreadable)))


def _pages(source: Source, pipe: Connection) -> Iterator[Page | Unreadable]:
    done = 0
    while (block := pipe.recv()) is not None:
        yield from source.pages(block)
        done += len(block)
        pipe.send(done)
