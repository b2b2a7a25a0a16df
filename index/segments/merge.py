"""Merge segments: drop dead sections and renumber the rest in address order.

Small segments are merged while the next is at most twice as large as those collected. Few remain, and the
number of times that a section is copied grows only with the logarithm of the index.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.segments.arrays import gather, join, offsets, ranges
from index.segments.generation import SegmentReader
from index.segments.segment import PostingLists, Segment

LARGE = 20_000
"""A segment with more live sections than this is left alone, unless most of it is dead."""

FEW = 5
"""While there are no more small segments than this, most commits write only what they changed."""

_AT_LEAST = 16
_OF_SECTIONS = (("keys", "key_offsets"), ("titles", "title_offsets"))
_OF_PAGES = (("paths", "path_offsets"), ("facets", "facet_offsets"))


class Size(NamedTuple):
    """How many sections of a segment live, and how many are dead."""

    live: int
    dead: int


def compact(parts: Iterable[SegmentReader]) -> tuple[SegmentReader, ...]:
    """Merge those parts that should be, and drop those in which no page lives. The new one is in memory."""
    parts = [part for part in parts if part.pages]
    chosen = choose_segments([Size(part.size, len(part.dead)) for part in parts])
    if not chosen:
        return tuple(parts)
    kept = [part for number, part in enumerate(parts) if number not in chosen]
    return (*kept, SegmentReader.of(merge([parts[number] for number in sorted(chosen)])))


def choose_segments(sizes: Sequence[Size]) -> frozenset[int]:
    """Choose by number the segments that should become one: several, one that is mostly dead, or none."""
    small = sorted(
        (number for number, size in enumerate(sizes) if size.live <= LARGE),
        key=lambda number: sizes[number].live,
    )
    chosen = {number for number, size in enumerate(sizes) if size.dead > size.live}
    if len(small) > FEW:
        gathered = 0
        for place, number in enumerate(small):
            too_many = len(small) - place >= FEW
            if not too_many and sizes[number].live > 2 * max(gathered, _AT_LEAST):
                break
            gathered += sizes[number].live
            chosen.add(number)
    return frozenset(chosen)


def merge(parts: Sequence[SegmentReader]) -> Segment:
    """Make one segment, in memory, of the live pages of several."""
    pages = _live_pages(parts)
    firsts = [part.segment.arrays["firsts"].astype(np.int64) for part in parts]
    bases = _bases(part.segment.size for part in parts)
    sizes = np.concatenate([found[1:] - found[:-1] for found in firsts])[pages]
    starts = np.concatenate([found[:-1] + base for found, base in zip(firsts, bases, strict=True)])[pages]
    sections = ranges(starts, sizes)
    tables: dict[str, NDArray[Any]] = {
        "firsts": offsets(sizes),
        "page_of": np.repeat(np.arange(len(pages), dtype=np.uint32), sizes),
        "numbers": _join(parts, "numbers")[sections],
        "blobs": _join(parts, "blobs")[pages],
    }
    for names, order in ((_OF_PAGES, pages), (_OF_SECTIONS, sections)):
        for name, name_of_offsets in names:
            pool = join((part.segment.arrays[name], part.segment.arrays[name_of_offsets]) for part in parts)
            tables[name], tables[name_of_offsets] = gather(*pool, order)
    return Segment.of(tables, _merge_postings(parts, sections, bases))


def _live_pages(parts: Sequence[SegmentReader]) -> NDArray[np.int64]:
    """List the live pages by path; they are numbered through all parts."""
    found: list[tuple[bytes, int]] = []
    for part, base in zip(parts, _bases(part.segment.pages for part in parts), strict=True):
        paths = enumerate(part.segment.paths())
        found.extend((path, base + page) for page, path in paths if page not in part.dead_pages)
    found.sort()
    return np.array([page for _, page in found], np.int64)


def _merge_postings(
    parts: Sequence[SegmentReader], sections: NDArray[np.int64], bases: Sequence[int]
) -> PostingLists:
    """Join posting lists. `sections` are those that live, numbered through all parts, in their new order."""
    keys = [part.segment.term_keys() for part in parts]
    terms = sorted(set().union(*keys))
    ranks = {term: rank for rank, term in enumerate(terms)}
    # Term, section and weight in one integer, so that one sort puts every list in its place.
    bits = len(sections).bit_length()
    if len(terms).bit_length() + bits + 8 > 64:
        raise OverflowError("segments of so many terms cannot be merged")
    moved = np.full(sum(part.segment.size for part in parts), -1, np.int64)
    moved[sections] = np.arange(len(sections))
    packed: list[NDArray[np.uint64]] = []
    for part, base, found in zip(parts, bases, keys, strict=True):
        arrays = part.segment.arrays
        of_term = np.fromiter(map(ranks.__getitem__, found), np.uint64, len(found))
        starts = arrays["starts"].astype(np.int64)
        rank = np.repeat(of_term, starts[1:] - starts[:-1])
        section = moved[base : base + part.segment.size][arrays["ids"]]
        lives = section >= 0
        key = rank[lives] << np.uint64(bits) | section[lives].astype(np.uint64)
        packed.append(key << np.uint64(8) | arrays["weights"][lives])
    postings = np.concatenate(packed)
    postings.sort()
    counts = np.bincount((postings >> np.uint64(bits + 8)).astype(np.int64), minlength=len(terms))
    return PostingLists(
        terms=[term for term, count in zip(terms, counts.tolist(), strict=True) if count],
        starts=np.concatenate((np.zeros(1, np.int64), np.cumsum(counts[counts > 0]))),
        ids=(postings >> np.uint64(8) & np.uint64((1 << bits) - 1)).astype(np.uint32),
        weights=postings.astype(np.uint8),
        lengths=_join(parts, "lengths")[sections],
    )


def _join(parts: Sequence[SegmentReader], name: str) -> NDArray[Any]:
    return np.concatenate([part.segment.arrays[name] for part in parts])


def _bases(sizes: Iterable[int]) -> list[int]:
    """Return the number at which each part begins, of things numbered through all parts."""
    return list(accumulate(sizes, initial=0))[:-1]
