"""Groups of segments that are scored as one, with the statistics and filters of their sections.

Each process that builds an index writes a large segment, and small commits add some small ones. Scoring each
segment separately would be slower than scoring a group of them.

`Statistics` has the figures of all live sections: their number, their average length, and the number of
sections with a term. `flag_allowed_sections` selects the sections that the query's filters allow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import accumulate, repeat
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from index.analysis.terms import MAX_WEIGHT, extract_title_terms
from index.ranking.bm25 import BONUS_DIVISOR, compute_average_length, compute_weight
from index.ranking.cache import ArrayCache
from index.ranking.evaluation import (
    MAX_FULLY_SCORED_SECTIONS,
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
    from index.documents import SectionRecord
    from index.port import Query, SectionSelection
    from index.segments.generation import SegmentReader
    from index.segments.segment import PostingArrays, Segment

MAX_GROUP_SECTIONS = 1 << 20
"""The largest number of sections of a group of large segments."""

MAX_SMALL_SEGMENT_SECTIONS = 1 << 12
"""The largest number of sections of a small segment. Most commits do not replace a large segment."""


class SectionReader(Protocol):
    """A reader of the sections of one generation: of their postings and their records.

    `count` is the number of live sections, and `length` the sum of their lengths.
    """

    @property
    def segment_readers(self) -> Sequence[SegmentReader]: ...

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
"""A ranked section: its negated score, the index of its segment, its number in the segment, and the number
of its document.

