"""Inversion: the conversion of documents to posting lists with the sections and weights of each term.

Inversion sorts postings. The postings of about a megabyte of text are sorted and summed at a time. All
postings are sorted once more when each term has its final number. No text is retained, and no file is
written.

A posting is one 64-bit integer: term, section and weight, the highest bits first. Sorting these integers
sorts postings in the order of the lists. A `DocumentBatch` analyses the texts and headings of several
documents at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from index.analysis.terms import HEADING_WEIGHT, MAX_HEADING_ABOVE_LENGTH, MAX_WEIGHT
from index.analysis.words import split_raw_tokens, strip_markup
from index.building.vocabulary import MAX_BYTES, KeyNumbers, Vocabulary, get_shared_vocabulary
from index.documents import IndexedDocument
from index.segments.arrays import encode, expand_ranges
from index.segments.segment import DATE, HEADING, TITLE, PostingLists

PackedPostings = NDArray[np.uint64]
"""Postings, each packed in one integer."""

PACKED_CAPACITY = 1 << 28
"""The largest number of terms, and of sections, in packed postings."""

_SECTION_SHIFT = np.uint64(8)
_TERM_SHIFT = np.uint64(36)
_WEIGHT_MASK = np.uint64(0xFF)
_SECTION_MASK = np.uint64(PACKED_CAPACITY - 1)


def pack_postings(
    terms: NDArray[np.uint32], sections: NDArray[np.uint32], weights: NDArray[np.uint8] | int
) -> PackedPostings:
    """Pack postings; a single weight applies to all of them."""
    packed: PackedPostings = terms.astype(np.uint64)
    packed <<= _TERM_SHIFT - _SECTION_SHIFT
    packed |= sections
    packed <<= _SECTION_SHIFT
    packed |= np.asarray(weights, np.uint64)
    return packed


def unpack_terms(packed: PackedPostings) -> NDArray[np.uint32]:
    """Return the terms of postings."""
    return (packed >> _TERM_SHIFT).astype(np.uint32)


def unpack_sections(packed: PackedPostings) -> NDArray[np.uint32]:
    """Return the sections of postings."""
    sections = (packed >> _SECTION_SHIFT).astype(np.uint32)
    sections &= np.uint32(PACKED_CAPACITY - 1)
    return sections


def unpack_weights(packed: PackedPostings) -> NDArray[np.uint8]:
    """Return the weights of postings."""
    return packed.astype(np.uint8)


def sum_weights(packed: PackedPostings) -> PackedPostings:
    """Sort postings in place, and return one for each term and section, with the sum of weights up to 255."""
    packed.sort()
    terms_and_sections = packed >> _SECTION_SHIFT
    is_first = np.ones(len(terms_and_sections), np.bool_)
    np.not_equal(terms_and_sections[1:], terms_and_sections[:-1], out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    sums = np.add.reduceat(packed & _WEIGHT_MASK, firsts) if len(firsts) else packed
    return (terms_and_sections[firsts] << _SECTION_SHIFT) | np.minimum(sums, np.uint64(MAX_WEIGHT))


def shift_sections(packed: PackedPostings, shift: int) -> None:
    """Add `shift` to the section numbers of postings, in place."""
    packed += np.uint64(shift) << _SECTION_SHIFT


def renumber_terms(packed: PackedPostings, new_terms: NDArray[np.uint64]) -> None:
    """Renumber the terms of postings, in place: term t becomes `new_terms[t]`."""
    renumbered = new_terms[unpack_terms(packed)]
    renumbered <<= _TERM_SHIFT
    packed &= (_SECTION_MASK << _SECTION_SHIFT) | _WEIGHT_MASK
    packed |= renumbered


def find_list_starts(packed: PackedPostings, term_count: int) -> NDArray[np.int64]:
    """Return the start of each of `term_count` lists in sorted postings, and the end of the last list."""
    return np.searchsorted(packed, np.arange(term_count + 1, dtype=np.uint64) << _TERM_SHIFT).astype(np.int64)


MAX_PORTION_SIZE = 4_000_000
"""About the number of bytes of text and words of headings whose postings are built at once.

