"""Every document's links are read, in other processes: a server answers meanwhile.

Reading takes seconds where there are many documents, and in this process each of these would be felt by who
asks. What was handed to a process that fails or is killed is read again here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from index.link_graph.records import OPEN, Record, record_of
from index.link_graph.store import Row
from index.pool import spread
from index.port import Progress
from workspace.config.tables import LinkRules
from workspace.document.document import Document
from workspace.errors import LimitExceeded
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.snapshot.snapshot import NotADocument, Snapshot, check_pointer

ALONE = 500
"""Fewer documents than this are read here: another process takes as long to start."""

_BLOCK = 64
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
        """Return what a snapshot's settings say."""
        return cls(snapshot.git, snapshot.config.limits.document_bytes, snapshot.config.links)

    def record(self, path: str, blob: str) -> Record:
        """Return the links of one document. One that is too large is open; one that is no text has none."""
        try:
            data = self.git.blob_within(blob, self.most)
            if data is None:
                return OPEN
            check_pointer(path, data)
            return record_of(Document.parse(data, path), self.rules)
        except NotADocument:
            return Record()
        except (LimitExceeded, DamagedRepository):
            return OPEN

    def row(self, path: str, blob: str) -> Row:
        """Return the same as the store keeps it."""
        record = self.record(path, blob)
        return Row(path, blob, record.written(), record.keys(path, self.rules))

    def rows(self, documents: _Block) -> list[Row]:
        """Return the rows of some documents."""
        return [self.row(path, blob) for path, blob in documents]


def read_rows(
    reading: Reading, documents: _Block, progress: Progress | None = None, *, is_waited_for: bool = True
) -> Iterator[Row]:
    """Yield the rows of many documents, in no order; few are read here.

    Where nobody waits for them, one process reads them with what others leave of the machine.
    """
    total, done = len(documents), 0
    processes = 0 if total < ALONE else min(_MOST, os.cpu_count() or 1) if is_waited_for else 1
    blocks = (documents[first : first + _BLOCK] for first in range(0, total, _BLOCK))
    for _, rows in spread(reading.rows, blocks, processes, None if is_waited_for else _be_nice):
        yield from rows
        done += len(rows)
        if progress:
            progress(done, total, "Reading links")


def _be_nice() -> None:
    """Leave the machine to others first."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
