"""Groups of segments that are scored as one, with the statistics and filters of their sections.

Each process that builds an index leaves a large segment, and many small commits leave some small ones.
Scoring each by itself would take longer than its postings are worth.

`Statistics` has the figures of all live sections: how many there are, their lengths, and how many hold a
term. `allowed_flags` selects the sections that the query's filters allow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from index.ranking.bm25 import BONUS_SHARE, average
from index.ranking.cache import ArrayCache
from index.ranking.evaluation import WHOLE, Mask, Postings, ScoredNumbers, make_postings, postings
from index.segments.segment import TEXT, term_key
from workspace.globs import Glob
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from index.page import SectionRecord
    from index.port import Query
    from index.segments.generation import SegmentReader
    from index.segments.segment import Segment

MAX_GROUP = 1 << 20
"""Up to this number of sections parts are scored together that last."""

LARGE_SEGMENT = 1 << 12
"""A part with more sections was built or merged, and most commits leave it as it is."""

RankedSections = tuple[int, int, int, int]
"""A section in a list: its score below zero, the place of its part, its number there, the number of its page.

In their own order the best comes first, and of equal ones in the same part the first by address.
"""


class SegmentGroup:
    """Some parts, whose sections are numbered one part after another.

    `name` tells it from every other block, `segments` are the ids of its parts' segments, `starts` has the
    first number of each part, `alive` a flag for each section; None if nothing is dead.
    """

    def __init__(
        self, cache: ArrayCache, parts: Sequence[SegmentReader], first_part: int, first_page: int
    ) -> None:
        """Put parts together, before which other blocks have so many parts and pages."""
        segments = [part.segment for part in parts]
        self.parts = tuple(parts)
        self.segments = tuple(segment.id for segment in segments)
        self.name = "+".join(self.segments)
        self.size = sum(segment.size for segment in segments)
        self.starts = _starts(segment.size for segment in segments)
        self.alive = _join_masks([(live_flags(part), part.segment.size) for part in parts])
        self._cache = cache
        self._first_part = first_part
        self._pages = segments[0].page_of
        if first_page or len(segments) > 1:
            self._pages = cache.get((self.name, "pages", first_page), _pages, segments, first_page)

    def postings(self, term: str, average: float) -> Postings | None:
        """Return the list of a term, dead sections included; None if no section holds the term."""
        make = partial(postings, self.parts[0].segment) if len(self.parts) == 1 else self._joined
        found: Postings | None = self._cache.get((self.name, term, average), make, term, average)
        return found

    def ranked(self, found: ScoredNumbers) -> list[RankedSections]:
        """Return the sections that were found as lists have them.

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
        return make_postings(np.concatenate(ids), np.concatenate(impacts)) if ids else None


def group_parts(cache: ArrayCache, parts: Iterable[SegmentReader]) -> tuple[SegmentGroup, ...]:
    """Gather parts into blocks, the largest first, so that what is found in it makes the others quick.

    In a large index those that last stand apart from those that the next commit may replace, whose lists have
    to be put together again then.
    """
    ordered = sorted(parts, key=lambda part: -part.segment.size)
    if sum(part.segment.size for part in ordered) <= WHOLE:
        groups = [ordered] if ordered else []
    else:
        lasting = [part for part in ordered if part.segment.size > LARGE_SEGMENT]
        groups = [*_gather(lasting, MAX_GROUP), *_gather(ordered[len(lasting) :], WHOLE)]
    first_parts = _starts(map(len, groups)).tolist()
    first_pages = _starts(sum(part.segment.pages for part in group) for group in groups).tolist()
    return tuple(map(SegmentGroup, repeat(cache), groups, first_parts, first_pages))


def _gather(parts: Iterable[SegmentReader], most: int) -> list[list[SegmentReader]]:
    """Gather parts, the largest first, into groups of at most so many sections, or of one part."""
    groups: list[list[SegmentReader]] = []
    size = 0
    for part in parts:
        size += part.segment.size
        if not groups or size > most:
            groups.append([])
            size = part.segment.size
        groups[-1].append(part)
    return groups


def live_flags(part: SegmentReader) -> Mask | None:
    """Return a flag for each section of a part; None if nothing in it is dead."""
    if not len(part.dead):
        return None
    flags = np.ones(part.segment.size, np.bool_)
    flags[part.dead] = False
    return flags


def _join_masks(masks: Sequence[tuple[Mask | None, int]]) -> Mask | None:
    if all(mask is None for mask, _ in masks):
        return None
    return np.concatenate([np.ones(size, np.bool_) if mask is None else mask for mask, size in masks])


def _pages(segments: Sequence[Segment], first_page: int) -> NDArray[np.uint32]:
    """Return the numbers of the pages of all sections, from the first on."""
    firsts = _starts(segment.pages for segment in segments) + first_page
    own = zip(segments, firsts, strict=True)
    return np.concatenate([segment.page_of + np.uint32(first) for segment, first in own])


def _starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(accumulate(sizes, initial=0))[:-1], np.int64)


