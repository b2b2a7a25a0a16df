"""The Whoosh collector of Docyard: it evaluates a query for sections by the arrays of posting lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whoosh.collectors import Collector

from index.query import make_phrase_counter, make_phrase_filter, required_terms
from index.ranking.results import ResultRange, ScoredPhrase, top_results

if TYPE_CHECKING:
    from index.ranking.segment_groups import Statistics
    from index.whoosh_engine.section_query import SectionQuery


class SectionCollector(Collector):  # type: ignore[misc]
    """Collects the range [offset, offset + limit) of the results of a `SectionQuery`, as `found`.

    Whoosh's collectors step through the matcher of each segment. This one evaluates all segments at once, by
    exact scores (`index.ranking`), and never creates a matcher.
    """

    q: SectionQuery

    def __init__(self, statistics: Statistics, offset: int, limit: int) -> None:
        self._statistics = statistics
        self._offset = offset
        self._limit = limit
        self.found = ResultRange((), False)

    def run(self) -> None:
        """Evaluate the query that Whoosh's searcher has set by `prepare`."""
        parsed, read = self.q.parsed, self.q.read
        try:
            self.found = top_results(
                self._statistics,
                parsed,
                offset=self._offset,
                limit=self._limit,
                required=[term for phrase in parsed.phrases for term in required_terms(phrase)],
                verify=make_phrase_filter(parsed.phrases, read) if parsed.phrases else None,
                scored_phrases=[
                    ScoredPhrase(required_terms(words), make_phrase_counter(words, read))
                    for words in parsed.scored_phrases
                ],
            )
        finally:
            self.finish()
