"""Some pages on their way into posting lists: their texts and headings, analysed at once."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from index.analysis import HEADING_ABOVE, HEADING_WEIGHT, raw_tokens, readable
from index.building.packing import Packed, add_up, pack
from index.building.vocabulary import Numbers, Vocabulary
from index.page import Page
from index.segments.strings import encoded, ranges

AT_ONCE = 4_000_000
"""Bytes of text, and words of headings, whose postings are made at once: more, and a page of dense headings
would take a gigabyte."""


class _Headings(NamedTuple):
    """The terms of m headings, and which of them stand at n sections.

    The terms of heading h are `sizes[h]` from `starts[h]` on, its own heading is `own[s]` for section s, and
    those above it are [ends[s], ends[s + 1]) of `above`.
    """

    terms: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    own: NDArray[np.uint32]
    above: NDArray[np.uint32]
    ends: NDArray[np.int64]


class Batch:
    """Pages whose sections are numbered from 0 in the order in which they came, by key within a page."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.size = 0
        """The bytes of the pages."""
        self._vocabulary = vocabulary
        self._texts: list[bytes] = []
        self._headings: Numbers[str] = Numbers()
        # The number of each section's own heading; those of the headings above all, and how many for each.
        self._own = array("I")
        self._above = array("I")
        self._depths = array("I")
        # Each value of a facet is a term of so many sections from one on.
        self._values = array("I")
        self._firsts = array("I")
        self._counts = array("I")

    @property
    def sections(self) -> int:
        """How many there are."""
        return len(self._texts)

    def add(self, page: Page) -> None:
        self._add_facets(page)
        headings, above = self._headings, self._above_each(page)
        for section in page.by_key:
            self._texts.append(readable(page.text(section)))
            self._own.append(headings[section.title])
            self._above.extend(above[section.position])
            self._depths.append(len(above[section.position]))
        self.size += len(page.data)

    def words(self) -> Iterator[Packed]:
        """Give the postings of texts and headings, sorted; those of many sections in several portions."""
        headings = self._terms_of_headings()
        for first, last in self._portions(headings):
            yield add_up(np.concatenate((self._said(first, last), self._titled(headings, first, last))))

    def facets(self) -> Packed:
        """Give the postings of facets."""
        counts = _counted(self._counts)
        sections = ranges(_counted(self._firsts), counts)
        return pack(np.repeat(_numbers(self._values), counts), sections.astype(np.uint32), 1)

    def _above_each(self, page: Page) -> list[tuple[int, ...]]:
        """List the numbers of the headings above each section, by position."""
        headings, sections = self._headings, page.sections
        found: list[tuple[int, ...]] = []
        # By parent: siblings have the same above them, and sections come after those that they stand in.
        below: dict[int | None, tuple[int, ...]] = {None: (headings[page.title[:HEADING_ABOVE]],)}
        for section in sections:
            parent = section.parent
            if parent is not None and parent not in below:
                below[parent] = (*found[parent], headings[sections[parent].title[:HEADING_ABOVE]])
            found.append(() if section.is_preamble else below[parent])
        return found

    def _add_facets(self, page: Page) -> None:
        for field, values in page.facets.items():
            for value in dict.fromkeys(values):
                self._values.append(self._vocabulary.term(field, value))
                self._firsts.append(self.sections)
                self._counts.append(len(page.sections))

    def _terms_of_headings(self) -> _Headings:
        terms, owners = self._analysed([encoded(heading) for heading in self._headings], stop_words=True)
        sizes = np.bincount(owners, minlength=len(self._headings))
        ends = np.concatenate(([0], np.cumsum(_counted(self._depths))))
        starts = np.cumsum(sizes) - sizes
        return _Headings(terms, sizes, starts, _numbers(self._own), _numbers(self._above), ends)

    def _portions(self, headings: _Headings) -> Iterator[tuple[int, int]]:
        """Cut the sections where enough postings come together: a section has those of all above it too."""
        above = np.concatenate(([0], np.cumsum(headings.sizes[headings.above])))[headings.ends]
        found = np.fromiter(map(len, self._texts), np.int64, self.sections)
        found += headings.sizes[headings.own] + np.diff(above)
        cuts = np.flatnonzero(np.diff(np.cumsum(found) // AT_ONCE)) + 1
        return pairwise((0, *cuts.tolist(), self.sections))

    def _said(self, first: int, last: int) -> Packed:
        terms, sections = self._analysed(self._texts[first:last], stop_words=False)
        sections += np.uint32(first)
        return pack(terms, sections, 1)

    def _titled(self, headings: _Headings, first: int, last: int) -> Packed:
        every = np.arange(first, last, dtype=np.uint32)
        ends = headings.ends[first : last + 1]
        numbers = np.concatenate((headings.own[first:last], headings.above[ends[0] : ends[-1]]))
        sections = np.concatenate((every, np.repeat(every, np.diff(ends))))
        weights = np.ones(len(numbers), np.uint8)
        weights[: len(every)] = HEADING_WEIGHT
        counts = headings.sizes[numbers]
        found = headings.terms[ranges(headings.starts[numbers], counts)]
        return pack(found, np.repeat(sections, counts), np.repeat(weights, counts))

    def _analysed(
        self, texts: Sequence[bytes], *, stop_words: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Give the terms of some texts in order, and for each term the place of its text among them."""
        numbers = self._vocabulary.numbers(raw_tokens(texts))
        terms, counts = self._vocabulary.terms(numbers, stop_words=stop_words)
        return terms, np.repeat(np.cumsum(numbers == 0, dtype=np.uint32), counts)


def _numbers(numbers: array[int]) -> NDArray[np.uint32]:
    return np.array(numbers, np.uint32)


def _counted(numbers: array[int]) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)