When sorted, the best section comes first, and equal ones of the same segment are in order of address.
"""


class SegmentGroup:
    """A group of segments, whose sections are numbered one segment after another.

    `name` is unique among groups, and `segment_ids` has the ids of the segments. `starts` has the number of
    the first section of each segment, and `live_flags` a flag for each section; None if no section is dead.
    """

    def __init__(
        self,
        section_reader: SectionReader,
        cache: ArrayCache,
        readers: Sequence[SegmentReader],
        first_segment_number: int,
        first_document_number: int,
    ) -> None:
        """Join segments. The first numbers count the segments and documents of the preceding groups."""
        segments = [reader.segment for reader in readers]
        self.segment_readers = tuple(readers)
        self.segment_ids = tuple(segment.id for segment in segments)
        self.name = "+".join(self.segment_ids)
        self.size = sum(segment.size for segment in segments)
        self.starts = _compute_starts(segment.size for segment in segments)
        self.live_flags = _join_masks(
            [(flag_live_sections(reader), reader.segment.size) for reader in readers]
        )
        self._section_reader = section_reader
        self._cache = cache
        self._first_segment_number = first_segment_number
        self._document_numbers = segments[0].document_of
        if first_document_number or len(segments) > 1:
            self._document_numbers = cache.get(
                (self.name, "documents", first_document_number),
                _number_documents,
                segments,
                first_document_number,
            )

    def postings(self, term: str, average: float) -> Postings | None:
        """Return the postings of a term, dead sections included; None if no section contains the term."""
        compute = self._score_postings if len(self.segment_readers) == 1 else self._join_postings
        postings: Postings | None = self._cache.get((self.name, term, average), compute, term, average)
        return postings

    def rank(self, scored_sections: ScoredNumbers) -> list[RankedSection]:
        """Return scored sections as ranked sections.

        Segments and documents are numbered through all groups.
        """
        numbers, scores = scored_sections
        documents = self._document_numbers[numbers].tolist()
        negated_scores = (scores * -BONUS_DIVISOR).tolist()
        if len(self.segment_readers) == 1:
            return list(zip(negated_scores, repeat(self._first_segment_number), numbers.tolist(), documents))
        segment_indexes = self.starts.searchsorted(numbers, "right") - 1
        indexes = (self._first_segment_number + segment_indexes).tolist()
        return list(
            zip(
                negated_scores,
                indexes,
                (numbers - self.starts[segment_indexes]).tolist(),
                documents,
                strict=True,
            )
        )

    def compute_union_postings(self, terms: Sequence[str], average: float) -> Postings | None:
        """Return the joint postings of several terms; None if no section contains any of them."""
        ids: list[NDArray[np.uint32]] = []
        weights: list[NDArray[np.uint8]] = []
        for reader, start in zip(self.segment_readers, self.starts, strict=True):
            lists = [self._section_reader.postings(reader.segment, TEXT, term) for term in terms]
            numbers = np.concatenate([numbers for numbers, _ in lists])
            sums = np.bincount(
                numbers, np.concatenate([weights for _, weights in lists]), reader.segment.size
            )
            matching_numbers = sums.nonzero()[0]
            ids.append(matching_numbers.astype(np.uint32) + np.uint32(start))
            weights.append(np.minimum(sums[matching_numbers], MAX_WEIGHT).astype(np.uint8))
        lengths = np.concatenate([reader.segment.lengths for reader in self.segment_readers])
        return score_postings((np.concatenate(ids), np.concatenate(weights)), lengths, average)

    def make_postings(self, weights: Mapping[int, Mapping[int, int]], average: float) -> Postings | None:
        """Return the postings of a term from its weights; None if no section of the group contains the term.

        `weights` has the weights by the index of the segment and the number of the section there.
        """
        segment_lists: list[tuple[int, Numbers, Impacts]] = []
        for index, (reader, start) in enumerate(
            zip(self.segment_readers, self.starts, strict=True), self._first_segment_number
        ):
            if index in weights:
                ids, section_weights = np.array(sorted(weights[index].items()), np.uint32).T
                scored_ids = score_arrays(
                    (ids, section_weights.astype(np.uint8)), reader.segment.lengths, average
                )
                segment_lists.append((start, *scored_ids))
        return _concatenate_postings(segment_lists)

    def _score_postings(self, term: str, average: float, index: int = 0) -> Postings | None:
        segment = self.segment_readers[index].segment
        return score_postings(self._section_reader.postings(segment, TEXT, term), segment.lengths, average)

    def _join_postings(self, term: str, average: float) -> Postings | None:
        segment_lists: list[tuple[int, Numbers, Impacts]] = []
        for index, (reader, start) in enumerate(zip(self.segment_readers, self.starts, strict=True)):
            segment = reader.segment
            if self.size > MAX_FULLY_SCORED_SECTIONS:
                # Most commits do not change a large group, so only the joined list is cached.
                arrays = self._section_reader.postings(segment, TEXT, term)
                ids, impacts = score_arrays(arrays, segment.lengths, average)
            elif postings := self._cache.get(
                (segment.id, term, average), self._score_postings, term, average, index
            ):
                ids, impacts = postings.ids, postings.impacts
            else:
                continue
            if len(ids):
                segment_lists.append((start, ids, impacts))
        return _concatenate_postings(segment_lists)


def _concatenate_postings(lists: Sequence[tuple[int, Numbers, Impacts]]) -> Postings | None:
    """Join the sections and impacts of segments, given with their first numbers; None for no segments."""
    if not lists:
        return None
    ids = np.concatenate([ids + np.uint32(start) for start, ids, _ in lists])
    return make_postings(ids, np.concatenate([impacts for _, _, impacts in lists]))


def group_segments(section_reader: SectionReader, cache: ArrayCache) -> tuple[SegmentGroup, ...]:
    """Gather the segments of a reader into groups, the largest first: its results speed up the other groups.

    In a large index, large segments are not grouped with small ones. The next commit may replace the small
    ones, and then the lists of their group must be joined again.
    """
    sorted_readers = sorted(section_reader.segment_readers, key=lambda reader: -reader.segment.size)
    if sum(reader.segment.size for reader in sorted_readers) <= MAX_FULLY_SCORED_SECTIONS:
        groups = [sorted_readers] if sorted_readers else []
    else:
        large_readers = [
            reader for reader in sorted_readers if reader.segment.size > MAX_SMALL_SEGMENT_SECTIONS
        ]
        small_readers = sorted_readers[len(large_readers) :]
        groups = [
            *_gather_segments(large_readers, MAX_GROUP_SECTIONS),
            *_gather_segments(small_readers, MAX_FULLY_SCORED_SECTIONS),
        ]
    first_segment_numbers = _compute_starts(map(len, groups)).tolist()
    first_document_numbers = _compute_starts(
        sum(reader.segment.document_count for reader in group) for group in groups
    ).tolist()
    return tuple(
        map(
            SegmentGroup,
            repeat(section_reader),
            repeat(cache),
            groups,
            first_segment_numbers,
            first_document_numbers,
        )
    )


def _gather_segments(readers: Iterable[SegmentReader], max_sections: int) -> list[list[SegmentReader]]:
    """Gather segments, the largest first, into groups of at most `max_sections` sections or one segment."""
    groups: list[list[SegmentReader]] = []
    size = 0
    for reader in readers:
        size += reader.segment.size
        if not groups or size > max_sections:
            groups.append([])
            size = reader.segment.size
        groups[-1].append(reader)
    return groups


def flag_live_sections(reader: SegmentReader) -> Mask | None:
    """Return a flag for each section of a segment; None if no section is dead."""
    if not len(reader.dead_sections):
        return None
    flags = np.ones(reader.segment.size, np.bool_)
    flags[reader.dead_sections] = False
    return flags


def _join_masks(masks: Sequence[tuple[Mask | None, int]]) -> Mask | None:
    if all(mask is None for mask, _ in masks):
        return None
    return np.concatenate([np.ones(size, np.bool_) if mask is None else mask for mask, size in masks])


def _number_documents(segments: Sequence[Segment], first_document_number: int) -> NDArray[np.uint32]:
    """Return the number of the document of each section; numbering starts at `first_document_number`."""
    firsts = _compute_starts(segment.document_count for segment in segments) + first_document_number
    segments_with_firsts = zip(segments, firsts, strict=True)
    return np.concatenate([segment.document_of + np.uint32(first) for segment, first in segments_with_firsts])


def _compute_starts(sizes: Iterable[int]) -> NDArray[np.int64]:
    return np.array(list(accumulate(sizes, initial=0))[:-1], np.int64)


_MAX_TERMS_CACHED = 20_000
_MAX_RECORDS_CACHED = 4_096


class TermStatistics(NamedTuple):
    """The number of live sections that contain a term (`df`), and the indexes of the groups with the term."""

    df: int
    indexes: tuple[int, ...]


class Statistics:
    """The exact figures of one generation, without dead sections. Safe to use from threads.

    `section_count` counts the live sections, and `average` is the rounded average of their lengths. `groups`
    are the groups in which the segments are scored, and `segment_readers` the readers of their segments.
    """

    def __init__(self, section_reader: SectionReader, cache: ArrayCache | None = None) -> None:
        """Count the sections of a reader. `cache` has the postings and outlives a generation."""
        self.section_reader = section_reader
        self.cache = ArrayCache() if cache is None else cache
        self.groups = group_segments(section_reader, self.cache)
        self.segment_readers = tuple(reader for group in self.groups for reader in group.segment_readers)
        cached_names = {name for group in self.groups for name in (group.name, *group.segment_ids)}
        # Arrays are views of mapped files, and a file stays open as long as an array exists.
        self.cache.retain(lambda name: cast("tuple[str, ...]", name)[0] in cached_names)
        self.section_count = section_reader.count
        self.average = compute_average_length(section_reader.length, self.section_count)
        # These functions have no reference to this object: a reference cycle would keep its files open.
        self._get_term_statistics = lru_cache(_MAX_TERMS_CACHED)(
            partial(_compute_term_statistics, self.groups, self.average)
        )
        self._count_sections = lru_cache(_MAX_TERMS_CACHED)(
            partial(_count_sections, section_reader, self.groups)
        )
        self._record = lru_cache(_MAX_RECORDS_CACHED)(
            partial(_read_record, section_reader, self.segment_readers)
        )

    @cached_property
    def live_flags(self) -> tuple[Mask | None, ...]:
        """A flag for each section of each segment; None for a segment without dead sections."""
        return tuple(map(flag_live_sections, self.segment_readers))

    def get_term_statistics(self, term: str) -> TermStatistics:
        """Return the number of live sections that contain a term, and the groups with its postings."""
        return self._get_term_statistics(term)

    def postings(self, index: int, term: str) -> Postings | None:
        """Return the postings of a term in the group at `index`, dead sections included."""
        return self.groups[index].postings(term, self.average)

    def join_postings(self, terms: tuple[str, ...]) -> tuple[int, dict[int, Postings]]:
        """Return the number of live sections with any of several terms, and the joint postings by group.

        The weight in a section is the sum of the weights of the terms.
        """
        df, by_group = 0, dict[int, Postings]()
        for index, group in enumerate(self.groups):
            if (postings := group.compute_union_postings(terms, self.average)) is not None:
                by_group[index] = postings
                mask = group.live_flags
                df += len(postings.ids) if mask is None else int(np.count_nonzero(mask[postings.ids]))
        return df, by_group

    def address(self, index: int, number: int) -> tuple[str, str]:
        """Return the path and the key of a section by the index of its segment and its number there."""
        return self.segment_readers[index].segment.address(number)

    def record(self, index: int, number: int) -> SectionRecord:
        """Return the record of a section by the index of its segment and its number there."""
        return self._record(index, number)

    def weigh_title_terms(
        self, index: int, number: int, terms: Container[str], name_parts: Container[str]
    ) -> tuple[int, int]:
        """Return the weight of those terms of a document's title that are in `terms`, and of all its terms.

        Only the ratio of the two weights matters: if it is 0 or 1, numbers of terms are returned. Two names
        that have a part in common differ: a query for `UnhookAll`, whose `name_parts` have `unhook`, does not
        match the title `__unhook`.
        """
        title, title_name_parts = extract_title_terms(self.segment_readers[index].segment.title(number))
        matched_terms = [
            term for term in title if term in terms and not (term in name_parts and term in title_name_parts)
        ]
        if not matched_terms or len(matched_terms) == len(title):
            return len(matched_terms), len(title)
        section_count = self.section_count
        matched_weight = sum(
            [compute_weight(1, self.get_term_statistics(term).df, section_count) for term in matched_terms]
        )
        missing_weights = [
            compute_weight(1, self._count_sections(term), section_count)
            for term in title
            if term not in matched_terms
        ]
        return matched_weight, matched_weight + sum(missing_weights)


def _compute_term_statistics(groups: Sequence[SegmentGroup], average: float, term: str) -> TermStatistics:
    df = 0
    indexes = []
    for index, group in enumerate(groups):
        if (postings := group.postings(term, average)) is not None:
            indexes.append(index)
            mask = group.live_flags
            df += len(postings.ids) if mask is None else int(np.count_nonzero(mask[postings.ids]))
    return TermStatistics(df, tuple(indexes))


def _count_sections(section_reader: SectionReader, groups: Sequence[SegmentGroup], term: str) -> int:
    """Return the number of live sections that contain a term, without scoring them."""
    df = 0
    for group in groups:
        for reader, start in zip(group.segment_readers, group.starts, strict=True):
            ids, _ = section_reader.postings(reader.segment, TEXT, term)
            mask = group.live_flags
            df += len(ids) if mask is None else int(np.count_nonzero(mask[ids + np.uint32(start)]))
    return df


def _read_record(
    section_reader: SectionReader, readers: Sequence[SegmentReader], index: int, number: int
) -> SectionRecord:
    return section_reader.record(readers[index].segment, number)


_GLOB_CHARACTERS = frozenset("*?[")


def flag_allowed_sections(statistics: Statistics, group: SegmentGroup, query: Query) -> Mask | None:
    """Return a flag for each section of a group: True if it may be a result. None if all may be results."""
    path = query.path.strip("/") if query.path else ""
    if not (query.excluded or query.filters or path or query.sections):
        return group.live_flags
    masks = [_filter_sections(statistics, reader.segment, query, path) for reader in group.segment_readers]
    mask = np.concatenate(masks) if len(masks) > 1 else masks[0]
    return mask if group.live_flags is None else mask & group.live_flags


def _filter_sections(statistics: Statistics, segment: Segment, query: Query, path: str) -> Mask:
    """Return a flag for each section that the query's filters allow, dead ones included."""
    postings = statistics.section_reader.postings
    mask = flag_sections_under(segment, path, statistics.cache) if path else np.ones(segment.size, np.bool_)
    if query.sections is not None:
        mask &= flag_selected_sections(segment, query.sections)
    for field, value in query.filters.items():
        mask &= _flag_ids(segment.size, postings(segment, field, value)[0])
    for term in query.excluded:
        mask[postings(segment, TEXT, term)[0]] = False
    return mask


