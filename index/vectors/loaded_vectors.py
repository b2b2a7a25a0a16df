"""The vectors of one model: their store, and their codes in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from index.documents import DIGEST_BYTES
from index.vectors.codes import NO_ROW, CodeTable, split_digests
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from index.segments.generation import SegmentReader
    from index.segments.segment import Segment
    from index.vectors.embedder import Vectors
    from index.vectors.store import VectorStore

_MAX_CACHED_SEGMENTS = 256
_COVERAGE_INTERVAL_S = 1.0


class Coverage(NamedTuple):
    """The number of live sections that have a vector, and of all live sections."""

    covered: int
    total: int

    @property
    def share(self) -> float:
        """The share of the sections with a vector; 1 without sections."""
        return self.covered / self.total if self.total else 1.0


class MissingSections(NamedTuple):
    """The sections of a document that have no vector: their positions in it, and their digests."""

    segment: Segment
    document: int
    positions: list[int]
    digests: list[bytes]


class _Rows(NamedTuple):
    """The row of each section of a segment in a table that had `row_count` rows."""

    row_count: int
    rows: NDArray[np.int32]


class _MeasuredCoverage(NamedTuple):
    """The coverage of some segments at a time, when there were `vector_count` vectors."""

    segments: tuple[tuple[str, int], ...]
    time: float
    vector_count: int
    coverage: Coverage


class LoadedVectors:
    """The vectors with one `id`, which depends on the provider and its model. Safe to use from threads."""

    def __init__(self, id: str, store: VectorStore, dimensions: int) -> None:
        """Load nothing before `load` is called."""
        self.id = id
        self.store = store
        self.dimensions = dimensions
        self.codes = CodeTable(dimensions)
        self._rows: LRUCache[str, _Rows] = LRUCache(_MAX_CACHED_SEGMENTS)
        self._measured: _MeasuredCoverage | None = None
        self._lock = threading.Lock()

    def load(self) -> None:
        """Load the codes that this or another process has added. Raises IndexDamaged, IndexBusy."""
        if self.store.last_id() <= self.codes.last_id:
            return
        with self._lock:
            for rows in self.store.read_codes(self.codes.last_id):
                self.codes.add(*rows)

    def add(self, digests: Sequence[bytes], vectors: Vectors, day: int) -> None:
        """Store the vectors of digests. Raises IndexDamaged, IndexBusy, IndexUnwritable."""
        rows = self.store.add(digests, vectors, day)
        with self._lock:
            if rows.ids[0] == self.codes.last_id + 1:
                self.codes.add(*rows)
        self.load()  # another process may have added rows before these

    def find_rows(self, segment_id: str, digests: NDArray[np.uint8]) -> NDArray[np.int32]:
        """Return the row of each section of a segment. Only rows that were missing are searched again."""
        count = len(self.codes)
        cached = self._rows.find(segment_id)
        if cached is None:
            rows = self.codes.find_rows(digests)
        elif cached.row_count == count:
            return cached.rows
        else:
            missing = (cached.rows == NO_ROW).nonzero()[0]
            rows = cached.rows.copy()
            rows[missing] = self.codes.find_rows(digests[missing])
        self._rows.put(segment_id, _Rows(count, rows))
        return rows

    def read_vectors(self, digests: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Return the vectors of digests. Those without one are left out, and those that were removed.

        Raises IndexDamaged, IndexBusy.
        """
        table = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, DIGEST_BYTES)
        rows = zip(digests, self.codes.find_rows(table).tolist(), strict=True)
        rows_by_digest = {digest: row for digest, row in rows if row != NO_ROW}
        ids = self.codes.get_ids(list(rows_by_digest.values()))
        vectors = self.store.read_vectors(ids)
        return {digest: vectors[id] for digest, id in zip(rows_by_digest, ids, strict=True) if id in vectors}

    def mark_used(self, readers: Sequence[SegmentReader], day: int) -> None:
        """Store the day of the last use of the vectors of some segments."""
        for reader in readers:
            rows = self.find_rows(reader.segment.id, reader.segment.digests)
            self.store.mark_used(self.codes.get_ids(rows[rows != NO_ROW].tolist()), day)

    def measure_coverage(self, readers: Sequence[SegmentReader]) -> Coverage:
        """Return how many live sections have a vector. An incomplete coverage may be a second old."""
        segments = tuple((reader.segment.id, len(reader.dead_documents)) for reader in readers)
        count, now = len(self.codes), time.monotonic()
        measured = self._measured
        if measured is not None and measured.segments == segments:
            is_final = measured.vector_count == count or measured.coverage.share == 1
            if is_final or now - measured.time < _COVERAGE_INTERVAL_S:
                return measured.coverage
        covered = sum(reader.size - int(np.count_nonzero(self._flag_missing(reader))) for reader in readers)
        coverage = Coverage(covered, sum(reader.size for reader in readers))
        self._measured = _MeasuredCoverage(segments, now, count, coverage)
        return coverage

    def find_missing(self, readers: Sequence[SegmentReader]) -> Iterator[MissingSections]:
        """Yield the live sections without a vector by document, each digest once.

        Small segments come first, because they have the latest changes.
        """
        seen: set[bytes] = set()
        for reader in sorted(readers, key=lambda reader: reader.segment.size):
            segment = reader.segment
            numbers = self._flag_missing(reader).nonzero()[0]
            digests = split_digests(segment.digests[numbers])
            documents = segment.document_of[numbers].tolist()
            sections = zip(documents, numbers.tolist(), digests, strict=True)
            for document, group in groupby(sections, itemgetter(0)):
                first = segment.sections_of(document).start
                missing = MissingSections(segment, document, [], [])
                for _, number, digest in group:
                    if digest not in seen:
                        seen.add(digest)
                        missing.positions.append(number - first)
                        missing.digests.append(digest)
                if missing.digests:
                    yield missing

    def _flag_missing(self, reader: SegmentReader) -> NDArray[np.bool_]:
        """Return a flag for each section of a segment: True if it is live and has no vector."""
        flags: NDArray[np.bool_] = self.find_rows(reader.segment.id, reader.segment.digests) == NO_ROW
        flags[reader.dead_sections] = False
        return flags
