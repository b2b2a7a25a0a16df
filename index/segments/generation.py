"""The index at one moment, as values: what it stands for, its parts, and what in them is alive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from index.port import State
from index.segments.arrays import ranges
from index.segments.segment import Segment


@dataclass(frozen=True, eq=False)
class SegmentReader:
    """A segment as one generation sees it.

    Sections die with their page: `dead` has the numbers of all sections of `dead_pages`, ascending.
    """

    segment: Segment
    dead: NDArray[np.uint32]
    dead_pages: frozenset[int]
    _values: dict[str, Mapping[str, int]] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, segment: Segment, dead_pages: Iterable[int] = ()) -> SegmentReader:
        """Return the part of a segment in which some pages are dead."""
        return cls(segment, np.empty(0, np.uint32), frozenset()).with_dead_pages(dead_pages)

    def with_dead_pages(self, pages: Iterable[int]) -> SegmentReader:
        """Return the part with further pages dead; itself if they are dead already."""
        pages = frozenset(pages) - self.dead_pages
        if not pages:
            return self
        numbers = np.fromiter(pages, np.int64, len(pages))
        firsts = self.segment.arrays["firsts"]
        starts = firsts[numbers].astype(np.int64)
        dead = ranges(starts, firsts[numbers + 1] - starts).astype(np.uint32)
        # A stable sort is quick where most is in order already.
        dead = np.sort(np.concatenate((self.dead, dead)), kind="stable")
        return SegmentReader(self.segment, dead, self.dead_pages | pages)

    def find(self, path: str) -> int | None:
        """Return the number of a live page; None if there is none of this path."""
        page = self.segment.find(path)
        return None if page is None or page in self.dead_pages else page

    def values(self, field: str) -> Mapping[str, int]:
        """Count the live sections that have each value of a facet; most parts outlive a commit, so once."""
        if field not in self._values:
            self._values[field] = self._count(field)
        return self._values[field]

    @property
    def pages(self) -> int:
        """How many pages live."""
        return self.segment.pages - len(self.dead_pages)

    @property
    def size(self) -> int:
        """How many sections live."""
        return self.segment.size - len(self.dead)

    def _count(self, field: str) -> Mapping[str, int]:
        terms = list(self.segment.terms(field))
        if not terms:
            return {}
        # The lists of neighbouring terms adjoin, and none is empty.
        starts = np.array([first for _, first, _ in terms], np.int64)
        first, last = terms[0][1], terms[-1][2]
        alive = np.ones(self.segment.size, np.uint8)
        alive[self.dead] = 0
        counts = np.add.reduceat(alive[self.segment.ids[first:last]], starts - first, dtype=np.int64)
        return {value: count for (value, _, _), count in zip(terms, counts.tolist(), strict=True) if count}

    @cached_property
    def total(self) -> int:
        """The sum of the lengths of the live sections."""
        return self.segment.total - int(self.segment.lengths[self.dead].sum())


@dataclass(frozen=True, eq=False)
class IndexSnapshot:
    """The whole index at one moment: it stays readable after later writes and rebuilds."""

    number: int
    state: State
    parts: tuple[SegmentReader, ...]

    def is_untouched(self) -> bool:
        """Return True if the files are as they were when their checksums were right."""
        return all(part.segment.is_untouched() for part in self.parts)


def count_values(parts: Iterable[SegmentReader], field: str) -> Mapping[str, int]:
    """Count the live sections of several parts that have each value of a facet."""
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.values(field))
    return counts
