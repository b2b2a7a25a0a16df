"""The operators of a query, evaluated section by section in plain Python: an oracle for the real evaluation.

Both evaluations share the analysis of words, the check of phrases and globs, and the formula of a term's
score in `tests.index.plain`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from index.analysis import MAX_HEADING_ABOVE_LENGTH, MAX_WEIGHT, count_heading_terms
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
from index.spelling import is_word, stem_all_edits
from tests.index import plain
from tests.index.plain import Entry, Ranked, edits_between

UNSELECTED = "\0unselected"


@dataclass(frozen=True)
class OperatorEntry(Entry):
    """A section with a further term for each expansion of a query, and one if no operator selects it."""

    unextended: Entry | None = None

    @property
    def length(self) -> int:
        return sum(self.unextended.terms.values()) if self.unextended else super().length


def rank(entries: Sequence[Entry], query: Query, depth: int) -> tuple[list[Ranked], bool]:
    """Return all results of a query, and True if phrases were checked only for some of them."""
    unions = [expand(entries, part) for part in query.expansions]
    extended = [_extend(entry, query.condition, unions) for entry in entries]
    terms = {**query.terms, **{_expansion_term(number): 1 for number in range(len(unions))}}
    words_only = replace(query, terms=terms, excluded=(*query.excluded, UNSELECTED))
    return plain.rank(extended, words_only, depth)


def _expansion_term(number: int) -> str:
    return f"\0expansion {number}"


def _extend(entry: Entry, condition: Condition | None, unions: Sequence[frozenset[str]]) -> OperatorEntry:
    terms = dict(entry.terms)
    for number, union in enumerate(unions):
        if weight := sum(entry.terms[term] for term in union & entry.terms.keys()):
            terms[_expansion_term(number)] = min(weight, MAX_WEIGHT)
    if condition is not None and not satisfies(entry, condition):
        terms[UNSELECTED] = 1
    return OperatorEntry(entry.page, entry.section, terms, entry)


def expand(entries: Sequence[Entry], part: HasPrefix | HasSimilarWord) -> frozenset[str]:
    """Return the terms of the sections that a prefix or a similar word matches."""
    all_terms = {term for entry in entries for term in terms_of(entry, part.field)}
    return frozenset(term for term in all_terms if matches_term(part, term))


def matches_term(part: HasPrefix | HasSimilarWord, term: str) -> bool:
    if isinstance(part, HasPrefix):
        return term.startswith(part.prefix) or term == stem(part.prefix)
    own_term = stem(part.word)
    if term == own_term or not is_word(part.word):
        return term == own_term
    has_prefix = term.startswith(own_term[:2])
    return term in stem_all_edits(part.word) or (
        has_prefix and edits_between(own_term, term) <= part.max_edits
    )


def terms_of(entry: Entry, field: str) -> Mapping[str, int]:
    """Return the terms of a section's words, of its document's title, or of its own heading."""
    match field:
        case "title":
            return count_heading_terms(entry.page.title[:MAX_HEADING_ABOVE_LENGTH])
        case "heading":
            return count_heading_terms(entry.section.title)
        case _:
            return entry.terms


def satisfies(entry: Entry, condition: Condition) -> bool:
    """Return True if a section satisfies a condition."""
    page = entry.page
    match condition:
        case AllOf(parts):
            return all(satisfies(entry, part) for part in parts)
        case AnyOf(parts):
            return any(satisfies(entry, part) for part in parts)
        case Negation(part):
            return not satisfies(entry, part)
        case HasWord(field, terms):
            return all(term in terms_of(entry, field) for term in terms)
        case HasPrefix(field) | HasSimilarWord(field):
            return any(matches_term(condition, term) for term in terms_of(entry, field))
        case HasPhrase(words):
            return Phrases.of([words]).occur_in(entry.section.title, page.text(entry.section))
        case HasValue(key, value, _, is_prefix):
            folded_values = [page_value.casefold() for page_value in page.facets.get(key, ())]
            value = value.casefold()
            return any(
                page_value.startswith(value) if is_prefix else page_value == value
                for page_value in folded_values
            )
        case HasDate(key, first, last):
            day = page.dates.get(key)
            return day is not None and (first or day) <= day <= (last or day)
        case IsUnder(path):
            return not path.strip("/") or plain._is_at(page.path, path.strip("/"))
