"""A commit's documents become segments, in several processes where that is quicker.

Each process, this one among them, takes the next block of neighbouring documents when it is done with one,
and writes segments of its own. What was handed to a child that failed or was killed is done again here; what
that one wrote is swept away, because nobody commits it.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from index.building.builder import POSTINGS, Builder, Built, build_segments
from index.building.worker import Block, Child, Task
from index.page import Page, Unreadable
from index.port import Progress, Source

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


__all__ = ["Builder", "Built", "build", "build_segments"]