With more, a document with many nested headings would take a gigabyte.
"""


class Headings(NamedTuple):
    """The terms of m headings, and the headings of n sections.

    Heading h has `sizes[h]` terms from `starts[h]` on. Section s has the own heading `own[s]`, and the
    headings above it are [ends[s], ends[s + 1]) of `above`.
    """

    terms: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    starts: NDArray[np.int64]
    own: NDArray[np.uint32]
    above: NDArray[np.uint32]
    ends: NDArray[np.int64]


class DocumentBatch:
    """A batch of documents. Sections are numbered from 0: by document in order of addition, then by key."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.size = 0
        """The number of bytes of the documents."""
        self._vocabulary = vocabulary
        self._texts: list[bytes] = []
        self._headings: KeyNumbers[str] = KeyNumbers()
        # Each section's own heading, the headings above all sections, and their number for each section.
        self._own = array("I")
        self._titles = array("I")
        self._above = array("I")
        self._depths = array("I")
        # Each value of a facet is a term of `_counts` sections, from `_firsts` on.
        self._values = array("I")
        self._firsts = array("I")
        self._counts = array("I")

    @property
    def section_count(self) -> int:
        """The number of sections."""
        return len(self._texts)

    def add(self, document: IndexedDocument) -> None:
        self._add_facets(document)
        headings, above = self._headings, self._number_headings_above(document)
        title = headings[document.title[:MAX_HEADING_ABOVE_LENGTH]]
        for section in document.sections_by_key:
            self._texts.append(strip_markup(document.text(section)))
            self._own.append(headings[section.title])
            self._titles.append(title)
            self._above.extend(above[section.position])
            self._depths.append(len(above[section.position]))
        self.size += len(document.data)

    def make_text_postings(self, headings: Headings) -> Iterator[PackedPostings]:
        """Yield the sorted postings of texts and headings, in one or more portions."""
        for first, last in self._split_into_portions(headings):
            yield sum_weights(
                np.concatenate(
                    (
                        self._pack_text_postings(first, last),
                        self._pack_heading_postings(headings, first, last),
                    )
                )
            )

    def make_title_postings(self, headings: Headings) -> Iterator[PackedPostings]:
        """Yield the postings of the fields of titles and of headings, in several portions."""
        for field, own in ((TITLE, _to_uint32(self._titles)), (HEADING, headings.own)):
            terms = self._convert_to_field(field, headings, own)
            for first, last in self._split_into_portions(headings):
                counts = headings.sizes[own[first:last]]
                sections = np.repeat(np.arange(first, last, dtype=np.uint32), counts)
                yield sum_weights(
                    pack_postings(terms[expand_ranges(headings.starts[own[first:last]], counts)], sections, 1)
                )

    def _convert_to_field(
        self, field: str, headings: Headings, used_headings: NDArray[np.uint32]
    ) -> NDArray[np.uint32]:
        """Return the terms of all headings as terms of a field; only the terms of used headings are valid."""
        used_headings = np.unique(used_headings)
        positions = expand_ranges(headings.starts[used_headings], headings.sizes[used_headings])
        distinct, numbers = np.unique(headings.terms[positions], return_inverse=True)
        terms = np.zeros(len(headings.terms), np.uint32)
        terms[positions] = self._vocabulary.add_words_to_field(field, distinct)[numbers]
        return terms

    def make_facet_postings(self) -> PackedPostings:
        """Return the postings of facets and dates."""
        counts = _to_int64(self._counts)
        sections = expand_ranges(_to_int64(self._firsts), counts)
        return pack_postings(np.repeat(_to_uint32(self._values), counts), sections.astype(np.uint32), 1)

    def _number_headings_above(self, document: IndexedDocument) -> list[tuple[int, ...]]:
        """Return the numbers of the headings above each section, by position."""
        headings, sections = self._headings, document.sections
        numbers_by_position: list[tuple[int, ...]] = []
        # Siblings have the same headings above them, and a section follows its parent.
        numbers_by_parent: dict[int | None, tuple[int, ...]] = {
            None: (headings[document.title[:MAX_HEADING_ABOVE_LENGTH]],)
        }
        for section in sections:
            parent = section.parent
            if parent is not None and parent not in numbers_by_parent:
                numbers_by_parent[parent] = (
                    *numbers_by_position[parent],
                    headings[sections[parent].title[:MAX_HEADING_ABOVE_LENGTH]],
                )
            numbers_by_position.append(() if section.is_preamble else numbers_by_parent[parent])
        return numbers_by_position

    def _add_facets(self, document: IndexedDocument) -> None:
        values = [
            (field, value)
            for field, field_values in document.facets.items()
            for value in dict.fromkeys(field_values)
        ]
        values += [(DATE + key, day) for key, day in document.dates.items()]
        for field, value in values:
            self._values.append(self._vocabulary.add_term(field, value))
            self._firsts.append(self.section_count)
            self._counts.append(len(document.sections))

    def analyse_headings(self) -> Headings:
        """Analyse the headings, and return their terms."""
        terms, owners = self._analyse([encode(heading) for heading in self._headings], with_stop_words=True)
        sizes = np.bincount(owners, minlength=len(self._headings))
        ends = np.concatenate(([0], np.cumsum(_to_int64(self._depths))))
        starts = np.cumsum(sizes) - sizes
        return Headings(terms, sizes, starts, _to_uint32(self._own), _to_uint32(self._above), ends)

    def _split_into_portions(self, headings: Headings) -> Iterator[tuple[int, int]]:
        """Yield ranges of sections, each of about MAX_PORTION_SIZE bytes of text and words of headings."""
        above = np.concatenate(([0], np.cumsum(headings.sizes[headings.above])))[headings.ends]
        section_sizes = np.fromiter(map(len, self._texts), np.int64, self.section_count)
        section_sizes += headings.sizes[headings.own] + np.diff(above)
        cuts = np.flatnonzero(np.diff(np.cumsum(section_sizes) // MAX_PORTION_SIZE)) + 1
        return pairwise((0, *cuts.tolist(), self.section_count))

    def _pack_text_postings(self, first: int, last: int) -> PackedPostings:
        terms, sections = self._analyse(self._texts[first:last], with_stop_words=False)
        sections += np.uint32(first)
        return pack_postings(terms, sections, 1)

    def _pack_heading_postings(self, headings: Headings, first: int, last: int) -> PackedPostings:
        all_sections = np.arange(first, last, dtype=np.uint32)
        ends = headings.ends[first : last + 1]
        numbers = np.concatenate((headings.own[first:last], headings.above[ends[0] : ends[-1]]))
        sections = np.concatenate((all_sections, np.repeat(all_sections, np.diff(ends))))
        weights = np.ones(len(numbers), np.uint8)
        weights[: len(all_sections)] = HEADING_WEIGHT
        counts = headings.sizes[numbers]
        terms = headings.terms[expand_ranges(headings.starts[numbers], counts)]
        return pack_postings(terms, np.repeat(sections, counts), np.repeat(weights, counts))

    def _analyse(
        self, texts: Sequence[bytes], *, with_stop_words: bool
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """Return the terms of some texts in order, and for each term the number of its text."""
        numbers = self._vocabulary.number_raw_tokens(split_raw_tokens(texts))
        terms, counts = self._vocabulary.look_up_terms(numbers, with_stop_words=with_stop_words)
        return terms, np.repeat(np.cumsum(numbers == 0, dtype=np.uint32), counts)


def _to_uint32(numbers: array[int]) -> NDArray[np.uint32]:
    return np.array(numbers, np.uint32)


def _to_int64(numbers: array[int]) -> NDArray[np.int64]:
    return np.array(numbers, np.int64)


_Number = TypeVar("_Number", np.uint32, np.uint64)
BATCH_BYTES = 1_000_000
"""The number of bytes of documents that are analysed at once."""


class Inversion:
    """A builder of posting lists, of up to 2**28 sections and as many terms. For one thread.

    The first batch of documents is analysed with the shared vocabulary of the process, so that an edit is
    fast. Further batches use new vocabularies, which are dropped at the end.
    """

    def __init__(self, batch_bytes: int = BATCH_BYTES, max_vocabulary_bytes: int = MAX_BYTES) -> None:
        self._batch_bytes = batch_bytes
        self._max_vocabulary_bytes = max_vocabulary_bytes
        # Each vocabulary, with the postings of its terms.
        self._runs: list[tuple[Vocabulary, list[PackedPostings]]] = []
        self._lengths: list[NDArray[np.uint32]] = []
        self._section_count = 0
        self.posting_count = 0
        """The number of postings, without those of the current batch."""
        self._begin_batch(get_shared_vocabulary())

    def add(self, document: IndexedDocument) -> None:
        """Add a document; its sections are numbered in order of their keys, after all earlier ones."""
        self._batch.add(document)
        if self._batch.size >= self._batch_bytes:
            self._flush()
            vocabulary = self._runs[-1][0]
            if len(self._runs) == 1 or vocabulary.is_full:
                vocabulary = Vocabulary(self._max_vocabulary_bytes)
            self._begin_batch(vocabulary)

    def finish(self) -> PostingLists:
        """Return the posting lists of all documents. Nothing can be added afterwards."""
        self._flush()
        keys = self._number_terms()
        all_postings = [postings for _, run in self._runs for postings in run]
        self._runs.clear()
        packed = _join_and_release(all_postings, np.uint64)
        packed.sort()
        starts, lengths = find_list_starts(packed, len(keys)), _join_and_release(self._lengths, np.uint32)
        return PostingLists(keys, starts, unpack_sections(packed), unpack_weights(packed), lengths)

    def _begin_batch(self, vocabulary: Vocabulary) -> None:
        if not self._runs or self._runs[-1][0] is not vocabulary:
            self._runs.append((vocabulary, []))
        self._batch = DocumentBatch(vocabulary)

    def _flush(self) -> None:
        """Store the postings of the batch."""
        batch, first_section = self._batch, self._section_count
        self._section_count += batch.section_count
        if self._section_count > PACKED_CAPACITY:
            raise OverflowError(
                f"an inversion has {self._section_count:,} sections (limit {PACKED_CAPACITY:,})"
            )
        lengths = np.zeros(batch.section_count)
        headings = batch.analyse_headings()
        for postings in batch.make_text_postings(headings):
            lengths += np.bincount(unpack_sections(postings), unpack_weights(postings), batch.section_count)
            self._store(postings, first_section)
        for postings in (*batch.make_title_postings(headings), batch.make_facet_postings()):
            self._store(postings, first_section)
        self._lengths.append(lengths.astype(np.uint32))

    def _store(self, postings: PackedPostings, first_section: int) -> None:
        shift_sections(postings, first_section)
        self._runs[-1][1].append(postings)
        self.posting_count += len(postings)

    def _number_terms(self) -> list[bytes]:
        """Assign numbers to the terms in the order of their keys, and return the keys."""
        used_terms = [_find_used_terms(vocabulary, run) for vocabulary, run in self._runs]
        key_lists = [
            vocabulary.look_up_keys(terms)
            for (vocabulary, _), terms in zip(self._runs, used_terms, strict=True)
        ]
        keys = sorted(set().union(*key_lists))
        new_terms = {key: index for index, key in enumerate(keys)}
        for (vocabulary, run), terms, term_keys in zip(self._runs, used_terms, key_lists, strict=True):
            new_numbers = np.zeros(vocabulary.size, np.uint64)
            new_numbers[terms] = [new_terms[name] for name in term_keys]
            for postings in run:
                renumber_terms(postings, new_numbers)
        return keys


def _find_used_terms(vocabulary: Vocabulary, run: list[PackedPostings]) -> NDArray[np.int64]:
    """Return the numbers of the terms of some postings, ascending."""
    flags = np.zeros(vocabulary.size, np.bool_)
    for postings in run:
        flags[unpack_terms(postings)] = True
    return np.flatnonzero(flags)


def _join_and_release(arrays: list[NDArray[_Number]], dtype: type[_Number]) -> NDArray[_Number]:
    """Join arrays into one, and release each as soon as it is copied."""
    joined = np.empty(sum(map(len, arrays)), dtype)
    end = len(joined)
    while arrays:
        last = arrays.pop()
        joined[end - len(last) : end] = last
        end -= len(last)
    return joined
