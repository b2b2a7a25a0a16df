"""Work on many documents, done in several processes where that is quicker."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from index.pool import spread

Progress = Callable[[float, float | None, str | None], None]
Block = tuple[int, int]
"""The first of some neighbouring documents, and the one behind the last."""

T = TypeVar("T")
Work = Callable[[Sequence[str]], Sequence[T]]
"""What is done with some documents; it can be sent to another process, which then reads them by itself."""

ALONE = 600
"""With fewer documents than this, another process takes longer to start than it saves."""

_MOST = 8
_LARGEST_BLOCK = 256
_BLOCKS = 16  # for each process at least, so that none is done long before the others
_COLLECTED = 100_000  # objects that are made between two collections of garbage


def in_blocks(
    work: Work[T],
    paths: Sequence[str],
    doing: str,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[T]:
    """What comes of some documents, block by block, in no order; `doing` is what people are told meanwhile.

    `jobs` is the number of processes; None lets the size decide. Raises what `work` raises.
    """
    count = jobs or _jobs(len(paths))
    # Neighbours lead to the same documents, which a process so reads once.
    size = max(1, min(_LARGEST_BLOCK, len(paths) // (count * _BLOCKS)))
    blocks = iter([(first, min(first + size, len(paths))) for first in range(0, len(paths), size)])
    found: list[T] = []
    done = 0
    others = count if count > 1 else 0
    for block, new in spread(partial(_worked, work, paths), blocks, others, _collect_rarely):
        found += new
        done += block[1] - block[0]
        if progress:
            progress(done, len(paths), doing)
    return found


def _worked(work: Work[T], paths: Sequence[str], block: Block) -> Sequence[T]:
    return work(paths[slice(*block)])


def _collect_rarely() -> None:
    # Documents hold no cycles, and are kept: the collector would walk them again and again.
    gc.set_threshold(_COLLECTED)


def _jobs(documents: int) -> int:
    if documents < ALONE or multiprocessing.parent_process() is not None:
        return 1
    return min(_MOST, os.cpu_count() or 1)
