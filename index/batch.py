"""Some pages on their way into posting lists: their texts and headings, analysed at once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from index.analysis import HEADING_ABOVE, HEADING_WEIGHT, raw_tokens, readable
from index.packing import Packed, add_up, pack
from index.page import Page
from index.strings import encoded, ranges
from index.vocabulary import Numbers, Vocabulary


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
        headings = self._headings
        title = (headings[page.title[:HEADING_ABOVE]],)
        # What stands above the parts of each section; sections come after those that they stand in.
        lines: list[tuple[int, ...]] = []
        for section in page.sections:
            parent = section.parent
            above = title if parent is None else lines[parent]
            lines.append((*above, headings[section.title[:HEADING_ABOVE]]))
        self._add_facets(page)
        for section in page.by_key:
            above = () if section.is_preamble else lines[section.position][:-1]
            self._texts.append(readable(page.text(section)))
            self._own.append(headings[section.title])
            self._above.extend(above)
            self._depths.append(len(above))
        self.size += len(page.data)

    def words(self) -> Packed:
        """Give the postings of texts and headings, sorted."""
        return add_up(np.concatenate((self._said(), self._titled())))

    def facets(self) -> Packed:
        """Give the postings of facets."""
        counts = _counted(self._counts)
        sections = ranges(_counted(self._firsts), counts)
        return pack(np.repeat(_numbers(self._values), counts), sections.astype(np.uint32), 1)

    def _add_facets(self, page: Page) -> None:
        for field, values in page.facets.items():
            for value in dict.fromkeys(values):
                self._values.append(self._vocabulary.term(field, value))
                self._firsts.append(self.sections)
                self._counts.append(len(page.sections))

    def _said(self) -> Packed:
        terms, sections = self._analysed(self._texts, stop_words=False)
        return pack(terms, sections, 1)

    def _titled(self) -> Packed:
        terms, owners = self._analysed([encoded(heading) for heading in self._headings], stop_words=True)
        sizes = np.bincount(owners, minlength=len(self._headings))
        starts = np.cumsum(sizes) - sizes
        headings = np.concatenate((_numbers(self._own), _numbers(self._above)))
        every = np.arange(self.sections, dtype=np.uint32)
        sections = np.concatenate((every, np.repeat(every, _counted(self._depths))))
        weights = np.ones(len(headings), np.uint8)
        weights[: self.sections] = HEADING_WEIGHT
        counts = sizes[headings]
        found = terms[ranges(starts[headings], counts)]
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
