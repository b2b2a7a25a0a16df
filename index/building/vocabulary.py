"""The vocabulary: each distinct raw token is analysed once, and its number leads to those of its terms.

Text comes in as lists of raw tokens and goes out as arrays of numbers. One vocabulary serves many inversions,
so that an edit of one document does not stem every word again.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from itertools import accumulate, islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from index.analysis import BREAK, STOP_WORDS
from index.analysis.expansion import expand_raws
from index.segments.arrays import encode, ranges
from index.segments.segment import TEXT, term_name

LIMIT = 64_000_000
"""Bytes, as estimated, at which a vocabulary is full."""

SHARED_LIMIT = 16_000_000
"""The same for the vocabulary that stays with the process."""

# What a key takes beside its own bytes, as an object, in a dictionary and in the arrays.
_ENTRY = 180

_Key = TypeVar("_Key", str, bytes)


class Numbers(dict[_Key, int]):
    """Numbers for keys, from 0 in the order in which they are first asked for."""

    def __missing__(self, key: _Key) -> int:
        number = self[key] = len(self)
        return number

    def since(self, number: int) -> list[_Key]:
        """Return the keys from a number on, in order."""
        return list(islice(reversed(self), len(self) - number))[::-1]


class Vocabulary:
    """Raw tokens and terms by number, and which terms each raw token stands for; many threads may use it."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._raws: Numbers[bytes] = Numbers()
        self._terms: Numbers[str] = Numbers()
        self._keys: list[bytes] = []
        self._bytes = 0
        # The terms of a raw token stand together in `_stretches`, from `_starts` on: first those that are no
        # stop words (`_spoken` of them), then those that are (`_all` counts both).
        self._stretches = array("I")
        self._starts = array("I")
        self._spoken = array("I")
        self._all = array("I")
        self.numbers([BREAK])

    @property
    def is_full(self) -> bool:
        """Return True if it should be replaced by a new one."""
        entries = len(self._raws) + len(self._terms)
        return entries * _ENTRY + len(self._stretches) * 4 + self._bytes >= self._limit

    @property
    def size(self) -> int:
        """Count the terms."""
        return len(self._terms)

    def numbers(self, raws: Sequence[bytes]) -> NDArray[np.uint32]:
        """Return the number of each raw token, and add new ones; BREAK has 0 and no terms."""
        with self._lock:
            numbers = np.fromiter(map(self._raws.__getitem__, raws), np.uint32, len(raws))
            if len(self._raws) > len(self._starts):
                self._learn(self._raws.since(len(self._starts)))
            return numbers

    def terms(
        self, numbers: NDArray[np.uint32], *, stop_words: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the terms of numbered raw tokens one after another, and how many each of them has."""
        with self._lock:
            counts = _view(self._all if stop_words else self._spoken)[numbers]
            positions = ranges(_view(self._starts)[numbers].astype(np.int64), counts.astype(np.int64))
            return _view(self._stretches)[positions], counts

    def term(self, field: str, value: str) -> int:
        """Return the number of a field's term, which may be new."""
        with self._lock:
            return self._terms[term_name(field, value)]

    def keys(self, terms: NDArray[np.int64]) -> list[bytes]:
        """Return the keys of numbered terms."""
        with self._lock:
            self._keys += map(encode, self._terms.since(len(self._keys)))
        return [self._keys[term] for term in terms.tolist()]

    def _learn(self, raws: Sequence[bytes]) -> None:
        found = expand_raws(raws)
        for place, terms in enumerate(found):
            spoken = len(terms)
            self._all.append(spoken)
            if not STOP_WORDS.isdisjoint(terms):
                found[place] = terms = sorted(terms, key=STOP_WORDS.__contains__)
                spoken -= sum(map(STOP_WORDS.__contains__, terms))
            self._spoken.append(spoken)
        start = len(self._stretches)
        self._starts.extend(islice(accumulate(map(len, found), initial=start), len(found)))
        beginning = term_name(TEXT, "")
        self._stretches.extend([self._terms[beginning + term] for terms in found for term in terms])
        self._bytes += sum(map(len, raws))


_sharing = threading.Lock()
_shared = Vocabulary(SHARED_LIMIT)


def shared_vocabulary() -> Vocabulary:
    """Return the vocabulary shared by this process; a full one is replaced."""
    global _shared
    with _sharing:
        if _shared.is_full:
            _shared = Vocabulary(SHARED_LIMIT)
        return _shared


def _view(numbers: array[int]) -> NDArray[np.uint32]:
    return np.frombuffer(numbers, np.uint32) if numbers else np.zeros(0, np.uint32)
