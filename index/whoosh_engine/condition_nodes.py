"""The condition of a query as nodes of a Whoosh query tree, and their evaluation.

The evaluation computes arrays of flags, one for each section. Whoosh expands ranges to the terms in its
dictionary. Whoosh's own matchers of the nodes find the same sections, more slowly.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from whoosh import query

from index.analysis.words import stem
from index.conditions import (
    AllOf,
    AnyOf,
    Condition,
    HasDate,
    HasPhrase,
    HasPrefix,
    HasSimilarWord,
    HasValue,
    HasWord,
    IsUnder,
    Negation,
)
from index.phrases import find_required_terms, make_phrase_filter
from index.port import QueryTooBroad
from index.ranking.segment_groups import flag_live_sections, flag_sections_under
from index.segments.arrays import encode
from index.segments.segment import DATE, HEADING, TEXT, TITLE, make_term_key
from index.spelling import find_terms_within_distance
from index.whoosh_engine.codec import TEXT_FIELD, make_field_name
from index.whoosh_engine.section_query import PathQuery, PhraseQuery, ReadSection

if TYPE_CHECKING:
    from whoosh.searching import Searcher

    from index.conditions import WordField
    from index.documents import SectionRecord
    from index.ranking.evaluation import Mask
    from index.ranking.segment_groups import Statistics
    from index.segments.generation import SegmentReader
    from index.whoosh_engine.flat_index import CodecReader

MAX_EXPANSIONS = 1_000
"""The largest number of index terms, or of values of a key, that one part of a query may match."""

MAX_PHRASE_CANDIDATES = 2_000
"""The largest number of sections that are read for a phrase in a condition: those with all of its words."""

MAX_EVALUATION_S = 2.0
"""The largest number of seconds that the evaluation of a condition may take."""

_FIELD_BY_NAME = {"text": TEXT, "title": TITLE, "heading": HEADING}
_CHECK_INTERVAL_ITEMS = 1_024
_MAX_SHOWN_LENGTH = 60
_Item = TypeVar("_Item")


class Deadline:
    """The time until which a condition must be evaluated."""

    def __init__(self, seconds: float = MAX_EVALUATION_S) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def check(self) -> None:
        """Raise QueryTooBroad if the time has expired."""
        if time.monotonic() > self._end:
            raise QueryTooBroad(
                f"the operators of the query take too long (limit {self._seconds:.0f} s)",
                fix="Use fewer operators, or rarer words.",
                limit=self._seconds,
            )

    def iterate(self, items: Iterator[_Item]) -> Iterator[_Item]:
        """Yield items, and check the time after every 1,024 items."""
        for count, item in enumerate(items, 1):
            if count % _CHECK_INTERVAL_ITEMS == 0:
                self.check()
            yield item


class ConditionTranslator:
    """A translator of conditions to Whoosh's nodes, for the sections that `statistics` covers.

    The terms that match a prefix or a similar word are counted before sections are matched. Only terms of
    live sections count, so that dead sections never make a query too broad.
    """

    def __init__(self, statistics: Statistics, read: ReadSection, deadline: Deadline) -> None:
        self._statistics = statistics
        self._read = read
        self._deadline = deadline
        self._terms_by_expansion: dict[HasPrefix | HasSimilarWord, tuple[str, ...]] = {}

    def make_node(self, condition: Condition) -> query.Query:
        """Return the node of a condition. Raises QueryTooBroad if a part matches too many words or values."""
        match condition:
            case AllOf(parts):
                return query.And([self.make_node(part) for part in parts])
            case AnyOf(parts):
                return query.Or([self.make_node(part) for part in parts])
            case Negation(part):
                return query.Not(self.make_node(part))
            case HasWord(field, terms):
                return query.And(_make_term_nodes(field, terms))
            case HasPrefix(field) | HasSimilarWord(field):
                return query.Or(_make_term_nodes(field, self.expand(condition)))
            case HasPhrase(words):
                return PhraseQuery(words, self._read_in_time)
            case HasValue():
                return self._make_value_node(condition)
            case HasDate(key, first, last):
                return query.TermRange(make_field_name(DATE + key), first, last)
            case IsUnder(path):
                path = path.strip("/")
                return PathQuery(path) if path else query.Every()

    def expand(self, expansion: HasPrefix | HasSimilarWord) -> tuple[str, ...]:
        """Return the index terms that a prefix or a similar word matches, sorted. Raises QueryTooBroad."""
        if expansion not in self._terms_by_expansion:
            self._deadline.check()
            field = _FIELD_BY_NAME[expansion.field]
            if isinstance(expansion, HasPrefix):
                terms = self._find_live_terms(field, expansion.prefix, expansion.query_text) | {
                    stem(expansion.prefix)
                }
            else:
                terms = set(
                    find_terms_within_distance(self._statistics, expansion.word, expansion.max_edits, field)
                )
                if len(terms) > MAX_EXPANSIONS:
                    _check_count(sum(self._is_live(field, term) for term in terms), expansion.query_text)
            self._terms_by_expansion[expansion] = tuple(sorted(terms))
        return self._terms_by_expansion[expansion]

    def _find_live_terms(self, field: str, prefix: str, query_text: str) -> set[str]:
        """Return the terms of a field with a prefix that live sections have. Raises QueryTooBroad."""
        live_terms: set[str] = set()
        for segment_reader in self._statistics.segment_readers:
            counts = segment_reader.count_live_sections(field, prefix)
            # Terms are decoded only if their number is within the limit.
            _check_count(int(np.count_nonzero(counts)), query_text)
            if len(counts):
                live_terms.update(
                    compress(segment_reader.segment.terms_with_prefix(field, prefix), counts.tolist())
                )
        _check_count(len(live_terms), query_text)
        return live_terms

    def _is_live(self, field: str, term: str) -> bool:
        lists = (
            segment_reader.segment.postings(make_term_key(field, term))[0]
            for segment_reader in self._statistics.segment_readers
        )
        masks = self._statistics.live_flags
        return any(
            len(ids) > 0 if live_flags is None else bool(live_flags[ids].any())
            for ids, live_flags in zip(lists, masks, strict=True)
        )

    def _make_value_node(self, condition: HasValue) -> query.Query:
        folded_value = condition.value.casefold()
        values = {
            value
            for segment_reader in self._statistics.segment_readers
            for value in segment_reader.get_value_counts(condition.key)
            if (
                value.casefold().startswith(folded_value)
                if condition.is_prefix
                else value.casefold() == folded_value
            )
        }
        _check_count(len(values), condition.query_text)
        return query.Or([query.Term(make_field_name(condition.key), value) for value in sorted(values)])

    def _read_in_time(self, record: SectionRecord) -> bytes:
        self._deadline.check()
        return self._read(record)


def _make_term_nodes(field: WordField, terms: Sequence[str]) -> list[query.Query]:
    return [query.Term(make_field_name(_FIELD_BY_NAME[field]), term) for term in terms]


def _check_count(count: int, query_text: str) -> None:
    """Raise QueryTooBroad if a part of a query matches too many words or values."""
    if count > MAX_EXPANSIONS:
        query_text = query_text[:_MAX_SHOWN_LENGTH]
        raise QueryTooBroad(
            f"'{query_text}' matches more than {MAX_EXPANSIONS:,} words or values",
            fix="Write a longer word, or more letters before a star, such as auth*.",
            limit=MAX_EXPANSIONS,
            part=query_text,
        )


class ConditionEvaluator:
    """The evaluation of nodes to a flag for each section.

    Phrases are searched for last, only in the sections that satisfy the other parts. Raises QueryTooBroad if
    these sections are too many, or if the evaluation takes too long.
    """

    def __init__(self, searcher: Searcher, reader: CodecReader, deadline: Deadline) -> None:
        self._searcher = searcher
        self._reader = reader
        self._deadline = deadline
        self._phrase_candidate_counts: Counter[int] = Counter()

    def evaluate_by_segment(self, node: query.Query) -> dict[str, Mask]:
        """Return the flags of the sections that a node allows, by the id of their segment.

        The flags of dead sections are undefined.
        """
        leaves = [leaf for leaf, _ in self._searcher.leaf_searchers()] if self._reader.segment_readers else []
        flags_by_segment: dict[str, Mask] = {}
        for leaf in leaves:
            segment_reader = _get_segment_reader(leaf)
            live_flags = flag_live_sections(segment_reader)
            flags_by_segment[segment_reader.segment.id] = self._evaluate_node(
                node,
                leaf,
                np.ones(segment_reader.segment.size, np.bool_) if live_flags is None else live_flags,
            )
        return flags_by_segment

    def _evaluate_node(self, node: query.Query, leaf: Searcher, candidate_flags: Mask) -> Mask:
        """Return the flags of a leaf's sections. They are undefined for sections that are not candidates."""
        self._deadline.check()
        if isinstance(node, query.Not):
            return ~self._evaluate_node(node.query, leaf, candidate_flags)
        if isinstance(node, query.Every):
            return candidate_flags
        if isinstance(node, query.And):
            flags = candidate_flags.copy()
            for child in sorted(node.children(), key=_has_phrase):
                flags &= self._evaluate_node(child, leaf, flags)
            return flags
        if isinstance(node, PathQuery):
            return flag_sections_under(_get_segment_reader(leaf).segment, node.path)
        flags = np.zeros(len(candidate_flags), np.bool_)
        if isinstance(node, query.Or):
            for child in sorted(node.children(), key=_has_phrase):
                if isinstance(child, query.Term):
                    flags[self._read_ids(leaf, child.fieldname, encode(child.text))] = True
                else:
                    remaining_flags = candidate_flags & ~flags
                    flags |= self._evaluate_node(child, leaf, remaining_flags) & remaining_flags
        elif isinstance(node, query.Term):
            flags[self._read_ids(leaf, node.fieldname, encode(node.text))] = True
        elif isinstance(node, query.TermRange):
            for name, text in self._deadline.iterate(node.expanded_terms(leaf.reader())):
                flags[self._read_ids(leaf, name, text)] = True
        elif isinstance(node, PhraseQuery):
            flags[self._find_sections_with_phrase(node, leaf, candidate_flags)] = True
        else:
            raise TypeError(f"conditions have no node {type(node).__name__}")
        return flags

    def _find_sections_with_phrase(
        self, node: PhraseQuery, leaf: Searcher, candidate_flags: Mask
    ) -> list[int]:
        """Return the candidate sections that contain a phrase. Raises QueryTooBroad."""
        candidates = candidate_flags.copy()
        for term in find_required_terms(node.words):
            has_term = np.zeros(len(candidates), np.bool_)
            has_term[self._read_ids(leaf, TEXT_FIELD, encode(term))] = True
            candidates &= has_term
        numbers = candidates.nonzero()[0].tolist()
        # Two indexes of one commit may have different segments, but the sum over all segments is the same.
        self._phrase_candidate_counts[id(node)] += len(numbers)
        if self._phrase_candidate_counts[id(node)] > MAX_PHRASE_CANDIDATES:
            phrase = '"' + " ".join(node.words)[:_MAX_SHOWN_LENGTH] + '"'
            raise QueryTooBroad(
                f"the words of {phrase} are in more than {MAX_PHRASE_CANDIDATES:,} sections that satisfy the"
                " other parts of the query",
                fix="Add a rarer word with AND, or leave out AND, OR and NOT.",
                limit=MAX_PHRASE_CANDIDATES,
                part=phrase,
            )
        contains = make_phrase_filter([node.words], node.read)
        segment = _get_segment_reader(leaf).segment
        return [number for number in numbers if contains(self._reader.record(segment, number))]

    def _read_ids(self, leaf: Searcher, name: str, text: bytes) -> NDArray[np.uint32]:
        return self._reader.read(_get_segment_reader(leaf).segment, name, text)[0]


def _has_phrase(node: query.Query) -> bool:
    return isinstance(node, PhraseQuery) or any(map(_has_phrase, node.children()))


def _get_segment_reader(leaf: Searcher) -> SegmentReader:
    segment_reader: SegmentReader = leaf.reader().segment().segment_reader
    return segment_reader
