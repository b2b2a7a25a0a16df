"""Documents are validated in several processes where that is quicker.

This process hands out blocks of neighbouring documents and collects what is found. The blocks of one that
failed or was killed are done here.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from types import TracebackType

from index.spawning import settle, start
from workspace.validation.finding import Finding
from workspace.validation.run import Validator

Progress = Callable[[float, float | None, str | None], None]
Block = tuple[int, int]
"""The first of some neighbouring documents, and the one behind the last."""

ALONE = 600
"""With fewer documents than this, another process takes longer to start than it saves."""

_MOST = 8
_LARGEST_BLOCK = 256
_BLOCKS = 16  # for each process at least, so that none is done long before the others
_AHEAD = 2


def findings(
    validator: Validator, paths: Sequence[str], jobs: int | None = None, progress: Progress | None = None
) -> list[Finding]:
    """What is found in some documents, in order of paths and places.

    `jobs` is the number of processes; None lets the size decide. Raises UnreadableFile, DamagedRepository.
    """
    count = jobs or _jobs(len(paths))
    # Neighbours lead to the same documents, which a process so reads once.
    size = max(1, min(_LARGEST_BLOCK, len(paths) // (count * _BLOCKS)))
    blocks = iter([(first, min(first + size, len(paths))) for first in range(0, len(paths), size)])
    found: list[Finding] = []
    done = 0

    def take(block: Block, new: list[Finding]) -> None:
        nonlocal done
        found.extend(new)
        done += block[1] - block[0]
        if progress:
            progress(done, len(paths), "Validating documents")

    with ExitStack() as stack:
        children = [stack.enter_context(_Child(validator, paths)) for _ in range(count if count > 1 else 0)]
        for child in children:
            child.feed(blocks)
        while working := [child for child in children if child.blocks]:
            ready = wait([child.pipe for child in working])
            for child in working:
                if child.pipe in ready:
                    block = child.blocks[0]
                    new = child.receive()
                    if new is not None:
                        take(block, new)
                        child.feed(blocks)
        left = [block for child in children for block in child.lost]
    for block in (*left, *blocks):
        take(block, validator.check(paths[slice(*block)]))
    return sorted(found, key=lambda one: (one.path, one.line, one.column))


class _Child:
    """A process that validates the blocks it is sent. `blocks` it has, `lost` it did not live to do."""

    def __init__(self, validator: Validator, paths: Sequence[str]) -> None:
        context = multiprocessing.get_context("spawn")
        self.blocks: list[Block] = []
        self.lost: list[Block] = []
        self.pipe, self._end = context.Pipe()
        self._process = context.Process(target=_work, args=(self._end, validator, paths), daemon=True)
        self._is_alive = False

    def __enter__(self) -> _Child:
        with suppress(OSError), self._end:
            start(self._process)
            self._is_alive = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        self.pipe.close()

    def feed(self, blocks: Iterator[Block]) -> None:
        """Send it further blocks, so that it never waits for one."""
        while self._is_alive and len(self.blocks) < _AHEAD:
            block = next(blocks, None)
            if block is None:
                return
            self.blocks.append(block)
            try:
                self.pipe.send(block)
            except OSError:
                self._give_up()

    def receive(self) -> list[Finding] | None:
        """What it found in the first of its blocks; None if it is no more."""
        try:
            found: list[Finding] = self.pipe.recv()
        except (EOFError, OSError):
            self._give_up()
            return None
        self.blocks.pop(0)
        return found

    def _give_up(self) -> None:
        self.lost, self.blocks, self._is_alive = self.lost + self.blocks, [], False


def _jobs(documents: int) -> int:
    if documents < ALONE or multiprocessing.current_process().daemon:
        return 1
    return min(_MOST, os.cpu_count() or 1)


def _work(pipe: Connection, validator: Validator, paths: Sequence[str]) -> None:
    settle()
    # A failure is not reported: the parent does the work again, and meets the same if it lasts.
    with suppress(Exception):
        while True:
            pipe.send(validator.check(paths[slice(*pipe.recv())]))
