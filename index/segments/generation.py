"""One generation of an index as values: its state, its segments, and the live sections of each segment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from index.port import State
from index.segments.arrays import expand_ranges
from index.segments.segment import Segment


@dataclass(frozen=True, eq=False)
class SegmentReader:
    """A segment, and the documents of the segment that are dead in one generation.

    Documents and sections are given by their numbers. `dead_sections` has the numbers of all sections of
    `dead_documents`, ascending.
    """

    segment: Segment
    dead_sections: NDArray[np.uint32]
    dead_documents: frozenset[int]
    _values: dict[str, Mapping[str, int]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, segment: Segment, dead_documents: Iterable[int] = ()) -> SegmentReader:
        """Return a reader of a segment in which some documents are dead."""
        return cls(segment, np.empty(0, np.uint32), frozenset()).with_dead_documents(dead_documents)

    def with_dead_documents(self, documents: Iterable[int]) -> SegmentReader:
        """Return a reader with further dead documents, or this reader if they are dead already."""
        documents = frozenset(documents) - self.dead_documents
        if not documents:
            return self
        numbers = np.fromiter(documents, np.int64, len(documents))
        first_sections = self.segment.arrays["firsts"]
        starts = first_sections[numbers].astype(np.int64)
        dead_sections = expand_ranges(starts, first_sections[numbers + 1] - starts).astype(np.uint32)
        # A stable sort is fast, because most numbers are in order already.
        dead_sections = np.sort(np.concatenate((self.dead_sections, dead_sections)), kind="stable")
        return SegmentReader(self.segment, dead_sections, self.dead_documents | documents)

    def find(self, path: str) -> int | None:
        """Return the number of the live document with this path; None if there is none."""
        document = self.segment.find(path)
        return None if document is None or document in self.dead_documents else document

    def get_value_counts(self, field: str) -> Mapping[str, int]:
        """Return the number of live sections for each value of a facet, which is cached."""
        if field not in self._values:
            self._values[field] = self._count_values(field)
        return self._values[field]

    @property
    def document_count(self) -> int:
        """The number of live documents."""
        return self.segment.document_count - len(self.dead_documents)

    @property
    def size(self) -> int:
        """The number of live sections."""
        return self.segment.size - len(self.dead_sections)

    def _count_values(self, field: str) -> Mapping[str, int]:
        values, counts = self.segment.terms_with_prefix(field, ""), self.count_live_sections(field).tolist()
        return {value: count for value, count in zip(values, counts, strict=True) if count}

    def count_live_sections(self, field: str, prefix: str = "") -> NDArray[np.int64]:
        """Return the number of live sections for each term of a field with a prefix, in order."""
        starts = self.segment.list_starts(field, prefix).astype(np.int64)
        if len(self.dead_sections):
            # The number of live postings before each posting. Lists may be empty.
            is_live = np.ones(self.segment.size, np.bool_)
            is_live[self.dead_sections] = False
            ids = self.segment.ids[starts[0] : starts[-1]]
            starts = np.concatenate(([0], np.cumsum(is_live[ids])))[starts - starts[0]]
        return np.diff(starts)

    @cached_property
    def total_length(self) -> int:
        """The sum of the lengths of the live sections."""
        return self.segment.total_length - int(self.segment.lengths[self.dead_sections].sum())


@dataclass(frozen=True, eq=False)
class IndexSnapshot:
    """One generation of an index, with one reader for each segment. It stays readable after later writes.

    `origin` identifies the sequence of generations that `number` counts: the folder of the index's files, or
    the namespace of a database. It is None in memory.
    """

    number: int
    state: State
    segment_readers: tuple[SegmentReader, ...]
    origin: Path | str | None = None

    def is_untouched(self) -> bool:
        """Return True if no file has changed since its checksum was verified."""
        return all(reader.segment.is_untouched() for reader in self.segment_readers)

    def is_later_than(self, other: IndexSnapshot) -> bool:
        """Return True if another snapshot of the same origin was committed before this one."""
        return self.origin is not None and self.origin == other.origin and self.number > other.number


SegmentsAndState = tuple[Sequence[SegmentReader], State]
"""The segments and the state of an index, before they are committed."""


def count_values(readers: Iterable[SegmentReader], field: str) -> Mapping[str, int]:
    """Return the number of live sections of several segments for each value of a facet."""
    counts: Counter[str] = Counter()
    for reader in readers:
        counts.update(reader.get_value_counts(field))
    return counts
