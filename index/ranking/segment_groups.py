"""Groups of segments that are scored as one, with the statistics and filters of their sections.

Each process that builds an index writes a large segment, and small commits add some small ones. Scoring each
segment separately would be slower than scoring a group of them.

`Statistics` has the figures of all live sections: their number, their lengths, and the number with a
term. `flag_allowed_sections` selects the sections that the query's filters allow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from index.analysis import MAX_WEIGHT, extract_title_terms
from index.ranking.bm25 import BONUS_SHARE, average_length, compute_weight
from index.ranking.cache import ArrayCache
from index.ranking.evaluation import (
    MAX_FULL_SCORING,
    Mask,
    Numbers,
    Postings,
    ScoredNumbers,
    make_postings,
    score_arrays,
    score_postings,
)
from index.segments.segment import TEXT
from workspace.globs import Glob

if TYPE_CHECKING:
    from index.page import SectionRecord
    from index.port import Query
    from index.segments.generation import SegmentReader
    from index.segments.segment import PostingArrays, Segment

MAX_GROUP = 1 << 20
"""The largest number of sections of a group of large segments."""

LARGE_SEGMENT = 1 << 12
"""A part with more sections was built or merged, and most commits do not change it."""


class SectionReader(Protocol):
    """A reader of the sections of one generation: of their postings and their records.

    `count` is the number of live sections, and `length` the sum of their lengths.
    """

    @property
    def parts(self) -> Sequence[SegmentReader]: ...

    @property
    def count(self) -> int: ...

    @property
    def length(self) -> int: ...

    def postings(self, segment: Segment, field: str, term: str) -> PostingArrays:
        """Return the sections of a segment that have a term, dead ones included, and its weight in each."""

    def record(self, segment: Segment, number: int) -> SectionRecord:
        """Return the record of a section."""


Impacts = NDArray[np.uint16]

RankedSection = tuple[int, int, int, int]
"""A ranked section: its negated score, the index of its part, its number there, the number of its page.

