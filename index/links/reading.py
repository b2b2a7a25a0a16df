"""Every document's links are read, in other processes: a server answers meanwhile.

Reading takes seconds where there are many documents, and in this process each of these would be felt by who
asks. What was handed to a process that fails or is killed is read again here.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

from index.links.record import Record, record_of
from index.links.store import Row
from index.port import Progress
from index.spawning import settle, start
from workspace.config import LimitExceeded
from workspace.document import Document
from workspace.git import DamagedRepository, GitReader
from workspace.links.rules import LinkRules
from workspace.snapshot import NotADocument, Snapshot, check_pointer

ALONE = 500
"""Fewer documents than this are read here: another process takes as long to start."""

_BLOCK = 64
_AHEAD = 2
_PATIENCE = 60.0
_MOST = 2  # processes
_NICENESS = 10  # of 19

_Block = Sequence[tuple[str, str]]
"""Documents, each by path and blob."""


class Reading(NamedTuple):
    """Where documents are read, up to how many bytes, and what a link is there."""

    git: GitReader
    most: int
    rules: LinkRules

    @classmethod
    def of(cls, snapshot: Snapshot) -> Reading:
        """What a snapshot's settings say."""
        return cls(snapshot.git, snapshot.config.limits.document_bytes, snapshot.config.links)

    def record(self, path: str, blob: str) -> Record:
        """The links of one document. One that is too large is open; one that is no text has none."""
        try:
            data = self.git.blob_within(blob, self.most)
            if data is None:
                return Record(is_open=True)
            check_pointer(path, data)
            return record_of(Document.parse(data, path), self.rules)
        except NotADocument:
            return Record()
        except (LimitExceeded, DamagedRepository):
            return Record(is_open=True)

    def row(self, path: str, blob: str) -> Row:
        """The same as the store keeps it."""
        record = self.record(path, blob)
        return Row(path, blob, record.written(), record.keys(path, self.rules))


def read_rows(
    reading: Reading, documents: _Block, progress: Progress | None = None, *, is_waited_for: bool = True
) -> Iterator[Row]:
    """The rows of many documents, in no order; few are read here.

    Where nobody waits for them, one process reads them with what others leave of the machine.
    """
    total, done = len(documents), 0
    processes = 0 if total < ALONE else min(_MOST, os.cpu_count() or 1) if is_waited_for else 1
    for rows in _read(reading, documents, processes, 0 if is_waited_for else _NICENESS):
        yield from rows
        done += len(rows)
        if progress:
            progress(done, total, "Reading links")


def _read(reading: Reading, documents: _Block, processes: int, niceness: int) -> Iterator[list[Row]]:
    blocks = (documents[first : first + _BLOCK] for first in range(0, len(documents), _BLOCK))
    with ExitStack() as stack:
        readers = list(_started(reading, processes, niceness, stack))
        for reader in readers:
            reader.hand(blocks)
        while busy := [reader for reader in readers if reader.handed]:
            # One that was stopped, or waits for a disk that is gone, would be waited for without end.
            ready = wait([reader.pipe for reader in busy], _PATIENCE)
            for reader in [reader for reader in busy if reader.pipe in ready] or busy:
                rows = reader.rows()
                if rows is not None:
                    yield rows
                    reader.hand(blocks)
                    continue
                readers.remove(reader)
                for block in reader.handed:
                    yield [reading.row(*item) for item in block]
        for block in blocks:
            yield [reading.row(*item) for item in block]


def _started(reading: Reading, processes: int, niceness: int, stack: ExitStack) -> Iterator[_Reader]:
    # A process that must end with its parent may have no children of its own.
    if multiprocessing.current_process().daemon:
        return
    for _ in range(processes):
        with suppress(OSError):  # where there is no room for another process, its work is done here
            yield stack.enter_context(_Reader(reading, niceness))


class _Reader:
    """Another process that reads blocks, from entering to leaving a `with`; `handed` are those it has."""

    def __init__(self, reading: Reading, niceness: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, self._end = context.Pipe()
        self.handed: list[_Block] = []
        self._process = context.Process(target=_work, args=(self._end, reading, niceness), daemon=True)

    def __enter__(self) -> _Reader:
        with self._end:
            start(self._process)
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.join()
        self._process.close()
        self.pipe.close()

    def hand(self, blocks: Iterator[_Block]) -> None:
        """Let it have the next blocks, so that it need not wait for one."""
        with suppress(OSError):  # it failed, which is seen when it is asked for rows
            while len(self.handed) < _AHEAD and (block := next(blocks, None)) is not None:
                self.handed.append(block)
                self.pipe.send(block)

    def rows(self) -> list[Row] | None:
        """What it read of the first block that it has; None if it failed."""
        try:
            if not self.pipe.poll():
                return None
            rows: list[Row] = self.pipe.recv()
        except (EOFError, OSError):
            return None
        del self.handed[0]
        return rows


def _work(pipe: Connection, reading: Reading, niceness: int) -> None:
    settle()
    if hasattr(os, "nice"):
        os.nice(niceness)
    # A failure is not reported: the parent reads the same again, and meets the same if it lasts.
    with suppress(EOFError, OSError):
        while True:
            block = pipe.recv()
            pipe.send([reading.row(*item) for item in block])
