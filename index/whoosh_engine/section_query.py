"""Queries for sections as nodes of a Whoosh query tree.

`SectionCollector` evaluates a `SectionQuery` as a whole, with arrays of posting lists. The query's matcher is
that of its tree of nodes, which find the same sections with other scores, and much more slowly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whoosh import query
from whoosh.matching import ListMatcher, Matcher

from index.documents import SectionRecord
from index.phrases import find_required_terms, make_phrase_filter
from index.ranking.segment_groups import flag_sections_under, flag_selected_sections
from index.whoosh_engine.codec import RECORD_FIELD, TEXT_FIELD, make_field_name

if TYPE_CHECKING:
    from whoosh.reading import IndexReader
    from whoosh.searching import Searcher

    from index.port import Query, SectionSelection

ReadSection = Callable[[SectionRecord], bytes]
"""Returns the Markdown of a section without its heading."""


class SectionQuery(query.Query):  # type: ignore[misc]
    """A search for sections by a `Query`."""

    def __init__(self, parsed_query: Query, read: ReadSection) -> None:
        self.parsed_query = parsed_query
        self.read = read

    @cached_property
    def tree(self) -> query.Query:
        """The query as nodes of Whoosh and of this module: its terms, joined by OR, and its filters.

        The nodes of a query's `condition` are those of `index.whoosh_engine.condition_nodes`.
        """
        parsed_query = self.parsed_query
        conditions: list[query.Query] = [
            query.Term(make_field_name(field), value) for field, value in parsed_query.filters.items()
        ]
        conditions += [query.Not(query.Term(TEXT_FIELD, term)) for term in parsed_query.excluded]
        if parsed_query.path and (path := parsed_query.path.strip("/")):
            conditions.append(PathQuery(path))
        if parsed_query.sections is not None:
            conditions.append(SelectionQuery(parsed_query.sections))
        return query.And([self._scored_nodes, *conditions])

    @property
    def _scored_nodes(self) -> query.Query:
        """The terms, joined by OR, and the phrases. A phrase of stop words alone only filters sections."""
        parsed_query = self.parsed_query
        terms = query.Or(
            [
                *(
                    query.Term(TEXT_FIELD, term, boost=float(count))
                    for term, count in parsed_query.terms.items()
                ),
                *(PhraseQuery(words, self.read) for words in parsed_query.scored_phrases),
            ]
        )
        if not parsed_query.phrases:
            return terms
        phrases = query.And([PhraseQuery(words, self.read) for words in parsed_query.phrases])
        if any(map(find_required_terms, parsed_query.phrases)):
            return (
                query.Or([terms, phrases]) if parsed_query.phrases_first else query.AndMaybe(phrases, terms)
            )
        return terms if parsed_query.phrases_first else query.And([terms, phrases])

    def matcher(self, searcher: Searcher, context: Any = None) -> Matcher:
        return self.tree.matcher(searcher, context)

    def estimate_size(self, reader: IndexReader) -> int:
        return int(self.tree.estimate_size(reader))


class PathQuery(query.Query):  # type: ignore[misc]
    """The sections of the document or folder of a path, or of the documents that match a glob."""

    def __init__(self, path: str) -> None:
        self.path = path

    def matcher(self, searcher: Searcher, context: Any = None) -> Matcher:
        segment_reader = searcher.reader().segment().segment_reader
        flags = flag_sections_under(segment_reader.segment, self.path)
        flags[segment_reader.dead_sections] = False
        return ListMatcher(flags.nonzero()[0].tolist())

    def estimate_size(self, reader: IndexReader) -> int:
        return int(reader.doc_count())


class SelectionQuery(query.Query):  # type: ignore[misc]
    """The sections of a selection."""

    def __init__(self, selection: SectionSelection) -> None:
        self.selection = selection

    def matcher(self, searcher: Searcher, context: Any = None) -> Matcher:
        segment_reader = searcher.reader().segment().segment_reader
        flags = flag_selected_sections(segment_reader.segment, self.selection)
        flags[segment_reader.dead_sections] = False
        return ListMatcher(flags.nonzero()[0].tolist())

    def estimate_size(self, reader: IndexReader) -> int:
        return int(reader.doc_count())


class PhraseQuery(query.Query):  # type: ignore[misc]
    """The sections with a phrase, given as its words. An index has no positions, so texts are read."""

    def __init__(self, words: tuple[str, ...], read: ReadSection) -> None:
        self.words = words
        self.read = read

    def matcher(self, searcher: Searcher, context: Any = None) -> Matcher:
        required_terms = [query.Term(TEXT_FIELD, term) for term in find_required_terms(self.words)]
        candidates = query.And(required_terms) if required_terms else query.Every()
        contains = make_phrase_filter([self.words], self.read)
        reader = searcher.reader()
        return ListMatcher(
            [
                number
                for number in candidates.matcher(searcher, searcher.boolean_context()).all_ids()
                if contains(reader.stored_fields(number)[RECORD_FIELD])
            ]
        )

    def estimate_size(self, reader: IndexReader) -> int:
        return int(reader.doc_count())
