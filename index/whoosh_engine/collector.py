"""The Whoosh collector of Docyard: it evaluates a query for sections with arrays of posting lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from whoosh.collectors import Collector

from index.phrases import find_required_terms, make_phrase_filter, make_phrase_weigher
from index.ranking.results import (
    NO_OPERATORS,
    EvaluatedOperators,
    ResultRange,
    ScoredPhrase,
    find_top_results,
)
from index.whoosh_engine.condition_nodes import ConditionEvaluator, ConditionTranslator, Deadline

if TYPE_CHECKING:
    from index.ranking.segment_groups import Statistics
    from index.whoosh_engine.flat_index import CodecReader
    from index.whoosh_engine.section_query import SectionQuery


class SectionCollector(Collector):  # type: ignore[misc]
    """A collector of the results [offset, offset + limit) of a `SectionQuery`.

    `run` sets `result_range`, and `expanded_terms`: the terms that the query's expansions match.

    Whoosh's collectors step through the matcher of each segment. This collector evaluates all segments at
    once, with exact scores (`index.ranking`), and never creates a matcher.
    """

    q: SectionQuery

    def __init__(self, reader: CodecReader, statistics: Statistics, offset: int, limit: int) -> None:
        self._reader = reader
        self._statistics = statistics
        self._offset = offset
        self._limit = limit
        self.result_range = ResultRange((), False)
        self.expanded_terms: tuple[str, ...] = ()

    def run(self) -> None:
        """Evaluate the query that Whoosh's searcher passed to `prepare`."""
        parsed_query, read_section = self.q.parsed_query, self.q.read
        try:
            operators = (
                self._evaluate_operators()
                if parsed_query.condition or parsed_query.expansions
                else NO_OPERATORS
            )
            self.result_range = find_top_results(
                self._statistics,
                parsed_query,
                offset=self._offset,
                limit=self._limit,
                required_terms=[
                    term for phrase in parsed_query.phrases for term in find_required_terms(phrase)
                ],
                verify=make_phrase_filter(parsed_query.phrases, read_section)
                if parsed_query.phrases
                else None,
                scored_phrases=[
                    ScoredPhrase(find_required_terms(words), make_phrase_weigher(words, read_section))
                    for words in parsed_query.scored_phrases
                ],
                operators=operators,
            )
        finally:
            self.finish()

    def _evaluate_operators(self) -> EvaluatedOperators:
        """Evaluate the condition and the expansions of the query. Raises QueryTooBroad."""
        parsed_query, deadline = self.q.parsed_query, Deadline()
        nodes = ConditionTranslator(self._statistics, self.q.read, deadline)
        node = nodes.make_node(parsed_query.condition) if parsed_query.condition is not None else None
        unions = [nodes.expand(expansion) for expansion in parsed_query.expansions]
        self.expanded_terms = tuple(dict.fromkeys(term for union in unions for term in union))
        if node is None:
            return EvaluatedOperators(None, unions)
        flags = ConditionEvaluator(self.top_searcher, self._reader, deadline).evaluate_by_segment(node)
        groups = self._statistics.groups
        return EvaluatedOperators(
            [np.concatenate([flags[id] for id in group.segment_ids]) for group in groups], unions
        )
