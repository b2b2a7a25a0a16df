"""The merge of segments: dead sections are dropped, and the others are renumbered in address order.

Small segments are collected for a merge, the smallest first. Collection continues while too many would remain
or the next one is at most twice as large as those collected. Few segments remain, and a section is copied at
most a logarithmic number of times.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.segments.arrays import compute_offsets, expand_ranges, gather_strings, join_pools
from index.segments.generation import SegmentReader
from index.segments.segment import PostingLists, Segment

MAX_MERGED_SEGMENT_SECTIONS = 20_000
"""The largest number of live sections of a small segment. Others are merged only if mostly dead."""

MAX_SMALL_SEGMENTS = 5
"""Up to this number, small segments are merged only if mostly dead: a commit writes only its changes."""

_MIN_COLLECTED_SECTIONS = 16
_SECTION_POOLS = (("keys", "key_offsets"), ("titles", "title_offsets"))
_DOCUMENT_POOLS = (("paths", "path_offsets"), ("facets", "facet_offsets"))


class SectionCounts(NamedTuple):
    """The numbers of live and dead sections of a segment."""

    live_count: int
    dead_count: int


def compact_segments(readers: Iterable[SegmentReader]) -> tuple[SegmentReader, ...]:
    """Merge the segments that `choose_segments` selects, in memory, and drop those without live documents."""
    readers = [reader for reader in readers if reader.document_count]
    chosen_segments = choose_segments(
        [SectionCounts(reader.size, len(reader.dead_sections)) for reader in readers]
    )
    if not chosen_segments:
        return tuple(readers)
    unchanged_readers = [reader for number, reader in enumerate(readers) if number not in chosen_segments]
    return (
        *unchanged_readers,
        SegmentReader.of(merge_segments([readers[number] for number in sorted(chosen_segments)])),
    )


def choose_segments(section_counts: Sequence[SectionCounts]) -> frozenset[int]:
    """Return the indexes of the segments to merge: several, or one that is mostly dead, or an empty set."""
    small_segments = sorted(
        (
            number
            for number, counts in enumerate(section_counts)
            if counts.live_count <= MAX_MERGED_SEGMENT_SECTIONS
        ),
        key=lambda number: section_counts[number].live_count,
    )
    chosen_segments = {
        number for number, counts in enumerate(section_counts) if counts.dead_count > counts.live_count
    }
    if len(small_segments) > MAX_SMALL_SEGMENTS:
        collected_count = 0
        for index, number in enumerate(small_segments):
            must_merge = len(small_segments) - index >= MAX_SMALL_SEGMENTS
            if not must_merge and section_counts[number].live_count > 2 * max(
                collected_count, _MIN_COLLECTED_SECTIONS
            ):
                break
            collected_count += section_counts[number].live_count
            chosen_segments.add(number)
    return frozenset(chosen_segments)


def merge_segments(readers: Sequence[SegmentReader]) -> Segment:
    """Return one segment, in memory, with the live documents of several segments."""
    documents = _find_live_documents(readers)
    first_sections = [reader.segment.arrays["firsts"].astype(np.int64) for reader in readers]
    bases = _compute_bases(reader.segment.size for reader in readers)
    sizes = np.concatenate([np.diff(first) for first in first_sections])[documents]
    starts = np.concatenate([first[:-1] + base for first, base in zip(first_sections, bases, strict=True)])[
        documents
    ]
    sections = expand_ranges(starts, sizes)
    tables: dict[str, NDArray[Any]] = {
        "firsts": compute_offsets(sizes),
        "page_of": np.repeat(np.arange(len(documents), dtype=np.uint32), sizes),
        "numbers": _join_arrays(readers, "numbers")[sections],
        "digests": _join_arrays(readers, "digests")[sections],
        "blobs": _join_arrays(readers, "blobs")[documents],
    }
    for names, order in ((_DOCUMENT_POOLS, documents), (_SECTION_POOLS, sections)):
        for name, name_of_offsets in names:
            pool = join_pools(
                (reader.segment.arrays[name], reader.segment.arrays[name_of_offsets]) for reader in readers
            )
            tables[name], tables[name_of_offsets] = gather_strings(*pool, order)
    return Segment.of(tables, _merge_postings(readers, sections, bases))


def _find_live_documents(readers: Sequence[SegmentReader]) -> NDArray[np.int64]:
    """Return the live documents in order of path; documents are numbered through all segments."""
    live_documents: list[tuple[bytes, int]] = []
    for reader, base in zip(
        readers, _compute_bases(reader.segment.document_count for reader in readers), strict=True
    ):
        paths = enumerate(reader.segment.paths())
        live_documents.extend(
            (path, base + document) for document, path in paths if document not in reader.dead_documents
        )
    live_documents.sort()
    return np.array([document for _, document in live_documents], np.int64)


def _merge_postings(
    readers: Sequence[SegmentReader], sections: NDArray[np.int64], bases: Sequence[int]
) -> PostingLists:
    """Join posting lists. `sections` are the live sections in their new order, by their old numbers."""
    keys = [reader.segment.term_keys() for reader in readers]
    terms = sorted(set().union(*keys))
    ranks = {term: rank for rank, term in enumerate(terms)}
    # Term, section and weight are packed in one integer, so that one sort orders all lists.
    bits = len(sections).bit_length()
    if len(terms).bit_length() + bits + 8 > 64:
        raise OverflowError(
            f"segments with {len(terms):,} terms and {len(sections):,} sections cannot be merged"
        )
    new_numbers = np.full(sum(reader.segment.size for reader in readers), -1, np.int64)
    new_numbers[sections] = np.arange(len(sections))
    packed: list[NDArray[np.uint64]] = []
    for reader, base, keys_of_segment in zip(readers, bases, keys, strict=True):
        arrays = reader.segment.arrays
        term_ranks = np.fromiter(map(ranks.__getitem__, keys_of_segment), np.uint64, len(keys_of_segment))
        starts = arrays["starts"].astype(np.int64)
        rank = np.repeat(term_ranks, starts[1:] - starts[:-1])
        section = new_numbers[base : base + reader.segment.size][arrays["ids"]]
        is_live = section >= 0
        key = rank[is_live] << np.uint64(bits) | section[is_live].astype(np.uint64)
        packed.append(key << np.uint64(8) | arrays["weights"][is_live])
    postings = np.concatenate(packed)
    postings.sort()
    counts = np.bincount((postings >> np.uint64(bits + 8)).astype(np.int64), minlength=len(terms))
    return PostingLists(
        terms=[term for term, count in zip(terms, counts.tolist(), strict=True) if count],
        starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(counts[counts > 0]))),
        ids=(postings >> np.uint64(8) & np.uint64((1 << bits) - 1)).astype(np.uint32),
        weights=postings.astype(np.uint8),
        lengths=_join_arrays(readers, "lengths")[sections],
    )


def _join_arrays(readers: Sequence[SegmentReader], name: str) -> NDArray[Any]:
    return np.concatenate([reader.segment.arrays[name] for reader in readers])


def _compute_bases(sizes: Iterable[int]) -> list[int]:
    """Return the first number of each segment, if all segments are numbered together."""
    return list(accumulate(sizes, initial=0))[:-1]
