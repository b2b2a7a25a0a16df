"""A child process that builds segments of documents, block by block.

It receives paths, reads the documents itself, writes its segments to the folder, and returns their names.
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

from index.building.builder import BuiltSegments, SegmentBuilder
from index.documents import UnreadableDocument
from index.port import DocumentSource
from index.segments.segment import Segment
from index.storage.manifest import FileChecksum, FileStamp
from workspace.child_processes import Workers

Block = tuple[str, ...]
"""The paths of neighbouring documents."""

_MAX_PENDING_BLOCKS = 2
_RESULT_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class BuildTask:
    """The source of the documents, the folder of the segments, and the options of `build_segments`."""

    source: DocumentSource
    folder: Path
    durable: bool
    max_postings: int


class _ChildResult(NamedTuple):
    """The result of a child: the id, stamp and checksum of each segment, and the unreadable documents."""

    segments: tuple[tuple[str, FileStamp, FileChecksum], ...]
    unreadable: dict[str, str]


class BuildProcess:
    """A context manager of a child process that takes its work from `blocks`; its exit ends the process.

    `sent_blocks` has the blocks that were sent so far, and `finished_count` is the number of finished
    documents.
    """

    def __init__(self, task: BuildTask, blocks: Iterator[Block]) -> None:
        self.sent_blocks: list[Block] = []
        self.finished_count = 0
        self._task = task
        self._blocks = blocks
        self._has_failed = False
        # A pool of one process runs its tasks in order, and in the same process.
        self._workers = Workers(1, partial(_start_child, task))
        self._pending: deque[Future[int]] = deque()

    def __enter__(self) -> BuildProcess:
        self._workers.__enter__()
        self._send_blocks()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._workers.__exit__(error_type, error, trace)

    def refill(self) -> None:
        """Send more blocks if the process has finished some; never wait."""
        while self._pending and self._pending[0].done():
            self._receive()

    def wait_for_result(self, report: Callable[[], None]) -> BuiltSegments | None:
        """Wait for the result, and call `report` after each block; return None if the process failed."""
        while self._pending:
            self._receive()
            report()
        if self._has_failed:
            return None
        try:
            child_result = self._workers.submit(_finish_child).result(_RESULT_TIMEOUT_S)
        except Exception:  # as in _receive
            return None
        segments = (Segment.load(self._task.folder, *segment_file) for segment_file in child_result.segments)
        return BuiltSegments(tuple(segments), child_result.unreadable)

    def _receive(self) -> None:
        try:
            # A suspended process, or one that waits for a missing disk, never returns a result.
            self.finished_count += self._pending.popleft().result(_RESULT_TIMEOUT_S)
        except Exception:
            # The failure is not reported: the parent repeats the work, and raises a lasting error itself.
            self._has_failed = True
            self._pending.clear()
        self._send_blocks()

    def _send_blocks(self) -> None:
        while not self._has_failed and len(self._pending) < _MAX_PENDING_BLOCKS:
            block = next(self._blocks, None)
            if block is None:
                return
            self.sent_blocks.append(block)
            try:
                self._pending.append(self._workers.submit(_add_block, block))
            except (OSError, RuntimeError):  # no process can be started, so this process does the work
                self._has_failed = True


class _ChildState(NamedTuple):
    """The task of a child process, its builder, and the unreadable documents so far."""

    task: BuildTask
    builder: SegmentBuilder
    unreadable: dict[str, str]


_child_states: list[_ChildState] = []
"""The state of a child process; empty in the parent."""


def _start_child(task: BuildTask) -> None:
    gc.disable()  # the growing structures have no reference cycles, and scanning them takes long
    _child_states.append(_ChildState(task, SegmentBuilder(task.folder, task.durable, task.max_postings), {}))


def _add_block(block: Block) -> int:
    """Add a block, and return its number of documents."""
    (state,) = _child_states
    for document in state.task.source.read_documents(block):
        if isinstance(document, UnreadableDocument):
            state.unreadable[document.path] = document.blob
        else:
            state.builder.add(document)
    return len(block)


def _finish_child() -> _ChildResult:
    (state,) = _child_states
    segments = tuple(
        (segment.id, segment.stamp, segment.checksum)
        for segment in state.builder.finish()
        if segment.stamp and segment.checksum
    )
    return _ChildResult(segments, state.unreadable)
