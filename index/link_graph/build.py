"""A reader of the links of all documents, in other processes.

Reading many documents takes seconds, and would delay every response of this process. Blocks of a process
that fails or is killed are read again in this process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from index.link_graph.records import ANY_FILE_RECORD, LinkRecord, make_record
from index.link_graph.store import DocumentRow
from index.pool import process_map
from index.port import Progress
from workspace.config.tables import LinkRules
from workspace.document.document import Document
from workspace.errors import LimitExceeded
from workspace.git.reader import GitReader
from workspace.git.repository import DamagedRepository
from workspace.snapshot.snapshot import LfsTextMissing, Snapshot, check_lfs_pointer

MIN_DOCUMENTS_FOR_CHILDREN = 500
"""Fewer documents are read in this process, because the start of another process takes as long."""

_BLOCK_SIZE = 64
_MAX_PROCESSES = 2
_NICENESS = 10  # of 19

_Block = Sequence[tuple[str, str]]
"""The path and blob of each document."""


class LinkReader(NamedTuple):
    """A reader of links: the repository, the size limit, and the link rules."""

    git: GitReader
    max_bytes: int
    rules: LinkRules

    @classmethod
    def of(cls, snapshot: Snapshot) -> LinkReader:
        """Return a reader with a snapshot's settings."""
        return cls(snapshot.git, snapshot.config.limits.document_bytes, snapshot.config.links)

    def read_record(self, path: str, blob: str) -> LinkRecord:
        """Return the links of one document.

        A document that is too large or unreadable is treated as if it may link to any file. A file that is
        not a document has no links.
        """
        try:
            data = self.git.blob_within(blob, self.max_bytes)
            if data is None:
                return ANY_FILE_RECORD
            check_lfs_pointer(path, data)
            return make_record(Document.parse(data, path), self.rules)
        except LfsTextMissing:
            return LinkRecord()
        except (LimitExceeded, DamagedRepository):
            return ANY_FILE_RECORD

    def read_row(self, path: str, blob: str) -> DocumentRow:
        """Return the row of one document for the store."""
        record = self.read_record(path, blob)
        return DocumentRow(path, blob, record.to_bytes(), record.keys(path, self.rules))

    def read_block(self, documents: _Block) -> list[DocumentRow]:
        """Return the rows of some documents."""
        return [self.read_row(path, blob) for path, blob in documents]


def read_rows(
    reader: LinkReader,
    documents: _Block,
    progress: Progress | None = None,
    *,
    has_waiting_caller: bool = True,
) -> Iterator[DocumentRow]:
    """Yield the rows of documents, in any order; a few documents are read in this process.

    If no caller waits for the rows, one process of low priority reads the documents.
    """
    document_count, finished_count = len(documents), 0
    processes = (
        0
        if document_count < MIN_DOCUMENTS_FOR_CHILDREN
        else min(_MAX_PROCESSES, os.cpu_count() or 1)
        if has_waiting_caller
        else 1
    )
    blocks = (documents[first : first + _BLOCK_SIZE] for first in range(0, document_count, _BLOCK_SIZE))
    for _, rows in process_map(
        reader.read_block, blocks, processes, None if has_waiting_caller else _lower_priority
    ):
        yield from rows
        finished_count += len(rows)
        if progress:
            progress(finished_count, document_count, "Reading links")


def _lower_priority() -> None:
    """Lower the priority of this process."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
