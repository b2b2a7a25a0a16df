"""The build of segments from a commit, in several processes if that is faster.

Each process, this one included, takes the next block of neighbouring documents when it has finished one, and
writes its own segments. Blocks of a child process that fails or is killed are built again in this process.
The files of that child are swept later, because no manifest names them.

`apply_change` computes the parts and the state of an index after a change.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from index.building.builder import POSTINGS, BuiltSegments, build_segments
from index.building.worker import Block, BuildProcess, Task
from index.page import IndexedDocument, UnreadableDocument
from index.port import Progress, Source, State
from index.segments.generation import IndexSnapshot, SegmentReader
from index.segments.merge import compact

ALONE = 2_000
"""With fewer documents than this, another process takes longer to start than it saves."""

_MOST = 2
_BLOCK = 64
_STEP = 8


def build_in_processes(
    source: Source,
    folder: Path | None,
    *,
    processes: int | None = None,
    progress: Progress | None = None,
    durable: bool = False,
) -> BuiltSegments:
    """Build segments of all documents of a commit in this many processes.

    None derives the number from the size.

    Without a folder the segments stay in memory. Raises IndexUnwritable, and the errors of `source`.
    """
    paths = sorted(source.paths())
    firsts = range(0, len(paths), _BLOCK)
    blocks = (tuple(paths[first : first + _BLOCK]) for first in firsts)
    count = max(1, min(processes or _processes(len(paths)), len(firsts)))
    with ExitStack() as stack:
        children: list[BuildProcess] = []
        if folder is not None:
            task = Task(source, folder, durable, POSTINGS // count)
            children += [stack.enter_context(BuildProcess(task, blocks)) for _ in range(1, count)]
        work = _Work(source, children, len(paths), progress)

        def built(blocks: Iterable[Block]) -> BuiltSegments:
            return build_segments(work.pages(blocks), folder, durable=durable, limit=POSTINGS // count)

        work.report()
        found = [built(blocks)]
        for child in children:
            found.append(child.result(work.report) or built(child.sent))
    segments = tuple(segment for part in found for segment in part.segments)
    return BuiltSegments(segments, {path: blob for part in found for path, blob in part.unreadable.items()})


class _Work:
    """Reads documents here, and attends to the children meanwhile."""

    def __init__(
        self, source: Source, children: list[BuildProcess], total: int, progress: Progress | None
    ) -> None:
        self._source = source
        self._children = children
        self._total = total
        self._progress = progress
        self._done = 0

    def pages(self, blocks: Iterable[Block]) -> Iterator[IndexedDocument | UnreadableDocument]:
        for block in blocks:
            for page in self._source.pages(block):
                yield page
                self._done += 1
                if self._done % _STEP == 0:
                    for child in self._children:
                        child.refill()
            self.report()

    def report(self) -> None:
        if self._progress:
            done = self._done + sum(child.done for child in self._children)
            # What a failed child had done is done again.
            self._progress(min(done, self._total), self._total, "Indexing documents")


def _processes(documents: int) -> int:
    # A process that another one started starts none of its own.
    if documents < ALONE or multiprocessing.parent_process() is not None:
        return 1
    return min(_MOST, os.cpu_count() or 1)


Change = tuple[Sequence[SegmentReader], State]
"""The parts of an index, and its state."""


def apply_change(
    old: IndexSnapshot,
    commit: str | None,
    upserts: Iterable[IndexedDocument | UnreadableDocument],
    deletes: Iterable[str],
) -> Change:
    """Replace the documents of the new segments, and remove deleted documents."""
    built = build_segments(upserts)
    held = [segment.path(page) for segment in built.segments for page in range(segment.pages)]
    gone = {*held, *built.unreadable, *deletes}
    parts = [remove_pages(part, gone) for part in old.parts]
    kept = {path: blob for path, blob in old.state.unreadable.items() if path not in gone}
    return _change_of(parts, built, commit, kept)


def begin_index(commit: str | None, upserts: Iterable[IndexedDocument | UnreadableDocument]) -> Change:
    """Build the first parts of an index, in memory."""
    return _change_of((), build_segments(upserts), commit)


def build_index(
    source: Source,
    folder: Path | None,
    processes: int | None = None,
    progress: Progress | None = None,
    *,
    durable: bool = False,
) -> Change:
    """Index a whole commit; its segments are written to the folder."""
    built = build_in_processes(source, folder, processes=processes, progress=progress, durable=durable)
    return _change_of((), built, source.commit)


def _change_of(
    old: Iterable[SegmentReader], built: BuiltSegments, commit: str | None, left_out: Mapping[str, str] = {}
) -> Change:
    parts = compact([*old, *map(SegmentReader.of, built.segments)])
    return parts, state_of(parts, commit, {**left_out, **built.unreadable})


def state_of(parts: Sequence[SegmentReader], commit: str | None, unreadable: Mapping[str, str]) -> State:
    """Return the state of some parts as the index of a commit, with its unreadable documents."""
    return State(
        commit=commit,
        files=sum(part.pages for part in parts) + len(unreadable),
        chunks=sum(part.size for part in parts),
        length=sum(part.total for part in parts),
        indexed_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        unreadable=unreadable,
    )


def remove_pages(part: SegmentReader, paths: Iterable[str]) -> SegmentReader:
    """Return a part in which the documents of these paths are marked dead."""
    found = (part.find(path) for path in paths)
    return part.with_dead_pages(page for page in found if page is not None)
