"""A reference engine that scores every section for every query in simple Python.

The tests compare the results of other engines with its results. All engines share the code for the analysis
of words, for the check of phrases, and for the scores of terms and titles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from index.analysis.terms import extract_title_terms, weigh_section_terms
from index.analysis.words import stem
from index.documents import IndexedDocument, SectionRecord, UnreadableDocument
from index.phrases import Phrases, find_required_terms, make_phrase_weigher
from index.port import (
    BaseMoved,
    DocumentSource,
    GenerationGone,
    NotIndexed,
    Progress,
    Query,
    Results,
    ScoredSection,
    State,
)
from index.ranking import bm25
from index.spelling import can_check_spelling, stem_all_edits
from workspace.document.sections import Section


@dataclass(frozen=True)
class Entry:
    """An indexed section, and the weight of each of its terms."""

    document: IndexedDocument
    section: Section
    terms: Mapping[str, int]

    @property
    def length(self) -> int:
        return sum(self.terms.values())

    @property
    def address(self) -> tuple[str, str]:
        return self.document.path, self.section.key

    @property
    def record(self) -> SectionRecord:
        document, section = self.document, self.section
        return SectionRecord(
            path=document.path,
            key=section.key,
            blob=document.blob,
            start=section.start,
            heading_start=section.heading_start,
            body=section.body_start,
            end=section.end,
            line=section.line,
            end_line=section.end_line,
            heading=section.title,
            breadcrumb=document.breadcrumb(section),
            facets=document.facets,
            position=section.position + 1,
            total=len(document.sections),
        )


class RankedSection(NamedTuple):
    entry: Entry
    points: int

    @property
    def score(self) -> float:
        return self.points / POINTS_PER_SCORE


POINTS_PER_SCORE = 4 * 2**32
"""The number of points of a score of 1; a quarter of a weight is then a whole number of points."""

MAX_READ_SECTIONS = 500
"""The maximum number of sections that are read for the required phrases, and also for the scored phrases."""


def make_entries(document: IndexedDocument) -> list[Entry]:
    """Return the sections of a document."""
    return [Entry(document, section, weigh_section_terms(document, section)) for section in document.sections]


def rank(entries: Sequence[Entry], query: Query, depth: int) -> tuple[list[RankedSection], bool]:
    """Return all results of a query, and True if phrases were checked in only some of the candidates.

    Phrases are checked only in the best `MAX_READ_SECTIONS` candidates. The results are complete if these
    candidates contain `depth` hits, and if all candidates of the scored phrases are read.
    """
    section_count = len(entries)
    average_length = bm25.compute_average_length(sum(entry.length for entry in entries), section_count)
    section_counts = Counter(term for entry in entries for term in entry.terms)
    required = {term for phrase in query.phrases for term in find_required_terms(phrase)}

    def compute_word_points(entry: Entry) -> int:
        return 4 * sum(
            bm25.compute_weight(count, section_counts[term], section_count)
            * bm25.compute_impact(entry.terms[term], entry.length, average_length)
            for term, count in query.terms.items()
            if term in entry.terms
        )

    scored_phrases: list[tuple[int, Mapping[tuple[str, str], int]]] = []
    has_unread = False
    for words in query.scored_phrases:
        max_entries = MAX_READ_SECTIONS // len(query.scored_phrases)
        read_entries = candidates = [
            entry for entry in entries if entry.terms.keys() >= set(find_required_terms(words))
        ]
        if len(candidates) > max_entries:
            allowed_entries = [entry for entry in candidates if _is_allowed(entry, query)]
            read_entries = sorted(
                allowed_entries, key=lambda entry: (-compute_word_points(entry), entry.address)
            )[:max_entries]
            has_unread = has_unread or len(allowed_entries) > max_entries
        weights = {entry.address: _compute_phrase_weight(entry, words) for entry in read_entries}
        addresses_without_phrase = [address for address, weight in weights.items() if not weight]
        phrase_df = len(candidates) - len(addresses_without_phrase)
        scored_phrases.append((bm25.compute_weight(1, phrase_df, section_count), weights))

    def compute_points(entry: Entry) -> int:
        return compute_word_points(entry) + 4 * sum(
            weight * bm25.compute_impact(weights[entry.address], entry.length, average_length)
            for weight, weights in scored_phrases
            if weights.get(entry.address)
        )

    def is_hit(item: RankedSection) -> bool:
        if required:
            return required <= item.entry.terms.keys()
        return item.points > 0 or query.includes_all_selected

    scored_items = [
        RankedSection(entry, compute_points(entry)) for entry in entries if _is_allowed(entry, query)
    ]
    hits = sorted(filter(is_hit, scored_items), key=_sort_key)
    is_partial = False
    if query.phrases:
        passing_items = [item for item in hits[:MAX_READ_SECTIONS] if _has_phrases(item.entry, query)]
        is_partial = len(hits) > MAX_READ_SECTIONS and len(passing_items) < depth
        hits = passing_items

    def compute_title_gain(item: RankedSection) -> int:
        terms, name_parts = extract_title_terms(item.entry.document.title)
        title = {term: bm25.compute_weight(1, section_counts[term], section_count) for term in terms}
        common_parts = name_parts & query.name_parts
        matched_weight = sum(
            weight for term, weight in title.items() if term in query.terms and term not in common_parts
        )
        return (
            bm25.compute_title_gain(item.points, matched_weight, sum(title.values())) if matched_weight else 0
        )

    top_items = [
        RankedSection(item.entry, item.points + compute_title_gain(item))
        for item in _add_document_bonus(hits[:50])
    ]
    results = sorted(top_items, key=_sort_key) + hits[50:]
    if query.phrases and query.phrases_first:
        hits_by_words, _ = rank(entries, replace(query, phrases=()), depth)
        added_points = hits_by_words[0].points if hits_by_words else 0
        ranked_addresses = {item.entry.address for item in results}
        raised_items = [RankedSection(item.entry, item.points + added_points) for item in results]
        results = raised_items + [
            item for item in hits_by_words if item.entry.address not in ranked_addresses
        ]
    return results, is_partial or has_unread


def count_edits_between(word: str, other_word: str) -> int:
    """Return the smallest number of letters to insert, delete, replace, or exchange with a neighbour."""

    @cache
    def count_edits(i: int, j: int) -> int:
        if not (i and j):
            return i + j
        fewest = min(
            count_edits(i - 1, j) + 1,
            count_edits(i, j - 1) + 1,
            count_edits(i - 1, j - 1) + (word[i - 1] != other_word[j - 1]),
        )
        if i > 1 and j > 1 and word[i - 2 : i] == other_word[j - 2 : j][::-1]:
            fewest = min(fewest, count_edits(i - 2, j - 2) + 1)
        return fewest

    return count_edits(len(word), len(other_word))


def _sort_key(item: RankedSection) -> tuple[int, tuple[str, str]]:
    return -item.points, item.entry.address


def _is_allowed(entry: Entry, query: Query) -> bool:
    facets, path = entry.document.facets, (query.path or "").strip("/")
    return (
        not any(term in entry.terms for term in query.excluded)
        and all(value in facets.get(key, ()) for key, value in query.filters.items())
        and (not path or _matches_path(entry.document.path, path))
    )


def _matches_path(path: str, filter_path: str) -> bool:
    globs = {filter_path, filter_path.replace("**/", "")}  # `**/` also matches no folder
    return (
        path == filter_path
        or path.startswith(filter_path + "/")
        or any(fnmatchcase(path, glob) or fnmatchcase(path, glob + "/*") for glob in globs)
    )


def _has_phrases(entry: Entry, query: Query) -> bool:
    return Phrases.of(query.phrases).occur_in(entry.section.title, entry.document.text(entry.section))


def _compute_phrase_weight(entry: Entry, words: tuple[str, ...]) -> int:
    return make_phrase_weigher(words, lambda _: entry.document.text(entry.section))(entry.record)


def _add_document_bonus(top_items: list[RankedSection]) -> list[RankedSection]:
    def compute_bonus(item: RankedSection) -> int:
        document_points = sorted(
            (
                other_item.points
                for other_item in top_items
                if other_item.entry.document is item.entry.document
            ),
            reverse=True,
        )
        return sum(document_points[1:3]) // 4

    return [RankedSection(item.entry, item.points + compute_bonus(item)) for item in top_items]


class ReferenceEngine:
    """An engine in memory."""

    def __init__(self) -> None:
        self._generation = 0
        self._clear()

    def _clear(self) -> None:
        self._entries_by_path: dict[str, list[Entry]] = {}
        self._state: State | None = None

    def state(self) -> State | None:
        return self._state

    def apply(
        self,
        base: str | None,
        commit: str | None,
        upserts: Iterable[IndexedDocument | UnreadableDocument],
        deletes: Iterable[str],
    ) -> State:
        current_commit = self._state.commit if self._state else None
        if self._state and current_commit == commit != base:
            return self._state
        if current_commit != base:
            raise BaseMoved("the index is at another commit", commit=current_commit)
        unreadable = dict(self._state.unreadable) if self._state else {}
        for path in deletes:
            self._entries_by_path.pop(path, None)
            unreadable.pop(path, None)
        for document in upserts:
            self._entries_by_path.pop(document.path, None)
            unreadable.pop(document.path, None)
            if isinstance(document, UnreadableDocument):
                unreadable[document.path] = document.blob
            else:
                self._entries_by_path[document.path] = make_entries(document)
        return self._set_state(commit, unreadable)

    def rebuild(
        self,
        source: DocumentSource,
        progress: Progress | None = None,
        *,
        unless: Callable[[State], bool] | None = None,
    ) -> State:
        if unless is not None and self._state is not None and unless(self._state):
            return self._state
        documents = list(source.read_documents(source.paths()))
        self._clear()
        return self.apply(None, source.commit, documents, ())

    def search(
        self,
        query: Query,
        *,
        offset: int = 0,
        limit: int = 10,
        generation: str | None = None,
    ) -> Results:
        if self._state is None:
            raise NotIndexed("there is no index yet")
        if generation not in (None, str(self._generation)):
            raise GenerationGone("the results belong to another generation")
        end = offset + limit
        results, is_partial = rank(self._list_entries(), query, max(50, end + 1))
        hits = tuple(ScoredSection(item.entry.record, item.score) for item in results[offset:end])
        absent_terms = query.terms.keys() - {term for entry in self._list_entries() for term in entry.terms}
        return Results(
            hits,
            len(results) > end,
            str(self._generation),
            self._state,
            is_partial,
            absent_terms=frozenset(absent_terms),
        )

    def count_values(self, key: str) -> Mapping[str, int]:
        return Counter(
            value for entry in self._list_entries() for value in entry.document.facets.get(key, ())
        )

    def find_similar_terms(self, word: str, limit: int) -> tuple[str, ...]:
        if not can_check_spelling(word):
            return ()
        counts = Counter(term for entry in self._list_entries() for term in entry.terms)
        own_term, terms_one_edit_away = stem(word), stem_all_edits(word)
        all_distances = {
            term: 1 if term in terms_one_edit_away else count_edits_between(own_term, term)
            for term in counts
            if term != own_term
        }
        distances = {
            term: all_distances[term]
            for term in all_distances
            if term in terms_one_edit_away
            or (term[:2] == own_term[:2] and all_distances[term] <= (2 if len(word) >= 6 else 1))
        }
        nearest = [term for term in distances if distances[term] == min(distances.values())]
        return tuple(sorted(nearest, key=lambda term: (-counts[term], term))[:limit])

    def close(self) -> None:
        """Do nothing, because no file is open."""

    def _list_entries(self) -> list[Entry]:
        return [entry for entries in self._entries_by_path.values() for entry in entries]

    def _set_state(self, commit: str | None, unreadable: Mapping[str, str]) -> State:
        entries = self._list_entries()
        length = sum(entry.length for entry in entries)
        file_count = len(self._entries_by_path) + len(unreadable)
        self._state = State(
            commit, file_count, len(entries), length, "2026-01-01T00:00:00Z", dict(unreadable)
        )
        self._generation += 1
        return self._state