When sorted, the best section comes first, and equal ones of the same part are in order of address.
"""


class SegmentGroup:
    """A group of parts, whose sections are numbered one part after another.

    `name` is unique among groups, and `segments` has the ids of its parts' segments. `starts` has the first
    number of each part, `alive` a flag for each section; None if no section is dead.
    """

    def __init__(
        self,
        reader: SectionReader,
        cache: ArrayCache,
        parts: Sequence[SegmentReader],
        first_part: int,
        first_page: int,
    ) -> None:
        """Join parts of a reader. `first_part` and `first_page` count those of the preceding groups."""
        segments = [part.segment for part in parts]
        self.parts = tuple(parts)
        self.segments = tuple(segment.id for segment in segments)
        self.name = "+".join(self.segments)
        self.size = sum(segment.size for segment in segments)
        self.starts = _compute_starts(segment.size for segment in segments)
        self.alive = _join_masks([(flag_live_sections(part), part.segment.size) for part in parts])
        self._reader = reader
        self._cache = cache
        self._first_part = first_part
        self._pages = segments[0].page_of
        if first_page or len(segments) > 1:
            self._pages = cache.get((self.name, "pages", first_page), _number_pages, segments, first_page)

    def postings(self, term: str, average: float) -> Postings | None:
        """Return the postings of a term, dead sections included; None if no section contains the term."""
        make = self._score_postings if len(self.parts) == 1 else self._join_postings
        scored: Postings | None = self._cache.get((self.name, term, average), make, term, average)
        return scored

    def rank(self, scored: ScoredNumbers) -> list[RankedSection]:
        """Return scored sections as ranked sections.

        Parts and pages are numbered through all groups.
        """
        numbers, scores = scored
        pages = self._pages[numbers].tolist()
        negated_scores = (scores * -BONUS_SHARE).tolist()
        if len(self.parts) == 1:
            return list(zip(negated_scores, repeat(self._first_part), numbers.tolist(), pages))
        part_indexes = self.starts.searchsorted(numbers, "right") - 1
        indexes = (self._first_part + part_indexes).tolist()
        return list(
            zip(negated_scores, indexes, (numbers - self.starts[part_indexes]).tolist(), pages, strict=True)
        )

    def union_postings(self, terms: Sequence[str], average: float) -> Postings | None:
        """Return the postings of several terms as those of one; None if no section has any of them."""
        ids: list[NDArray[np.uint32]] = []
        weights: list[NDArray[np.uint8]] = []
        for part, start in zip(self.parts, self.starts, strict=True):
            lists = [self._reader.postings(part.segment, TEXT, term) for term in terms]
            numbers = np.concatenate([numbers for numbers, _ in lists])
            sums = np.bincount(numbers, np.concatenate([weights for _, weights in lists]), part.segment.size)
            matching_numbers = sums.nonzero()[0]
            ids.append(matching_numbers.astype(np.uint32) + np.uint32(start))
            weights.append(np.minimum(sums[matching_numbers], MAX_WEIGHT).astype(np.uint8))
        lengths = np.concatenate([part.segment.lengths for part in self.parts])
        return score_postings((np.concatenate(ids), np.concatenate(weights)), lengths, average)

    def make_postings(self, weights: Mapping[int, Mapping[int, int]], average: float) -> Postings | None:
        """Return the postings of a term that has these weights; None if no section of the group has it.

        The weights are given by the index of the part and the number of the section there.
        """
        joined: list[tuple[int, Numbers, Impacts]] = []
        for index, (part, start) in enumerate(zip(self.parts, self.starts, strict=True), self._first_part):
            if index in weights:
                ids, own_weights = np.array(sorted(weights[index].items()), np.uint32).T
                scored = score_arrays((ids, own_weights.astype(np.uint8)), part.segment.lengths, average)
                joined.append((start, *scored))
        return _concatenate_postings(joined)

    def _score_postings(self, term: str, average: float, index: int = 0) -> Postings | None:
        segment = self.parts[index].segment
        return score_postings(self._reader.postings(segment, TEXT, term), segment.lengths, average)

    def _join_postings(self, term: str, average: float) -> Postings | None:
        joined: list[tuple[int, Numbers, Impacts]] = []
        for index, (part, start) in enumerate(zip(self.parts, self.starts, strict=True)):
            segment = part.segment
            if self.size > MAX_FULL_SCORING:
                # Most commits do not change a large group, so only its own list is cached.
                arrays = self._reader.postings(segment, TEXT, term)
                part_ids, part_impacts = score_arrays(arrays, segment.lengths, average)
            elif scored := self._cache.get(
                (segment.id, term, average), self._score_postings, term, average, index
            ):
                part_ids, part_impacts = scored.ids, scored.impacts
            else:
                continue
            if len(part_ids):
                joined.append((start, part_ids, part_impacts))
        return _concatenate_postings(joined)


def _concatenate_postings(lists: Sequence[tuple[int, Numbers, Impacts]]) -> Postings | None:
    """Join the sections and impacts of parts, each with the first number of its part; None without parts."""
    if not lists:
        return None
    ids = np.concatenate([ids + np.uint32(start) for start, ids, _ in lists])
    return make_postings(ids, np.concatenate([impacts for _, _, impacts in lists]))


def group_parts(reader: SectionReader, cache: ArrayCache) -> tuple[SegmentGroup, ...]:
    """Gather the parts of a reader into groups, the largest first, because its results speed up the others.

    In a large index, large segments are not grouped with small ones. The next commit may replace small ones,
    and then the lists of their group have to be joined again.
    """
    ordered = sorted(reader.parts, key=lambda part: -part.segment.size)
    if sum(part.segment.size for part in ordered) <= MAX_FULL_SCORING:
        groups = [ordered] if ordered else []
    else:
        large = [part for part in ordered if part.segment.size > LARGE_SEGMENT]
        groups = [*_gather_parts(large, MAX_GROUP), *_gather_parts(ordered[len(large) :], MAX_FULL_SCORING)]
    first_parts = _compute_starts(map(len, groups)).tolist()
    first_pages = _compute_starts(sum(part.segment.pages for part in group) for group in groups).tolist()
    return tuple(map(SegmentGroup, repeat(reader), repeat(cache), groups, first_parts, first_pages))


def _gather_parts(parts: Iterable[SegmentReader], max_sections: int) -> list[list[SegmentReader]]:
    """Gather parts, the largest first, into groups of at most `max_sections` sections, or of one part."""
    groups: list[list[SegmentReader]] = []
    size = 0
    for part in parts:
        size += part.segment.size
        if not groups or size > max_sections:
            groups.append([])
            size = part.segment.size
        groups[-1].append(part)
    return groups


def flag_live_sections(part: SegmentReader) -> Mask | None:
    """Return a flag for each section of a part; None if no section is dead."""
    if not len(part.dead):
        return None
    flags = np.ones(part.segment.size, np.bool_)
    flags[part.dead] = False
    return flags


def _join_masks(masks: Sequence[tuple[Mask | None, int]]) -> Mask | None:
    if all(mask is None for mask, _ in masks):
        return None
    return np.concatenate([np.ones(size, np.bool_) if mask is None else mask for mask, size in masks])


def _number_pages(segments: Sequence[Segment], first_page: int) -> NDArray[np.uint32]:
    """Return the numbers of the pages of all sections, from the first on."""
    firsts = _compute_starts(segment.pages for segment in segments) + first_page
    sections = zip(segments, firsts, strict=True)
    return np.concatenate([segment.page_of + np.uint32(first) for segment, first in sections])


def _compute_starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(accumulate(sizes, initial=0))[:-1], np.int64)


_MAX_TERMS_CACHED = 20_000
_MAX_RECORDS_CACHED = 4_096


class TermStatistics(NamedTuple):
    """The number of live sections that contain a term, and the indexes of the groups with the term."""

    df: int
    indexes: tuple[int, ...]


class Statistics:
    """The exact figures of one generation, without dead sections. Safe to use from threads.

    `number` counts the live sections, and `average` is the rounded average of their lengths. `groups` are the
    groups in which the `parts` are scored.
    """

    def __init__(self, reader: SectionReader, cache: ArrayCache | None = None) -> None:
        """Count the sections of a reader. `cache` has the postings and outlives a generation."""
        self.reader = reader
        self.cache = ArrayCache() if cache is None else cache
        self.groups = group_parts(reader, self.cache)
        self.parts = tuple(part for group in self.groups for part in group.parts)
        owners = {name for group in self.groups for name in (group.name, *group.segments)}
        # Arrays are views of mapped files, and a file stays open as long as an array exists.
        self.cache.retain(lambda name: cast("tuple[str, ...]", name)[0] in owners)
        self.number = reader.count
        self.average = average_length(reader.length, self.number)
        # Functions without a reference to this object, which would otherwise be in a cycle with its files.
        self._count = lru_cache(_MAX_TERMS_CACHED)(partial(_count_term, self.groups, self.average))
        self._count_sections = lru_cache(_MAX_TERMS_CACHED)(partial(_count_sections, reader, self.groups))
        self._record = lru_cache(_MAX_RECORDS_CACHED)(partial(_read_record, reader, self.parts))

    @cached_property
    def alive(self) -> tuple[Mask | None, ...]:
        """A flag for each section of each part; None for a part without dead sections."""
        return tuple(map(flag_live_sections, self.parts))

    def term(self, term: str) -> TermStatistics:
        """Return the number of live sections that contain a term, and the groups with its postings."""
        return self._count(term)

    def postings(self, index: int, term: str) -> Postings | None:
        """Return the postings of a term in a group, dead sections included."""
        return self.groups[index].postings(term, self.average)

    def union(self, terms: tuple[str, ...]) -> tuple[int, dict[int, Postings]]:
        """Return several terms as one: the number of its live sections, and its postings by group.

        Its weight in a section is the sum of the weights of the terms.
        """
        df, by_group = 0, dict[int, Postings]()
        for index, group in enumerate(self.groups):
            if (postings := group.union_postings(terms, self.average)) is not None:
                by_group[index] = postings
                mask = group.alive
                df += len(postings.ids) if mask is None else int(np.count_nonzero(mask[postings.ids]))
        return df, by_group

    def address(self, index: int, number: int) -> tuple[str, str]:
        """Return the path and the key of a section by the index of its part and its number there."""
        return self.parts[index].segment.address(number)

    def record(self, index: int, number: int) -> SectionRecord:
        """Return the record of a section by the index of its part and its number there."""
        return self._record(index, number)

    def title_share(self, index: int, number: int, terms: Container[str]) -> tuple[int, int]:
        """Return two weights for the title of a section's page: of its terms among `terms`, and of all.

        Only their ratio counts. If it is 0 or 1, no weights are needed.
        """
        title = extract_title_terms(self.parts[index].segment.title(number))
        matched_terms = [term for term in title if term in terms]
        if not matched_terms or len(matched_terms) == len(title):
            return len(matched_terms), len(title)
        section_count = self.number
        matched_weight = sum([compute_weight(1, self.term(term).df, section_count) for term in matched_terms])
        missing_weights = [
            compute_weight(1, self._count_sections(term), section_count)
            for term in title
            if term not in terms
        ]
        return matched_weight, matched_weight + sum(missing_weights)


def _count_term(groups: Sequence[SegmentGroup], average: float, term: str) -> TermStatistics:
    df = 0
    indexes = []
    for index, group in enumerate(groups):
        if (scored := group.postings(term, average)) is not None:
            indexes.append(index)
            mask = group.alive
            df += len(scored.ids) if mask is None else int(np.count_nonzero(mask[scored.ids]))
    return TermStatistics(df, tuple(indexes))


def _count_sections(reader: SectionReader, groups: Sequence[SegmentGroup], term: str) -> int:
    """Return the number of live sections that contain a term, without scoring them."""
    df = 0
    for group in groups:
        for part, start in zip(group.parts, group.starts, strict=True):
            ids, _ = reader.postings(part.segment, TEXT, term)
            mask = group.alive
            df += len(ids) if mask is None else int(np.count_nonzero(mask[ids + np.uint32(start)]))
    return df


def _read_record(
    reader: SectionReader, parts: Sequence[SegmentReader], index: int, number: int
) -> SectionRecord:
    return reader.record(parts[index].segment, number)


_GLOB_CHARACTERS = frozenset("*?[")


def flag_allowed_sections(statistics: Statistics, group: SegmentGroup, query: Query) -> Mask | None:
    """Return a flag for each section of a group that may be found; None if all of them may."""
    path = query.path.strip("/") if query.path else ""
    if not (query.excluded or query.filters or path):
        return group.alive
    masks = [_filter_sections(statistics, part.segment, query, path) for part in group.parts]
    mask = np.concatenate(masks) if len(masks) > 1 else masks[0]
    return mask if group.alive is None else mask & group.alive


def _filter_sections(statistics: Statistics, segment: Segment, query: Query, path: str) -> Mask:
    """Return a flag for each section that the query's filters allow, dead ones included."""
    postings = statistics.reader.postings
    mask = flag_sections_under(segment, path, statistics.cache) if path else np.ones(segment.size, np.bool_)
    for field, value in query.filters.items():
        mask &= _flag_ids(segment.size, postings(segment, field, value)[0])
    for term in query.excluded:
        mask[postings(segment, TEXT, term)[0]] = False
    return mask