_WORDS = 20_000
_RECORDS = 4_096


class TermStatistics(NamedTuple):
    """A term of the text: how many live sections hold it, and the places of the blocks that have it."""

    df: int
    places: tuple[int, ...]


class Statistics:
    """The figures of one generation, exact: what is dead counts nowhere. Safe to use from threads.

    `number` counts the live sections, `length` is the sum of their lengths, `average` the quotient as the
    formula has it. `blocks` are the `parts` as they are scored; a block is named by its place among them.
    """

    def __init__(self, parts: Iterable[SegmentReader], cache: ArrayCache | None = None) -> None:
        """Count the sections of these parts; lists come from `cache`, which outlives a generation."""
        self.cache = ArrayCache() if cache is None else cache
        self.blocks = group_parts(self.cache, parts)
        self.parts = tuple(part for block in self.blocks for part in block.parts)
        owners = {name for block in self.blocks for name in (block.name, *block.segments)}
        # Arrays are views of mapped files, and a file stays open as long as there is one.
        self.cache.retain(lambda name: cast("tuple[str, ...]", name)[0] in owners)
        self.number = sum(part.size for part in self.parts)
        self.length = sum(part.total for part in self.parts)
        self.average = average(self.length, self.number)
        self._words: LRUCache[str, TermStatistics] = LRUCache(_WORDS)
        self._records: LRUCache[tuple[int, int], SectionRecord] = LRUCache(_RECORDS)

    @cached_property
    def alive(self) -> tuple[Mask | None, ...]:
        """A flag for each section of each of the parts; None for a part in which nothing is dead."""
        return tuple(map(live_flags, self.parts))

    def term(self, term: str) -> TermStatistics:
        """Say how many live sections hold a term, and in which blocks its lists are."""
        return self._words.get(term, self._count, term)

    def postings(self, place: int, term: str) -> Postings | None:
        """Return the list of a term in a block, dead sections included."""
        return self.blocks[place].postings(term, self.average)

    def address(self, place: int, number: int) -> tuple[str, str]:
        """Return the path and the key of a section by the place of its part and its number there."""
        return self.parts[place].segment.address(number)

    def record(self, place: int, number: int) -> SectionRecord:
        """Return what lists need of a section by the place of its part and its number there."""
        return self._records.get((place, number), self.parts[place].segment.record, number)

    def _count(self, term: str) -> TermStatistics:
        df = 0
        places = []
        for place, block in enumerate(self.blocks):
            if (found := self.postings(place, term)) is not None:
                places.append(place)
                mask = block.alive
                df += len(found.ids) if mask is None else int(np.count_nonzero(mask[found.ids]))
        return TermStatistics(df, tuple(places))


_GLOB = frozenset("*?[")


def allowed_flags(block: SegmentGroup, query: Query, cache: ArrayCache) -> Mask | None:
    """Return a flag for each section of a block; None means that all of them may answer."""
    path = query.path.strip("/") if query.path else ""
    if not (query.excluded or query.filters or path):
        return block.alive
    masks = [_filter_sections(part.segment, query, path, cache) for part in block.parts]
    mask = np.concatenate(masks) if len(masks) > 1 else masks[0]
    return mask if block.alive is None else mask & block.alive


def _filter_sections(segment: Segment, query: Query, path: str, cache: ArrayCache) -> Mask:
    """Return the sections that the query leaves in, dead ones included."""
    mask = _sections_under(segment, path, cache) if path else np.ones(segment.size, np.bool_)
    for field, value in query.filters.items():
        mask &= _flags(segment.size, segment.postings(term_key(field, value))[0])
    for term in query.excluded:
        mask[segment.postings(term_key(TEXT, term))[0]] = False
    return mask


def _flags(size: int, ids: NDArray[np.uint32]) -> Mask:
    flags = np.zeros(size, np.bool_)
    flags[ids] = True
    return flags


def _sections_under(segment: Segment, path: str, cache: ArrayCache) -> Mask:
    """Return the sections of the document of this path, of the folder, and of what the glob matches."""
    flags = np.zeros(segment.size, np.bool_)
    pages = range(segment.pages)
    # The paths in a folder stand together, between "folder/" and "folder0", which has the next character.
    first, last = (bisect_left(pages, path + end, key=segment.path) for end in "/0")
    if first < last:
        flags[segment.sections_of(first).start : segment.sections_of(last - 1).stop] = True
    if (page := segment.find(path)) is not None:
        own = segment.sections_of(page)
        flags[own.start : own.stop] = True
    if not _GLOB.isdisjoint(path):
        flags |= cache.get((segment.id, "glob", path), _match_glob, segment, path)[segment.page_of]
    return flags


def _match_glob(segment: Segment, pattern: str) -> Mask:
    """Return a flag for each page that a glob stands for; case counts."""
    matches = Glob.compile(pattern).matches
    return np.fromiter(map(matches, map(segment.path, range(segment.pages))), np.bool_, segment.pages)
