"""The build of segments from a commit, in several processes if that is faster.

Each process, including this one, takes the next block of neighbouring documents when it has finished one, and
writes its own segments. Blocks of a child process that fails or is killed are built again in this process.
The files of that child are removed later, because no manifest names them.

`apply_change` computes the segments and the state of an index after a change.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from index.building.builder import MAX_POSTINGS, BuiltSegments, build_segments
from index.building.worker import Block, BuildProcess, BuildTask
from index.documents import IndexedDocument, UnreadableDocument
from index.port import DocumentSource, Progress, State
from index.segments.generation import IndexSnapshot, SegmentReader, SegmentsAndState
from index.segments.merge import compact_segments

MIN_DOCUMENTS_FOR_CHILDREN = 2_000
"""From this number of documents on, a child process saves more time than its start takes."""

_MAX_PROCESSES = 2
_BLOCK_DOCUMENTS = 64
_REFILL_INTERVAL_DOCUMENTS = 8


def build_in_processes(
    source: DocumentSource,
    folder: Path | None,
    *,
    processes: int | None = None,
    progress: Progress | None = None,
    durable: bool = False,
) -> BuiltSegments:
    """Build segments of all documents of a commit, in several processes if there are many.

    If `processes` is None, it is derived from the number of documents. Without a folder, this process builds
    all segments in memory. Raises IndexUnwritable, and the errors of `source`.
    """
    paths = sorted(source.paths())
    firsts = range(0, len(paths), _BLOCK_DOCUMENTS)
    blocks = (tuple(paths[first : first + _BLOCK_DOCUMENTS]) for first in firsts)
    process_count = max(1, min(processes or _choose_process_count(len(paths)), len(firsts)))
    with ExitStack() as stack:
        children: list[BuildProcess] = []
        if folder is not None:
            task = BuildTask(source, folder, durable, MAX_POSTINGS // process_count)
            children += [stack.enter_context(BuildProcess(task, blocks)) for _ in range(1, process_count)]
        work = _ParentWork(source, children, len(paths), progress)

        def build_blocks(blocks: Iterable[Block]) -> BuiltSegments:
            return build_segments(
                work.read_documents(blocks),
                folder,
                durable=durable,
                max_postings=MAX_POSTINGS // process_count,
            )

        work.report()
        results = [build_blocks(blocks)]
        for child in children:
            results.append(child.wait_for_result(work.report) or build_blocks(child.sent_blocks))
    segments = tuple(segment for result in results for segment in result.segments)
    return BuiltSegments(
        segments, {path: blob for result in results for path, blob in result.unreadable.items()}
    )


class _ParentWork:
    """The work of this process: it reads documents, and sends blocks to the child processes meanwhile."""

    def __init__(
        self, source: DocumentSource, children: list[BuildProcess], total: int, progress: Progress | None
    ) -> None:
        self._source = source
        self._children = children
        self._total = total
        self._progress = progress
        self._finished_count = 0

    def read_documents(self, blocks: Iterable[Block]) -> Iterator[IndexedDocument | UnreadableDocument]:
        for block in blocks:
            for document in self._source.read_documents(block):
                yield document
                self._finished_count += 1
                if self._finished_count % _REFILL_INTERVAL_DOCUMENTS == 0:
                    for child in self._children:
                        child.refill()
            self.report()

    def report(self) -> None:
        if self._progress:
            finished_count = self._finished_count + sum(child.finished_count for child in self._children)
            # The documents of a failed child count twice, because this process reads them again.
            self._progress(min(finished_count, self._total), self._total, "Indexing documents")


def _choose_process_count(document_count: int) -> int:
    # A child process starts no processes of its own.
    if document_count < MIN_DOCUMENTS_FOR_CHILDREN or multiprocessing.parent_process() is not None:
        return 1
    return min(_MAX_PROCESSES, os.cpu_count() or 1)


def apply_change(
    old_index: IndexSnapshot,
    commit: str | None,
    upserts: Iterable[IndexedDocument | UnreadableDocument],
    deletes: Iterable[str],
) -> SegmentsAndState:
    """Return the segments and the state of an index after a change.

    The documents in `upserts` replace those with the same paths.
    """
    built_segments = build_segments(upserts)
    indexed_paths = [
        segment.path(document)
        for segment in built_segments.segments
        for document in range(segment.document_count)
    ]
    changed_paths = {*indexed_paths, *built_segments.unreadable, *deletes}
    readers = [copy_with_dead_documents(reader, changed_paths) for reader in old_index.segment_readers]
    still_unreadable = {
        path: blob for path, blob in old_index.state.unreadable.items() if path not in changed_paths
    }
    return _combine_segments(readers, built_segments, commit, still_unreadable)


def begin_index(
    commit: str | None, upserts: Iterable[IndexedDocument | UnreadableDocument]
) -> SegmentsAndState:
    """Return the first segments of an index, in memory, and its state."""
    return _combine_segments((), build_segments(upserts), commit)


def build_index(
    source: DocumentSource,
    folder: Path | None,
    processes: int | None = None,
    progress: Progress | None = None,
    *,
    durable: bool = False,
) -> SegmentsAndState:
    """Index a full commit; its segments are written to the folder, or stay in memory without a folder."""
    built_segments = build_in_processes(
        source, folder, processes=processes, progress=progress, durable=durable
    )
    return _combine_segments((), built_segments, source.commit)


def _combine_segments(
    old_readers: Iterable[SegmentReader],
    built_segments: BuiltSegments,
    commit: str | None,
    unreadable: Mapping[str, str] = {},
) -> SegmentsAndState:
    readers = compact_segments([*old_readers, *map(SegmentReader.of, built_segments.segments)])
    return readers, compute_state(readers, commit, {**unreadable, **built_segments.unreadable})


def compute_state(
    readers: Sequence[SegmentReader], commit: str | None, unreadable: Mapping[str, str]
) -> State:
    """Return the state of the index of a commit that consists of these segments."""
    return State(
        commit=commit,
        files=sum(reader.document_count for reader in readers) + len(unreadable),
        chunks=sum(reader.size for reader in readers),
        length=sum(reader.total_length for reader in readers),
        indexed_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        unreadable=unreadable,
    )


def copy_with_dead_documents(reader: SegmentReader, paths: Iterable[str]) -> SegmentReader:
    """Return a copy of a reader in which the documents with these paths are dead."""
    documents = (reader.find(path) for path in paths)
    return reader.with_dead_documents(document for document in documents if document is not None)
