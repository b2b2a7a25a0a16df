"""Parts that are scored together: a large one by itself, small ones as if they were one segment.

After many small commits an index has some small parts, and to score each by itself would take longer than all
their postings are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index.ranking.cache import Cache
from index.ranking.evaluation import WHOLE, Mask, Numbers
from index.ranking.postings import Postings, postings, ready

if TYPE_CHECKING:
    from index.segments.generation import Part


class Block:
    """Some parts, whose sections are numbered one part after another.

    `name` tells it from every other block, `starts` has the first number of each part, `alive` a flag for
    each section; None if nothing is dead.
    """

    def __init__(self, parts: Sequence[Part], first_part: int, first_page: int) -> None:
        """Put parts together, before which other blocks have so many parts and pages."""
        segments = [part.segment for part in parts]
        self.parts = tuple(parts)
        self.size = sum(segment.size for segment in segments)
        self.starts = _starts(segment.size for segment in segments)
        self.alive = _joined([(alive(part), part.segment.size) for part in parts])
        self._pages = segments[0].page_of
        if len(segments) > 1:
            firsts = _starts(segment.pages for segment in segments)
            own = zip(segments, firsts, strict=True)
            self._pages = np.concatenate([segment.page_of + np.uint32(first) for segment, first in own])
        self._first_part, self._first_page = first_part, first_page
        self.name = "+".join(self.segments)

    def postings(self, cache: Cache, term: str, average: float) -> Postings | None:
        """Give the list of a term, dead sections included; None if no section holds the term."""
        if len(self.parts) == 1:
            return _postings(cache, self.parts[0], term, average)
        return cache.get((self.name, term, average), self._joined, cache, term, average)

    @property
    def segments(self) -> tuple[str, ...]:
        """The ids of its parts' segments."""
        return tuple(part.segment.id for part in self.parts)

    def pages_of(self, numbers: Numbers) -> NDArray[np.int64]:
        """Give a number for the page of each of some sections, which no page of another block has."""
        return self._first_page + self._pages[numbers].astype(np.int64)

    def locate(self, numbers: Numbers) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Give the place of each section's part among the parts of all blocks, and its number in it."""
        if len(self.parts) == 1:
            return np.full(len(numbers), self._first_part, np.intp), numbers.astype(np.int64)
        within = self.starts.searchsorted(numbers, "right") - 1
        return self._first_part + within, numbers - self.starts[within]

    def _joined(self, cache: Cache, term: str, average: float) -> Postings | None:
        ids: list[NDArray[np.uint32]] = []
        impacts: list[NDArray[np.uint16]] = []
        for part, start in zip(self.parts, self.starts, strict=True):
            found = _postings(cache, part, term, average)
            if found is not None:
                ids.append(found.ids + np.uint32(start))
                impacts.append(found.impacts)
        return ready(np.concatenate(ids), np.concatenate(impacts)) if ids else None


def blocks_of(parts: Iterable[Part]) -> tuple[Block, ...]:
    """Gather parts into blocks, the largest first, so that what is found in it makes the others quick."""
    gathered: list[list[Part]] = []
    size = 0
    for part in sorted(parts, key=lambda part: -part.segment.size):
        size += part.segment.size
        if not gathered or size > WHOLE:
            gathered.append([])
            size = part.segment.size
        gathered[-1].append(part)
    first_parts = _starts(map(len, gathered))
    first_pages = _starts(sum(part.segment.pages for part in group) for group in gathered)
    return tuple(map(Block, gathered, first_parts.tolist(), first_pages.tolist()))


def alive(part: Part) -> Mask | None:
    """Give a flag for each section of a part; None if nothing in it is dead."""
    if not len(part.dead):
        return None
    flags = np.ones(part.segment.size, np.bool_)
    flags[part.dead] = False
    return flags


def _joined(masks: Sequence[tuple[Mask | None, int]]) -> Mask | None:
    if all(mask is None for mask, _ in masks):
        return None
    return np.concatenate([np.ones(size, np.bool_) if mask is None else mask for mask, size in masks])


def _postings(cache: Cache, part: Part, term: str, average: float) -> Postings | None:
    segment = part.segment
    return cache.get((segment.id, term, average), postings, segment, term, average)


def _starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(accumulate(sizes, initial=0))[:-1], np.int64)
