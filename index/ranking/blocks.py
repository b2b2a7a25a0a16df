"""Parts that are scored together, as if they were one segment.

Each process that builds an index leaves a large part, and many small commits leave some small ones: to score
each by itself would take longer than its postings are worth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate, repeat
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from index.ranking.bm25 import BONUS_SHARE
from index.ranking.cache import ArrayCache
from index.ranking.evaluation import WHOLE, Found, Mask
from index.ranking.postings import Postings, postings, ready

if TYPE_CHECKING:
    from index.segments.generation import Part
    from index.segments.segment import Segment

JOINED = 1 << 20
"""Up to this number of sections parts are scored together that last."""

LASTING = 1 << 12
"""A part with more sections was built or merged, and most commits leave it as it is."""

Ranked = tuple[int, int, int, int]
"""A section in a list: its score below zero, the place of its part, its number there, the number of its page.

In their own order the best comes first, and of equal ones in the same part the first by address.
"""


class Block:
    """Some parts, whose sections are numbered one part after another.

    `name` tells it from every other block, `segments` are the ids of its parts' segments, `starts` has the
    first number of each part, `alive` a flag for each section; None if nothing is dead.
    """

    def __init__(self, cache: ArrayCache, parts: Sequence[Part], first_part: int, first_page: int) -> None:
        """Put parts together, before which other blocks have so many parts and pages."""
        segments = [part.segment for part in parts]
        self.parts = tuple(parts)
        self.segments = tuple(segment.id for segment in segments)
        self.name = "+".join(self.segments)
        self.size = sum(segment.size for segment in segments)
        self.starts = _starts(segment.size for segment in segments)
        self.alive = _joined([(alive(part), part.segment.size) for part in parts])
        self._cache = cache
        self._first_part = first_part
        self._pages = segments[0].page_of
        if first_page or len(segments) > 1:
            self._pages = cache.get((self.name, "pages", first_page), _pages, segments, first_page)

    def postings(self, term: str, average: float) -> Postings | None:
        """Give the list of a term, dead sections included; None if no section holds the term."""
        make = partial(postings, self.parts[0].segment) if len(self.parts) == 1 else self._joined
        found: Postings | None = self._cache.get((self.name, term, average), make, term, average)
        return found

    def ranked(self, found: Found) -> list[Ranked]:
        """Give the sections that were found as lists have them.

        They have the places of their parts among the parts of all blocks, and no page of another block has
        the number of theirs.
        """
        numbers, scores = found
        pages = self._pages[numbers].tolist()
        below = (scores * -BONUS_SHARE).tolist()
        if len(self.parts) == 1:
            return list(zip(below, repeat(self._first_part), numbers.tolist(), pages))
        within = self.starts.searchsorted(numbers, "right") - 1
        places = (self._first_part + within).tolist()
        return list(zip(below, places, (numbers - self.starts[within]).tolist(), pages, strict=True))

    def _joined(self, term: str, average: float) -> Postings | None:
        ids: list[NDArray[np.uint32]] = []
        impacts: list[NDArray[np.uint16]] = []
        for part, start in zip(self.parts, self.starts, strict=True):
            segment = part.segment
            if self.size > WHOLE:  # most commits leave the block as it is: what it is made of is not kept too
                found = postings(segment, term, average)
            else:
                found = self._cache.get((segment.id, term, average), postings, segment, term, average)
            if found is not None:
                ids.append(found.ids + np.uint32(start))
                impacts.append(found.impacts)
        return ready(np.concatenate(ids), np.concatenate(impacts)) if ids else None


def blocks_of(cache: ArrayCache, parts: Iterable[Part]) -> tuple[Block, ...]:
    """Gather parts into blocks, the largest first, so that what is found in it makes the others quick.

    In a large index those that last stand apart from those that the next commit may replace, whose lists have
    to be put together again then.
    """
    ordered = sorted(parts, key=lambda part: -part.segment.size)
    if sum(part.segment.size for part in ordered) <= WHOLE:
        groups = [ordered] if ordered else []
    else:
        lasting = [part for part in ordered if part.segment.size > LASTING]
        groups = [*_gathered(lasting, JOINED), *_gathered(ordered[len(lasting) :], WHOLE)]
    first_parts = _starts(map(len, groups)).tolist()
    first_pages = _starts(sum(part.segment.pages for part in group) for group in groups).tolist()
    return tuple(map(Block, repeat(cache), groups, first_parts, first_pages))


def _gathered(parts: Iterable[Part], most: int) -> list[list[Part]]:
    """Gather parts, the largest first, into groups of at most so many sections, or of one part."""
    groups: list[list[Part]] = []
    size = 0
    for part in parts:
        size += part.segment.size
        if not groups or size > most:
            groups.append([])
            size = part.segment.size
        groups[-1].append(part)
    return groups


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


def _pages(segments: Sequence[Segment], first_page: int) -> NDArray[np.uint32]:
    """The numbers of the pages of all sections, from the first on."""
    firsts = _starts(segment.pages for segment in segments) + first_page
    own = zip(segments, firsts, strict=True)
    return np.concatenate([segment.page_of + np.uint32(first) for segment, first in own])


def _starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(accumulate(sizes, initial=0))[:-1], np.int64)