def _flag_ids(size: int, ids: NDArray[np.uint32]) -> Mask:
    flags = np.zeros(size, np.bool_)
    flags[ids] = True
    return flags


def flag_sections_under(segment: Segment, path: str, cache: ArrayCache | None = None) -> Mask:
    """Return a flag for each section of the document or folder of this path, or of matches of the glob.

    `cache` has the results of globs.
    """
    flags = np.zeros(segment.size, np.bool_)
    pages = range(segment.pages)
    # The paths in a folder are contiguous, between "folder/" and "folder0" ("0" is the character after "/").
    first, last = (bisect_left(pages, path + end, key=segment.path) for end in "/0")
    if first < last:
        flags[segment.sections_of(first).start : segment.sections_of(last - 1).stop] = True
    if (page := segment.find(path)) is not None:
        sections = segment.sections_of(page)
        flags[sections.start : sections.stop] = True
    if not _GLOB_CHARACTERS.isdisjoint(path):
        key = segment.id, "glob", path
        pages_matched = cache.get(key, _match_glob, segment, path) if cache else _match_glob(segment, path)
        flags |= pages_matched[segment.page_of]
    return flags


def _match_glob(segment: Segment, pattern: str) -> Mask:
    """Return a flag for each page that a glob matches; case-sensitive."""
    matches = Glob.compile(pattern).matches
    return np.fromiter(map(matches, map(segment.path, range(segment.pages))), np.bool_, segment.pages)
