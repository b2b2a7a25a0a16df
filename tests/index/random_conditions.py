"""Random documents with dates, and random queries with operators."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from index.analysis.terms import extract_token_terms
from index.analysis.words import fold
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
    WordField,
)
from index.documents import IndexedDocument
from index.port import Query
from tests.index.documents import PATH_FILTERS, WORDS, make_random_document, make_random_query

DAYS = ("0999-12-31", "2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01")
FIELDS: tuple[WordField, ...] = ("text", "text", "title", "heading")
PREFIXES = ("a", "al", "alphas", "rare1", "rare", "rate", "ratelimit", "snake_", "gamm", "nowhere", "o")
MISSPELT_WORDS = ("alpah", "bta", "gamma", "gmma", "delt", "omegas", "nowhere", "rarity")
VALUES = ("guide", "NOTE", "network", "N", "g", "é", "nothing", "s")


def make_random_dated_document(rng: Random, path: str, section_count: int) -> IndexedDocument:
    """Return a document like `make_random_document`, with up to two dates."""
    keys = rng.sample(("created", "updated", "a.b"), rng.randrange(3))
    return replace(
        make_random_document(rng, path, section_count), dates={key: rng.choice(DAYS) for key in sorted(keys)}
    )


def make_random_expansion(rng: Random, field: WordField) -> HasPrefix | HasSimilarWord:
    if rng.random() < 0.5:
        prefix = rng.choice(PREFIXES)
        return HasPrefix(field, prefix, f"{prefix}*")
    word = rng.choice(MISSPELT_WORDS)
    return HasSimilarWord(field, word, rng.choice((1, 2)), f"{word}~")


def make_random_condition(rng: Random, depth: int = 3) -> Condition:
    """Return a condition of any kind, nested at most `depth` levels."""
    kind = rng.randrange(10) if depth else rng.randrange(7)
    field = rng.choice(FIELDS)
    match kind:
        case 0:
            return HasWord(field, extract_token_terms(rng.choice(WORDS)))
        case 1 | 2:
            return make_random_expansion(rng, field)
        case 3:
            return HasPhrase(tuple(map(fold, rng.choices(WORDS, k=rng.randint(1, 2)))))
        case 4:
            value = rng.choice(VALUES)
            return HasValue(rng.choice(("type", "tags", "none")), value, value, rng.random() < 0.5)
        case 5:
            first, last = sorted(rng.choices(DAYS, k=2))
            key = rng.choice(("created", "updated", "a.b", "none"))
            return HasDate(key, rng.choice((None, first)), rng.choice((None, last)), key)
        case 6:
            return IsUnder(path := rng.choice(PATH_FILTERS), path)
        case 7:
            return Negation(make_random_condition(rng, depth - 1))
        case _:
            parts = tuple(make_random_condition(rng, depth - 1) for _ in range(rng.randint(2, 3)))
            return AllOf(parts) if rng.random() < 0.5 else AnyOf(parts)


def make_random_operator_query(rng: Random) -> Query:
    """Return a query of any kind: in most cases with a condition or expansions, and with words."""
    query = make_random_query(rng)
    if rng.random() < 0.8:
        query = replace(query, condition=make_random_condition(rng))
    if rng.random() < 0.5:
        expansions = [make_random_expansion(rng, "text") for _ in range(rng.randint(1, 2))]
        query = replace(query, expansions=tuple(dict.fromkeys(expansions)))
    if query.condition is not None and rng.random() < 0.4:
        terms = query.terms if rng.random() < 0.5 else {}
        query = replace(query, terms=terms, includes_all_selected=True, phrases=(), phrases_first=False)
    return query
