"""The condition of a query as nodes of a Whoosh query tree, and their evaluation.

The evaluation gives a flag for each section. AND, OR, NOT and terms are evaluated by arrays, and Whoosh
expands ranges by the dictionary. Any other node is evaluated by its own matcher.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

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
from index.phrases import required_terms
from index.query import QueryTooBroad
from index.segments.arrays import encode
from index.segments.segment import DATE, HEADING, TEXT, TITLE
from index.spelling import find_terms_within
from index.whoosh_engine.codec import field_name
from index.whoosh_engine.section_query import PathQuery, PhraseQuery, ReadSection

if TYPE_CHECKING:
    from whoosh.searching import Searcher

    from index.conditions import WordField
    from index.ranking.evaluation import Mask
    from index.ranking.segment_groups import Statistics
    from index.whoosh_engine.flat_index import CodecReader

MAX_EXPANSIONS = 1_000
"""The largest number of index terms that a prefix or a similar word stands for."""

MAX_PHRASE_CANDIDATES = 2_000
"""The largest number of sections that are read for a phrase in a condition."""

MAX_SECONDS = 5.0
"""The longest time for the evaluation of a condition."""

_FIELDS = {"text": TEXT, "title": TITLE, "heading": HEADING}
_CHECK_INTERVAL = 4_096


class ConditionNodes:
    """A translator of conditions to Whoosh's nodes for the sections of some statistics."""

    def __init__(self, statistics: Statistics, read: ReadSection) -> None:
        self._statistics = statistics
        self._read = read

    def make(self, condition: Condition) -> query.Query:
        """Return the node of a condition. Raises QueryTooBroad if a part of it stands for too much."""
        match condition:
            case AllOf(parts):
                return query.And([self.make(part) for part in parts])
            case AnyOf(parts):
                return query.Or([self.make(part) for part in parts])
            case Negation(part):
                return query.Not(self.make(part))
            case HasWord(field, terms):
                return self._all_terms(field, terms)
            case HasPrefix() | HasSimilarWord():
                return self._any_term(condition.field, self.expand(condition))
            case HasPhrase(words):
                self._check_phrase(words)
                return PhraseQuery(words, self._read)
            case HasValue():
                return self._any_value(condition)
            case HasDate(key, first, last):
                return query.TermRange(field_name(DATE + key), first, last)
            case IsUnder(path):
                return PathQuery(path.strip("/"))

    def expand(self, part: HasPrefix | HasSimilarWord) -> tuple[str, ...]:
        """Return the index terms that a prefix or a similar word stands for, sorted. Raises QueryTooBroad."""
        if isinstance(part, HasSimilarWord):
            terms = find_terms_within(self._statistics, part.word, part.edits)
        else:
            field = _FIELDS[part.field]
            segments = (reader.segment for reader in self._statistics.parts)
            found = {term for segment in segments for term in segment.terms_from(field, part.prefix)}
            terms = tuple(sorted(found | {stem(part.prefix)}))
        if len(terms) > MAX_EXPANSIONS:
            raise QueryTooBroad(
                f"'{part.written}' stands for {len(terms):,} words (limit {MAX_EXPANSIONS:,})",
                fix="Write more letters before the star.",
                limit=MAX_EXPANSIONS,
                part=part.written,
            )
        return terms

    def _all_terms(self, field: WordField, terms: Sequence[str]) -> query.Query:
        return query.And([query.Term(field_name(_FIELDS[field]), term) for term in terms])

    def _any_term(self, field: WordField, terms: Sequence[str]) -> query.Query:
        return query.Or([query.Term(field_name(_FIELDS[field]), term) for term in terms])

    def _any_value(self, condition: HasValue) -> query.Query:
        wanted = condition.value.casefold()
        is_match: Callable[[str], bool] = wanted.__eq__
        if condition.is_prefix:
            is_match = lambda value: value.startswith(wanted)  # noqa: E731
        segments = (reader.segment for reader in self._statistics.parts)
        values = {
            value
            for segment in segments
            for value, _, _ in segment.terms(condition.key)
            if is_match(value.casefold())
        }
        return query.Or([query.Term(field_name(condition.key), value) for value in sorted(values)])

    def _check_phrase(self, words: tuple[str, ...]) -> None:
        """Raise QueryTooBroad if too many sections have all words of a phrase."""
        required = required_terms(words)
        count = min((self._statistics.term(term).df for term in required), default=self._statistics.number)
        if count > MAX_PHRASE_CANDIDATES:
            written = " ".join(words)
            raise QueryTooBroad(
                f"the words of '\"{written}\"' are in {count:,} sections (limit {MAX_PHRASE_CANDIDATES:,})",
                fix="Use a phrase with a rarer word, or leave out AND, OR and NOT.",
                limit=MAX_PHRASE_CANDIDATES,
                part=f'"{written}"',
            )


class ConditionFlags:
    """The evaluation of nodes to a flag for each section. Raises QueryTooBroad if it takes too long."""

    def __init__(self, searcher: Searcher, reader: CodecReader) -> None:
        self._searcher = searcher
        self._reader = reader
        self._deadline = time.monotonic() + MAX_SECONDS

    def by_segment(self, node: query.Query) -> dict[str, Mask]:
        """Return the flags of the sections that a node allows, by the id of their segment.

        The flags of dead sections are undefined.
        """
        leaves = [leaf for leaf, _ in self._searcher.leaf_searchers()] if self._reader.parts else []
        return {leaf.reader().segment().part.segment.id: self._flags(node, leaf) for leaf in leaves}

    def _flags(self, node: query.Query, leaf: Searcher) -> Mask:
        self._check_time()
        if isinstance(node, query.Not):
            return ~self._flags(node.query, leaf)
        if isinstance(node, query.And):
            flags = np.ones(leaf.doc_count_all(), np.bool_)
            for part in node.children():
                flags &= self._flags(part, leaf)
            return flags
        flags = np.zeros(leaf.doc_count_all(), np.bool_)
        if isinstance(node, query.Or):
            for part in node.children():
                flags |= self._flags(part, leaf)
        elif isinstance(node, query.Term):
            flags[self._ids(leaf, node.fieldname, encode(node.text))] = True
        elif isinstance(node, query.TermRange):
            for name, text in node.expanded_terms(leaf.reader()):
                flags[self._ids(leaf, name, text)] = True
        else:
            numbers = self._until_deadline(node.matcher(leaf, leaf.boolean_context()).all_ids())
            flags[np.fromiter(numbers, np.int64)] = True
        return flags

    def _ids(self, leaf: Searcher, name: str, text: bytes) -> NDArray[np.uint32]:
        return self._reader.read(leaf.reader().segment().part.segment, name, text)[0]

    def _until_deadline(self, numbers: Iterator[int]) -> Iterator[int]:
        for count, number in enumerate(numbers, 1):
            if count % _CHECK_INTERVAL == 0:
                self._check_time()
            yield number

    def _check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise QueryTooBroad(
                f"the operators of the query take too long (limit {MAX_SECONDS:.0f} s)",
                fix="Use fewer operators, or rarer words.",
            )
