"""A posting as one 64-bit integer: its term, its section and its weight, the highest bits first.

So sorting integers sorts postings as lists need them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from index.analysis import MAX_WEIGHT

Packed = NDArray[np.uint64]

CAPACITY = 1 << 28
"""Terms, and sections, that can be told apart."""

_SECTION = np.uint64(8)
_TERM = np.uint64(36)
_WEIGHTS = np.uint64(0xFF)
_SECTIONS = np.uint64(CAPACITY - 1)


def pack(terms: NDArray[np.uint32], sections: NDArray[np.uint32], weights: NDArray[np.uint8] | int) -> Packed:
    """Pack postings; one weight is that of all."""
    packed: Packed = terms.astype(np.uint64)
    packed <<= _TERM - _SECTION
    packed |= sections
    packed <<= _SECTION
    packed |= np.asarray(weights, np.uint64)
    return packed


def terms_of(packed: Packed) -> NDArray[np.uint32]:
    """Give the terms of postings."""
    return (packed >> _TERM).astype(np.uint32)


def sections_of(packed: Packed) -> NDArray[np.uint32]:
    """Give the sections of postings."""
    found = (packed >> _SECTION).astype(np.uint32)
    found &= np.uint32(CAPACITY - 1)
    return found


def weights_of(packed: Packed) -> NDArray[np.uint8]:
    """Give the weights of postings."""
    return packed.astype(np.uint8)


def add_up(packed: Packed) -> Packed:
    """Sort postings in place, and give one for each term and section, with the sum of their weights."""
    packed.sort()
    pairs = packed >> _SECTION
    begins = np.ones(len(pairs), np.bool_)
    np.not_equal(pairs[1:], pairs[:-1], out=begins[1:])
    firsts = np.flatnonzero(begins)
    sums = np.add.reduceat(packed & _WEIGHTS, firsts) if len(firsts) else packed
    return (pairs[firsts] << _SECTION) | np.minimum(sums, np.uint64(MAX_WEIGHT))


def move_sections(packed: Packed, by: int) -> None:
    """Give postings higher sections, in place."""
    packed += np.uint64(by) << _SECTION


def move_terms(packed: Packed, places: NDArray[np.uint64]) -> None:
    """Give postings other terms, in place: `places[t]` for t."""
    moved = places[terms_of(packed)]
    moved <<= _TERM
    packed &= (_SECTIONS << _SECTION) | _WEIGHTS
    packed |= moved


def list_starts(packed: Packed, terms: int) -> NDArray[np.int64]:
    """Give where each of so many terms begins among sorted postings, and where the last ends."""
    return np.searchsorted(packed, np.arange(terms + 1, dtype=np.uint64) << _TERM).astype(np.int64)
