"""The index terms of texts, headings and queries, in simple steps."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from index.analysis.expansion import MAX_TERM_LENGTH, expand_raw_token, expand_token, has_full_term
from index.analysis.words import STOP_WORDS, TOKEN, normalize, split_raw_tokens, strip_markup

if TYPE_CHECKING:
    from index.documents import IndexedDocument
    from workspace.document.sections import Section

HEADING_WEIGHT = 2
"""The weight of a word of the section's own heading. A word of a heading above it has the weight 1."""

MAX_HEADING_ABOVE_LENGTH = 100
"""The largest number of characters of a heading that are indexed for the sections below it.

Otherwise a long title would be repeated in every section.
"""

MAX_WEIGHT = 255
"""The largest weight of a term in a section."""


def weigh_section_terms(document: IndexedDocument, section: Section) -> dict[str, int]:
    """Return the terms of a section with their weights, as the index stores them."""
    weights: Counter[str] = Counter(_extract_content_terms(strip_markup(document.text(section))))
    for term, count in count_heading_terms(section.title).items():
        weights[term] += HEADING_WEIGHT * count
    for heading in document.headings_above(section):
        weights.update(count_heading_terms(heading[:MAX_HEADING_ABOVE_LENGTH]))
    return {term: min(weight, MAX_WEIGHT) for term, weight in weights.items()}


def count_text_terms(text: str) -> dict[str, int]:
    """Count the index terms of a Markdown text, without stop words."""
    return dict(Counter(_extract_content_terms(strip_markup(_encode(text)))))


def count_heading_terms(text: str) -> dict[str, int]:
    """Count the index terms of a heading, including stop words: a search can find "Why not?"."""
    return dict(Counter(_extract_terms(_encode(text))))


@lru_cache(maxsize=8_192)
def extract_title_terms(title: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the distinct terms of a document's title, and those that are only parts of its names.

    Only the first 100 characters are read. Stop words are left out if there are other words.
    """
    tokens = TOKEN.findall(normalize(title[:MAX_HEADING_ABOVE_LENGTH]))
    terms = tuple(dict.fromkeys([term for token in tokens for term in extract_token_terms(token)]))
    return tuple([term for term in terms if term not in STOP_WORDS]) or terms, extract_name_parts(tokens)


_HYPHENATED = re.compile(r"[A-Z]?[a-z]+(?:-[A-Z]?[a-z]+)+")


def weigh_query_terms(tokens: Iterable[str]) -> dict[str, int]:
    """Return the terms of a query's tokens with their weights, without stop words if there are other words.

    A full name weighs more than the sum of its parts. Otherwise the section that explains `--api-group` would
    rank below sections about groups and APIs. A hyphenated word such as `two-dimensional` is not a
    name. Its full form and its parts weigh the same, because many texts write it with a space.
    """
    weights: dict[str, int] = {}
    get = weights.get
    for token in tokens:
        terms = extract_token_terms(token)
        for term in terms:
            weights[term] = get(term, 0) + 1
        if _has_parts(token, terms):
            weights[terms[0]] += len(terms) - 1
    return {term: weight for term, weight in weights.items() if term not in STOP_WORDS} or weights


def extract_name_parts(tokens: Iterable[str]) -> frozenset[str]:
    """Return the terms that a query's tokens have only as parts of names, such as `api` of `--api-group`."""
    full_terms: set[str] = set()
    parts: set[str] = set()
    for token in tokens:
        terms = extract_token_terms(token)
        if _has_parts(token, terms):
            full_terms.add(terms[0])
            parts.update(terms[1:])
        else:
            full_terms.update(terms)
    return frozenset(parts - full_terms)


def _has_parts(token: str, terms: tuple[str, ...]) -> bool:
    """Return True if the first term of a token is a full name, and its other terms are parts of the name."""
    return len(terms) > 1 and has_full_term(token) and not _HYPHENATED.fullmatch(token)


def extract_token_terms(token: str) -> tuple[str, ...]:
    """Return the distinct index terms of a word or name, the full form first; a stop word is its own term."""
    return _expand_cached_token(token) if len(token) <= MAX_TERM_LENGTH else _expand_token(token)


def _expand_token(token: str) -> tuple[str, ...]:
    if token.isascii() and token.isalnum():
        return expand_token(token)
    tokens = TOKEN.findall(normalize(token))
    return tuple(dict.fromkeys(term for part in tokens for term in expand_token(part)))


_expand_cached_token = lru_cache(maxsize=50_000)(_expand_token)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _extract_terms(text: bytes) -> Iterable[str]:
    return (term for raw_token in split_raw_tokens([text]) for term in expand_raw_token(raw_token))


def _extract_content_terms(text: bytes) -> Iterable[str]:
    return (term for term in _extract_terms(text) if term not in STOP_WORDS)
