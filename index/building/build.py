"""A commit's documents become segments, in several processes where that is quicker.

Each process, this one among them, takes the next block of neighbouring documents when it is done with one,
and writes segments of its own. What was handed to a child that failed or was killed is done again here; what
that one wrote is swept away, because nobody commits it.

What a change makes of an index: which parts it has then, and what it stands for.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from index.building.builder import POSTINGS, Built, build_segments
from index.building.worker import Block, Child, Task
from index.page import Page, Unreadable
from index.port import Progress, Source, State
from index.segments.generation import Generation, Part
from index.segments.merge import compact

ALONE = 2_000


"""With fewer documents than this, another process takes longer to start than it saves."""


_MOST = 2


_BLOCK = 64


_STEP = 8


def build(
    source: Source,
    folder: Path | None,
    *,
    processes: int | None = None,
    progress: Progress | None = None,
    durable: bool = False,
) -> Built:
    """Make segments of every document of a commit, in this many processes; None lets the size decide.

    Without a folder they stay in memory. Raises IndexUnwritable, and what `source` raises.
    """
    paths = sorted(source.paths())
    firsts = range(0, len(paths), _BLOCK)
    blocks = (tuple(paths[first : first + _BLOCK]) for first in firsts)
    count = max(1, min(processes or _processes(len(paths)), len(firsts)))
    with ExitStack() as stack:
        children: list[Child] = []
        if folder is not None:
            task = Task(source, folder, durable, POSTINGS // count)
            children += [stack.enter_context(Child(task, blocks)) for _ in range(1, count)]
        work = _Work(source, children, len(paths), progress)

        def built(blocks: Iterable[Block]) -> Built:
            return build_segments(work.pages(blocks), folder, durable=durable, limit=POSTINGS // count)

        work.tell()
        found = [built(blocks)]
        for child in children:
            found.append(child.result(work.tell) or built(child.handed))
    segments = tuple(segment for part in found for segment in part.segments)
    return Built(segments, {path: blob for part in found for path, blob in part.unreadable.items()})


class _Work:
    """Reads documents here, and attends to the children meanwhile."""

    def __init__(self, source: Source, children: list[Child], total: int, progress: Progress | None) -> None:
        self._source = source
        self._children = children
        self._total = total
        self._progress = progress
        self._done = 0

    def pages(self, blocks: Iterable[Block]) -> Iterator[Page | Unreadable]:
        for block in blocks:
            for page in self._source.pages(block):
                yield page
                self._done += 1
                if self._done % _STEP == 0:
                    for child in self._children:
                        child.attend()
            self.tell()

    def tell(self) -> None:
        if self._progress:
            done = self._done + sum(child.done for child in self._children)
            # What a failed child had done is done again.
            self._progress(min(done, self._total), self._total, "Indexing documents")


def _processes(documents: int) -> int:
    # A process that another one started starts none of its own.
    if documents < ALONE or multiprocessing.parent_process() is not None:
        return 1
    return min(_MOST, os.cpu_count() or 1)


Change = tuple[Sequence[Part], State]


"""The parts of an index, and its state."""


def changed(
    old: Generation, commit: str | None, upserts: Iterable[Page | Unreadable], deletes: Iterable[str]
) -> Change:
    """Let new segments stand for the documents they hold, and drop those that are deleted."""
    built = build_segments(upserts)
    held = [segment.path(page) for segment in built.segments for page in range(segment.pages)]
    gone = {*held, *built.unreadable, *deletes}
    parts = [without(part, gone) for part in old.parts]
    kept = {path: blob for path, blob in old.state.unreadable.items() if path not in gone}
    return _of(parts, built, commit, kept)


def begun(commit: str | None, upserts: Iterable[Page | Unreadable]) -> Change:
    """Make the first parts of an index, in memory."""
    return _of((), build_segments(upserts), commit)


def built_anew(
    source: Source,
    folder: Path | None,
    processes: int | None = None,
    progress: Progress | None = None,
    *,
    durable: bool = False,
) -> Change:
    """Take in a whole commit; its segments are written into the folder."""
    built = build(source, folder, processes=processes, progress=progress, durable=durable)
    return _of((), built, source.commit)


def _of(old: Iterable[Part], built: Built, commit: str | None, left_out: Mapping[str, str] = {}) -> Change:
    parts = compact([*old, *map(Part.of, built.segments)])
    return parts, state_of(parts, commit, {**left_out, **built.unreadable})


def state_of(parts: Sequence[Part], commit: str | None, unreadable: Mapping[str, str]) -> State:
    """Say what some parts are as the index of a commit, of which these documents could not be read."""
    return State(
        commit=commit,
        files=sum(part.pages for part in parts) + len(unreadable),
        chunks=sum(part.size for part in parts),
        length=sum(part.total for part in parts),
        indexed_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        unreadable=unreadable,
    )


def without(part: Part, paths: Iterable[str]) -> Part:
    """Return a part in which the documents of these paths are dead."""
    found = (part.find(path) for path in paths)
    return part.without(page for page in found if page is not None)
