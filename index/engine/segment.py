"""One segment of an index, as it is read."""

from __future__ import annotations

import json
import threading
from array import array
from collections.abc import Callable, Iterable
from typing import Any

from whoosh import formats
from whoosh.codec.whoosh3 import LENGTHS_COLUMN
from whoosh.filedb.filestore import FileStorage, RamStorage
from whoosh.reading import SegmentReader
from whoosh.util.numeric import byte_to_length

from index.chunks import Record
from index.engine.frame import RECORD, key_of, reading, schema, term_of
from index.generation import TEXT, State
from index.integrity import Stamp

_CACHED_POSTINGS = 2_000_000


class Segment:
    """One segment's files, read under a lock: Whoosh's files have one position that all readers share."""

    def __init__(self, storage: FileStorage | RamStorage, entry: Any, stamps: tuple[Stamp, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._stamps = stamps
        self._reader = SegmentReader(storage, schema(), entry)
        self._postings: dict[tuple[str, str], tuple[array[int], array[float]]] = {}
        self._cached = 0
        self._norms: tuple[float, array[float]] | None = None
        self.id: str = entry.segment_id()
        self.size: int = entry.doc_count_all()
        self.lengths = lengths_of(self._reader._perdoc, self.size)

    def is_untouched(self) -> bool:
        """Whether the segment's files are as they were when their checksums were right."""
        return all(stamp.holds() for stamp in self._stamps)

    def norms(self, average: float, compute: Callable[[Iterable[int], float], array[float]]) -> array[float]:
        """Give what `compute` makes of the lengths; remembered while the average length stays the same."""
        known = self._norms
        if known is None or known[0] != average:
            self._norms = known = average, compute(self.lengths, average)
        return known[1]

    def postings(self, field: str, term: str) -> tuple[array[int], array[float]]:
        """Give the documents that hold a term, ascending and deleted ones included, and their weights."""
        cached = self._postings.get((field, term))
        if cached is not None:
            return cached
        with self._lock, reading():
            ids, weights = array("I"), array("f")
            key = key_of(term)
            if (field, key) in self._reader._terms:
                matcher = self._reader._terms.matcher(field, key, formats.Existence())
                while matcher.is_active():
                    matcher.id()
                    matcher.weight()
                    ids.extend(matcher._ids)
                    weights.extend(matcher._weights)
                    matcher._next_block()
            if ids and (len(ids) != len(weights) or ids[-1] >= self.size):
                raise ValueError("a posting list does not fit its segment")
            if len(ids) + self._cached > _CACHED_POSTINGS:
                self._postings.clear()
                self._cached = 0
            self._postings[field, term] = ids, weights
            self._cached += len(ids) + 1
        return ids, weights

    def terms(self, field: str) -> list[str]:
        """List the terms of a field, those of deleted documents included."""
        with self._lock, reading():
            return [term_of(term) for term in self._reader.lexicon(field)]

    def record(self, document: int) -> Record:
        """Read what is stored of a chunk."""
        with self._lock, reading():
            return Record(*self._reader.stored_fields(document)[RECORD])

    def state(self, document: int) -> State:
        with self._lock, reading():
            return State(**json.loads(self._reader.stored_fields(document)[RECORD]))


def lengths_of(documents: Any, size: int) -> array[int]:
    """Read the lengths of a segment's documents, as Whoosh rounds them to one byte."""
    column = documents._cached_reader(f"_{TEXT}_len", LENGTHS_COLUMN)
    return array("L", (byte_to_length(column[i]) for i in range(size)) if column is not None else [0] * size)
