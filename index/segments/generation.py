"""One generation of an index as values: its state, its parts, and the live sections of each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from index.port import State
from index.segments.arrays import expand_ranges
from index.segments.segment import Segment


@dataclass(frozen=True, eq=False)
class SegmentReader:
    """A part of an index: a segment, and the pages of it that are dead in one generation.

    `dead` has the numbers of all sections of `dead_pages`, ascending.
    """

    segment: Segment
    dead: NDArray[np.uint32]
    dead_pages: frozenset[int]
    _values: dict[str, Mapping[str, int]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, segment: Segment, dead_pages: Iterable[int] = ()) -> SegmentReader:
        """Return a part for a segment in which some pages are dead."""
        return cls(segment, np.empty(0, np.uint32), frozenset()).with_dead_pages(dead_pages)

    def with_dead_pages(self, pages: Iterable[int]) -> SegmentReader:
        """Return the part with further dead pages, or the same part if they are dead already."""
        pages = frozenset(pages) - self.dead_pages
        if not pages:
            return self
        numbers = np.fromiter(pages, np.int64, len(pages))
        firsts = self.segment.arrays["firsts"]
        starts = firsts[numbers].astype(np.int64)
        dead = expand_ranges(starts, firsts[numbers + 1] - starts).astype(np.uint32)
        # A stable sort is fast, because most numbers are in order already.
        dead = np.sort(np.concatenate((self.dead, dead)), kind="stable")
        return SegmentReader(self.segment, dead, self.dead_pages | pages)

    def find(self, path: str) -> int | None:
        """Return the number of the live page with this path; None if there is none."""
        page = self.segment.find(path)
        return None if page is None or page in self.dead_pages else page

    def values(self, field: str) -> Mapping[str, int]:
        """Return the number of live sections for each value of a facet; cached, because parts are reused."""
        if field not in self._values:
            self._values[field] = self._count_values(field)
        return self._values[field]

    @property
    def pages(self) -> int:
        """The number of live pages."""
        return self.segment.pages - len(self.dead_pages)

    @property
    def size(self) -> int:
        """The number of live sections."""
        return self.segment.size - len(self.dead)

    def _count_values(self, field: str) -> Mapping[str, int]:
        values, counts = self.segment.terms_from(field, ""), self.live_counts(field).tolist()
        return {value: count for value, count in zip(values, counts, strict=True) if count}

    def live_counts(self, field: str, prefix: str = "") -> NDArray[np.int64]:
        """Return the number of live sections for each term of a field with a prefix, in order."""
        starts = self.segment.lists_of(field, prefix).astype(np.int64)
        if len(self.dead):
            # The number of live postings before each posting. Lists may be empty.
            is_live = np.ones(self.segment.size, np.bool_)
            is_live[self.dead] = False
            ids = self.segment.ids[starts[0] : starts[-1]]
            starts = np.concatenate(([0], np.cumsum(is_live[ids])))[starts - starts[0]]
        return np.diff(starts)

    @cached_property
    def total(self) -> int:
        """The sum of the lengths of the live sections."""
        return self.segment.total - int(self.segment.lengths[self.dead].sum())


@dataclass(frozen=True, eq=False)
class IndexSnapshot:
    """One generation of an index. It stays readable after later writes and rebuilds."""

    number: int
    state: State
    parts: tuple[SegmentReader, ...]

    def is_untouched(self) -> bool:
        """Return True if no file has changed since its checksum was verified."""
        return all(part.segment.is_untouched() for part in self.parts)


def count_values(parts: Iterable[SegmentReader], field: str) -> Mapping[str, int]:
    """Return the number of live sections of several parts for each value of a facet."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.values(field))
    return counts