def flag_selected_sections(segment: Segment, selection: SectionSelection) -> Mask:
    """Return a flag for each section: True if it is selected."""
    flags = np.zeros(segment.size, np.bool_)
    for path, keys in selection.keys_by_path.items():
        if (document := segment.find(path)) is not None:
            for number in segment.sections_of(document):
                flags[number] = segment.address(number)[1] in keys
    return flags


def _flag_ids(size: int, ids: NDArray[np.uint32]) -> Mask:
    flags = np.zeros(size, np.bool_)
    flags[ids] = True
    return flags


def flag_sections_under(segment: Segment, path: str, cache: ArrayCache | None = None) -> Mask:
    """Return a flag for each section: True if its document has this path, is below it, or matches the glob.

    `cache` caches the results of globs.
    """
    flags = np.zeros(segment.size, np.bool_)
    documents = range(segment.document_count)
    # The paths in a folder are contiguous, between "folder/" and "folder0" ("0" is the character after "/").
    first, last = (bisect_left(documents, path + end, key=segment.path) for end in "/0")
    if first < last:
        flags[segment.sections_of(first).start : segment.sections_of(last - 1).stop] = True
    if (document := segment.find(path)) is not None:
        sections = segment.sections_of(document)
        flags[sections.start : sections.stop] = True
    if not _GLOB_CHARACTERS.isdisjoint(path):
        key = segment.id, "glob", path
        matching_documents = (
            cache.get(key, _match_glob, segment, path) if cache else _match_glob(segment, path)
        )
        flags |= matching_documents[segment.document_of]
    return flags


def _match_glob(segment: Segment, pattern: str) -> Mask:
    """Return a flag for each document that a glob matches; case-sensitive."""
    matches = Glob.compile(pattern).matches
    return np.fromiter(
        map(matches, map(segment.path, range(segment.document_count))), np.bool_, segment.document_count
    )
