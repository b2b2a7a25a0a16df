"""Text analysis: bytes become raw tokens, and each distinct raw token becomes index terms.

A corpus has millions of words but few different ones. So what looks at all of them (`markup`, `tokens`) works
on bytes and looks at no letter, and what is costly (`expansion`: folding, stop words, stemming, splitting
names) runs once for each different raw token; `index.building.vocabulary` remembers. The functions here are
the same in plain steps: they say what the index holds, and they read queries.

expansion.py  which index terms one token stands for
words.py      where words are: the characters that make them, and those that join words into one name
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from index.analysis.expansion import MAX_TOKEN, expand_raw, expand_token, is_name
from index.analysis.words import BREAK, STOP_WORDS, TOKEN, normalize, split_raw_tokens, strip_markup

if TYPE_CHECKING:
    from index.page import IndexedDocument
    from workspace.document.sections import Section

__all__ = [
    "BREAK",
    "HEADING_ABOVE",
    "HEADING_WEIGHT",
    "MAX_TOKEN",
    "MAX_WEIGHT",
    "STOP_WORDS",
    "TOKEN",
    "count_heading_terms",
    "count_text_terms",
    "expand",
    "expand_raw",
    "split_raw_tokens",
    "strip_markup",
    "weigh",
    "weigh_section_terms",
]

HEADING_WEIGHT = 2
"""A word of the own heading counts as this many in the text; a word of the headings above it as one."""

HEADING_ABOVE = 100
"""Characters of a heading that count for the sections below it, or a long title would be in each in full."""

MAX_WEIGHT = 255
"""A word that counts more often in a section counts as this many."""


def weigh_section_terms(page: IndexedDocument, section: Section) -> dict[str, int]:
    """Weigh the terms of a section, as the index stores them."""
    weights: Counter[str] = Counter(_without_stop_words(strip_markup(page.text(section))))
    for term, count in count_heading_terms(section.title).items():
        weights[term] += HEADING_WEIGHT * count
    for heading in page.headings_above(section):
        weights.update(count_heading_terms(heading[:HEADING_ABOVE]))
    return {term: min(weight, MAX_WEIGHT) for term, weight in weights.items()}


def count_text_terms(text: str) -> dict[str, int]:
    """Count the index terms of some Markdown, without stop words."""
    return dict(Counter(_without_stop_words(strip_markup(_bytes(text)))))


def count_heading_terms(text: str) -> dict[str, int]:
    """Count the index terms of a heading, stop words included: "Why not?" can be found by its name."""
    return dict(Counter(_count_terms(_bytes(text))))


def weigh(tokens: Iterable[str]) -> dict[str, int]:
    """Weigh the terms of a query's tokens; stop words weigh nothing unless the query has no other words.

    A whole name weighs more than the sum of its parts. Otherwise the one section that explains `--api-group`
    would rank below sections about groups and APIs.
    """
    weights: dict[str, int] = {}
    get = weights.get
    for token in tokens:
        terms = expand(token)
        for term in terms:
            weights[term] = get(term, 0) + 1
        if len(terms) > 1 and is_name(token):
            weights[terms[0]] += len(terms) - 1
    return {term: weight for term, weight in weights.items() if term not in STOP_WORDS} or weights


def expand(token: str) -> tuple[str, ...]:
    """Return the distinct index terms of one token, the whole token first; a stop word is its own term."""
    return _known(token) if len(token) <= MAX_TOKEN else _expand_token(token)


def _expand_token(token: str) -> tuple[str, ...]:
    tokens = TOKEN.findall(normalize(token))
    return tuple(dict.fromkeys(term for part in tokens for term in expand_token(part)))


_known = lru_cache(maxsize=50_000)(_expand_token)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _count_terms(text: bytes) -> Iterable[str]:
    return (term for raw in split_raw_tokens([text]) for term in expand_raw(raw))


def _without_stop_words(text: bytes) -> Iterable[str]:
    return (term for term in _count_terms(text) if term not in STOP_WORDS)
