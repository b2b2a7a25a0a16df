"""Pages go in, posting lists come out: terms in order, and for each the sections that hold it with weights.

Inverting is sorting. The postings of about a megabyte of text are sorted and added up at a time, and all of
them sorted once more when the terms have got their places in the order of their keys. No text is kept, and
nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from index.building.batch import Batch
from index.building.packing import (
    CAPACITY,
    Packed,
    list_starts,
    move_sections,
    move_terms,
    sections_of,
    terms_of,
    weights_of,
)
from index.building.vocabulary import LIMIT, Vocabulary, shared
from index.page import Page

_Number = TypeVar("_Number", np.uint32, np.uint64)

BATCH = 1_000_000
"""Bytes of pages that are analysed at once."""


@dataclass(frozen=True, slots=True)
class Inverted:
    """The posting lists of T terms over n sections, P postings in all.

    `terms` are keys in ascending order; the list of term i is [starts[i], starts[i + 1]) of `ids`, which are
    the numbers of sections in ascending order, and of `weights`. `lengths` has the sum of the weights of each
    section's words, facets left out.
    """

    terms: list[bytes]
    starts: NDArray[np.int64]
    ids: NDArray[np.uint32]
    weights: NDArray[np.uint8]
    lengths: NDArray[np.uint32]


class Inversion:
    """Posting lists in the making, of up to 2**28 sections and as many terms; for one thread.

    Up to a batch of pages is analysed with what the process knows, so that an edit is quick; more, with a
    vocabulary that is forgotten in the end.
    """

    def __init__(self, batch: int = BATCH, limit: int = LIMIT) -> None:
        self._batch_size = batch
        self._limit = limit
        # The postings made with each vocabulary that was used.
        self._runs: list[tuple[Vocabulary, list[Packed]]] = []
        self._lengths: list[NDArray[np.uint32]] = []
        self._sections = 0
        self.postings = 0
        """How many are held, those of the last batch left out."""
        self._use(shared())

    def add(self, page: Page) -> None:
        """Take in a page; its sections are numbered in order of their keys, after all before."""
        self._batch.add(page)
        if self._batch.size >= self._batch_size:
            self._flush()
            vocabulary = self._runs[-1][0]
            if len(self._runs) == 1 or vocabulary.is_full:
                vocabulary = Vocabulary(self._limit)
            self._use(vocabulary)

    def finish(self) -> Inverted:
        """Give the posting lists of all pages. Nothing can be added after it."""
        self._flush()
        keys = self._rank()
        held = [postings for _, run in self._runs for postings in run]
        self._runs.clear()
        packed = _joined(held, np.uint64)
        packed.sort()
        starts, lengths = list_starts(packed, len(keys)), _joined(self._lengths, np.uint32)
        return Inverted(keys, starts, sections_of(packed), weights_of(packed), lengths)

    def _use(self, vocabulary: Vocabulary) -> None:
        """Begin a batch."""
        if not self._runs or self._runs[-1][0] is not vocabulary:
            self._runs.append((vocabulary, []))
        self._batch = Batch(vocabulary)

    def _flush(self) -> None:
        """Hold the postings of the batch."""
        batch, first = self._batch, self._sections
        self._sections += batch.sections
        if self._sections > CAPACITY:
            raise OverflowError(f"an inversion holds at most {CAPACITY} sections")
        lengths = np.zeros(batch.sections)
        for words in batch.words():
            lengths += np.bincount(sections_of(words), weights_of(words), batch.sections)
            self._hold(words, first)
        self._hold(batch.facets(), first)
        self._lengths.append(lengths.astype(np.uint32))

    def _hold(self, postings: Packed, first: int) -> None:
        move_sections(postings, first)
        self._runs[-1][1].append(postings)
        self.postings += len(postings)

    def _rank(self) -> list[bytes]:
        """Number the terms by the place of their keys in order, and give the keys."""
        used = [_used(vocabulary, run) for vocabulary, run in self._runs]
        named = [vocabulary.keys(terms) for (vocabulary, _), terms in zip(self._runs, used, strict=True)]
        keys = sorted(set().union(*named))
        places = {key: place for place, key in enumerate(keys)}
        for (vocabulary, run), terms, names in zip(self._runs, used, named, strict=True):
            moved = np.zeros(vocabulary.size, np.uint64)
            moved[terms] = [places[name] for name in names]
            for postings in run:
                move_terms(postings, moved)
        return keys


def _used(vocabulary: Vocabulary, run: list[Packed]) -> NDArray[np.int64]:
    """List the terms that some postings have, ascending."""
    flags = np.zeros(vocabulary.size, np.bool_)
    for postings in run:
        flags[terms_of(postings)] = True
    return np.flatnonzero(flags)


def _joined(arrays: list[NDArray[_Number]], kind: type[_Number]) -> NDArray[_Number]:
    """Join arrays into one, and let go of each as soon as it is copied."""
    joined = np.empty(sum(map(len, arrays)), kind)
    end = len(joined)
    while arrays:
        last = arrays.pop()
        joined[end - len(last) : end] = last
        end -= len(last)
    return joined
