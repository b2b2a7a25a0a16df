"""Pages with dates, and queries with operators, drawn at random."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from index.analysis import expand
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
from tests.index.pages import PATTERNS, WORDS, random_page, random_query

DAYS = ("0999-12-31", "2025-12-31", "2026-01-01", "2026-01-31", "2026-02-01")
FIELDS: tuple[WordField, ...] = ("text", "text", "title", "heading")
PREFIXES = ("a", "al", "alphas", "rare1", "rare", "rate", "ratelimit", "snake_", "gamm", "nowhere", "o")
MISSPELT = ("alpah", "bta", "gamma", "gmma", "delt", "omegas", "nowhere", "rarity")
VALUES = ("guide", "NOTE", "network", "N", "g", "é", "nothing", "s")


def random_dated_page(chance: Random, path: str, sections: int) -> IndexedDocument:
    """Return a page like `random_page`, and perhaps with dates."""
    keys = chance.sample(("created", "updated", "a.b"), chance.randrange(3))
    return replace(
        random_page(chance, path, sections), dates={key: chance.choice(DAYS) for key in sorted(keys)}
    )


def random_expansion(chance: Random, field: WordField) -> HasPrefix | HasSimilarWord:
    if chance.random() < 0.5:
        prefix = chance.choice(PREFIXES)
        return HasPrefix(field, prefix, f"{prefix}*")
    word = chance.choice(MISSPELT)
    return HasSimilarWord(field, word, chance.choice((1, 2)), f"{word}~")


def random_condition(chance: Random, depth: int = 3) -> Condition:
    """Return a condition of every kind, nested up to a depth."""
    kind = chance.randrange(10) if depth else chance.randrange(7)
    field = chance.choice(FIELDS)
    match kind:
        case 0:
            return HasWord(field, expand(chance.choice(WORDS)))
        case 1 | 2:
            return random_expansion(chance, field)
        case 3:
            return HasPhrase(tuple(map(fold, chance.choices(WORDS, k=chance.randint(1, 2)))))
        case 4:
            value = chance.choice(VALUES)
            return HasValue(chance.choice(("type", "tags", "none")), value, value, chance.random() < 0.5)
        case 5:
            first, last = sorted(chance.choices(DAYS, k=2))
            key = chance.choice(("created", "updated", "a.b", "none"))
            return HasDate(key, chance.choice((None, first)), chance.choice((None, last)), key)
        case 6:
            return IsUnder(path := chance.choice(PATTERNS), path)
        case 7:
            return Negation(random_condition(chance, depth - 1))
        case _:
            parts = tuple(random_condition(chance, depth - 1) for _ in range(chance.randint(2, 3)))
            return AllOf(parts) if chance.random() < 0.5 else AnyOf(parts)


def random_operators(chance: Random) -> Query:
    """Return a query with a condition, expansions, or both, and perhaps words, phrases and filters."""
    query = random_query(chance)
    if chance.random() < 0.8:
        query = replace(query, condition=random_condition(chance))
    if chance.random() < 0.5:
        expansions = [random_expansion(chance, "text") for _ in range(chance.randint(1, 2))]
        query = replace(query, expansions=tuple(dict.fromkeys(expansions)))
    if query.condition is not None and chance.random() < 0.4:
        terms = query.terms if chance.random() < 0.5 else {}
        query = replace(query, terms=terms, includes_unscored=True, phrases=(), phrases_first=False)
    return query
