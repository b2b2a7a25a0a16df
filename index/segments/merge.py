"""The merge of segments: dead sections are dropped, and the others are renumbered in address order.

Small segments are merged while the next one is at most twice as large as those collected. Few segments
remain, and the number of times that a section is copied grows only with the logarithm of the index size.
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

MAX_SMALL_SECTIONS = 20_000
"""The largest number of live sections of a small segment. A larger one is merged only if mostly dead."""

MAX_SMALL_SEGMENTS = 5
"""The number of small segments up to which nothing is merged, and a commit writes only its changes."""

_MIN_COLLECTED_SECTIONS = 16
_SECTION_POOLS = (("keys", "key_offsets"), ("titles", "title_offsets"))
_PAGE_POOLS = (("paths", "path_offsets"), ("facets", "facet_offsets"))


class Size(NamedTuple):
    """The numbers of live and dead sections of a segment."""

    live: int
    dead: int


def compact_parts(parts: Iterable[SegmentReader]) -> tuple[SegmentReader, ...]:
    """Merge the parts that `choose_segments` selects, in memory, and drop those without live pages."""
    parts = [part for part in parts if part.pages]
    chosen = choose_segments([Size(part.size, len(part.dead)) for part in parts])
    if not chosen:
        return tuple(parts)
    unchanged = [part for number, part in enumerate(parts) if number not in chosen]
    return (*unchanged, SegmentReader.of(merge([parts[number] for number in sorted(chosen)])))


def choose_segments(sizes: Sequence[Size]) -> frozenset[int]:
    """Return the indexes of the segments to merge: several, one that is mostly dead, or none."""
    small = sorted(
        (number for number, size in enumerate(sizes) if size.live <= MAX_SMALL_SECTIONS),
        key=lambda number: sizes[number].live,
    )
    chosen = {number for number, size in enumerate(sizes) if size.dead > size.live}
    if len(small) > MAX_SMALL_SEGMENTS:
        collected = 0
        for index, number in enumerate(small):
            must_merge = len(small) - index >= MAX_SMALL_SEGMENTS
            if not must_merge and sizes[number].live > 2 * max(collected, _MIN_COLLECTED_SECTIONS):
                break
            collected += sizes[number].live
            chosen.add(number)
    return frozenset(chosen)


def merge(parts: Sequence[SegmentReader]) -> Segment:
    """Return one segment, in memory, with the live pages of several parts."""
    pages = _find_live_pages(parts)
    firsts = [part.segment.arrays["firsts"].astype(np.int64) for part in parts]
    bases = _compute_first_numbers(part.segment.size for part in parts)
    sizes = np.concatenate([firsts_of_part[1:] - firsts_of_part[:-1] for firsts_of_part in firsts])[pages]
    starts = np.concatenate(
        [firsts_of_part[:-1] + base for firsts_of_part, base in zip(firsts, bases, strict=True)]
    )[pages]
    sections = expand_ranges(starts, sizes)
    tables: dict[str, NDArray[Any]] = {
        "firsts": compute_offsets(sizes),
        "page_of": np.repeat(np.arange(len(pages), dtype=np.uint32), sizes),
        "numbers": _join_arrays(parts, "numbers")[sections],
        "blobs": _join_arrays(parts, "blobs")[pages],
    }
    for names, order in ((_PAGE_POOLS, pages), (_SECTION_POOLS, sections)):
        for name, name_of_offsets in names:
            pool = join_pools(
                (part.segment.arrays[name], part.segment.arrays[name_of_offsets]) for part in parts
            )
            tables[name], tables[name_of_offsets] = gather_strings(*pool, order)
    return Segment.of(tables, _merge_postings(parts, sections, bases))


def _find_live_pages(parts: Sequence[SegmentReader]) -> NDArray[np.int64]:
    """Return the live pages in order of path; pages are numbered through all parts."""
    live_pages: list[tuple[bytes, int]] = []
    for part, base in zip(parts, _compute_first_numbers(part.segment.pages for part in parts), strict=True):
        paths = enumerate(part.segment.paths())
        live_pages.extend((path, base + page) for page, path in paths if page not in part.dead_pages)
    live_pages.sort()
    return np.array([page for _, page in live_pages], np.int64)


def _merge_postings(
    parts: Sequence[SegmentReader], sections: NDArray[np.int64], bases: Sequence[int]
) -> PostingLists:
    """Join posting lists. `sections` are the live ones, numbered through all parts, in their new order."""
    keys = [part.segment.term_keys() for part in parts]
    terms = sorted(set().union(*keys))
    ranks = {term: rank for rank, term in enumerate(terms)}
    # Term, section and weight are packed in one integer, so that one sort orders all lists.
    bits = len(sections).bit_length()
    if len(terms).bit_length() + bits + 8 > 64:
        raise OverflowError(
            f"segments with {len(terms):,} terms and {len(sections):,} sections cannot be merged"
        )
    new_numbers = np.full(sum(part.segment.size for part in parts), -1, np.int64)
    new_numbers[sections] = np.arange(len(sections))
    packed: list[NDArray[np.uint64]] = []
    for part, base, part_keys in zip(parts, bases, keys, strict=True):
        arrays = part.segment.arrays
        term_ranks = np.fromiter(map(ranks.__getitem__, part_keys), np.uint64, len(part_keys))
        starts = arrays["starts"].astype(np.int64)
        rank = np.repeat(term_ranks, starts[1:] - starts[:-1])
        section = new_numbers[base : base + part.segment.size][arrays["ids"]]
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
        lengths=_join_arrays(parts, "lengths")[sections],
    )


def _join_arrays(parts: Sequence[SegmentReader], name: str) -> NDArray[Any]:
    return np.concatenate([part.segment.arrays[name] for part in parts])


def _compute_first_numbers(sizes: Iterable[int]) -> list[int]:
    """Return the first number of each part, for numbers that count through all parts."""
    return list(accumulate(sizes, initial=0))[:-1]
