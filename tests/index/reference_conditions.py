"""The operators of a query, evaluated section by section in simple Python to check the real evaluation.

Both evaluations share the code for the analysis of words and the check of phrases. Paths are matched and
scores are computed by `tests.index.reference`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from index.analysis.terms import MAX_HEADING_ABOVE_LENGTH, MAX_WEIGHT, count_heading_terms
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
from index.phrases import Phrases
from index.port import Query
from index.spelling import can_check_spelling, stem_all_edits
from tests.index import reference
from tests.index.reference import Entry, RankedSection, count_edits_between

UNSELECTED = "\0unselected"


@dataclass(frozen=True)
class OperatorEntry(Entry):
    """A section with a term for each matched expansion, and `UNSELECTED` if the condition is false."""

    original_entry: Entry | None = None

    @property
    def length(self) -> int:
        return sum(self.original_entry.terms.values()) if self.original_entry else super().length


def rank(entries: Sequence[Entry], query: Query, depth: int) -> tuple[list[RankedSection], bool]:
    """Return all results of a query, and True if phrases were checked in only some of the candidates."""
    term_sets = [expand(entries, part) for part in query.expansions]
    extended_entries = [_extend(entry, query.condition, term_sets) for entry in entries]
    terms = {**query.terms, **{_make_expansion_term(number): 1 for number in range(len(term_sets))}}
    query_of_words = replace(query, terms=terms, excluded=(*query.excluded, UNSELECTED))
    return reference.rank(extended_entries, query_of_words, depth)


def _make_expansion_term(number: int) -> str:
    return f"\0expansion {number}"


def _extend(entry: Entry, condition: Condition | None, term_sets: Sequence[frozenset[str]]) -> OperatorEntry:
    terms = dict(entry.terms)
    for number, terms_of_expansion in enumerate(term_sets):
        if weight := sum(entry.terms[term] for term in terms_of_expansion & entry.terms.keys()):
            terms[_make_expansion_term(number)] = min(weight, MAX_WEIGHT)
    if condition is not None and not satisfies(entry, condition):
        terms[UNSELECTED] = 1
    return OperatorEntry(entry.document, entry.section, terms, entry)


def expand(entries: Sequence[Entry], part: HasPrefix | HasSimilarWord) -> frozenset[str]:
    """Return the terms of all sections that match a prefix or a similar word."""
    all_terms = {term for entry in entries for term in get_field_terms(entry, part.field)}
    return frozenset(term for term in all_terms if matches_term(part, term))


def matches_term(part: HasPrefix | HasSimilarWord, term: str) -> bool:
    if isinstance(part, HasPrefix):
        return term.startswith(part.prefix) or term == stem(part.prefix)
    own_term = stem(part.word)
    if term == own_term or not can_check_spelling(part.word):
        return term == own_term
    has_prefix = term.startswith(own_term[:2])
    return term in stem_all_edits(part.word) or (
        has_prefix and count_edits_between(own_term, term) <= part.max_edits
    )


def get_field_terms(entry: Entry, field: str) -> Mapping[str, int]:
    """Return the terms of the document's title, of the section's heading, or else of the whole section."""
    match field:
        case "title":
            return count_heading_terms(entry.document.title[:MAX_HEADING_ABOVE_LENGTH])
        case "heading":
            return count_heading_terms(entry.section.title)
        case _:
            return entry.terms


def satisfies(entry: Entry, condition: Condition) -> bool:
    """Return True if a section satisfies a condition."""
    document = entry.document
    match condition:
        case AllOf(parts):
            return all(satisfies(entry, part) for part in parts)
        case AnyOf(parts):
            return any(satisfies(entry, part) for part in parts)
        case Negation(part):
            return not satisfies(entry, part)
        case HasWord(field, terms):
            return all(term in get_field_terms(entry, field) for term in terms)
        case HasPrefix(field) | HasSimilarWord(field):
            return any(matches_term(condition, term) for term in get_field_terms(entry, field))
        case HasPhrase(words):
            return Phrases.of([words]).occur_in(entry.section.title, document.text(entry.section))
        case HasValue(key, value, _, is_prefix):
            folded_values = [document_value.casefold() for document_value in document.facets.get(key, ())]
            value = value.casefold()
            return any(
                document_value.startswith(value) if is_prefix else document_value == value
                for document_value in folded_values
            )
        case HasDate(key, first, last):
            day = document.dates.get(key)
            return day is not None and (first or day) <= day <= (last or day)
        case IsUnder(path):
            return not path.strip("/") or reference._matches_path(document.path, path.strip("/"))
