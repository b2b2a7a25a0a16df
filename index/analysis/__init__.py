"""Which words a text is found by: bytes become raw tokens, and each different one index terms.

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

from index.analysis.expansion import MAX_TOKEN, is_name, terms_of_raw, terms_of_token
from index.analysis.words import BREAK, STOP_WORDS, TOKEN, normalised, raw_tokens, readable

if TYPE_CHECKING:
    from index.page import Page
    from workspace.document.sections import Section

__all__ = [
    "BREAK",
    "HEADING_ABOVE",
    "HEADING_WEIGHT",
    "MAX_TOKEN",
    "MAX_WEIGHT",
    "STOP_WORDS",
    "TOKEN",
    "expand",
    "raw_tokens",
    "readable",
    "section_terms",
    "terms_of_heading",
    "terms_of_raw",
    "terms_of_text",
    "weigh",
]

HEADING_WEIGHT = 2
"""A word of the own heading counts as this many in the text; a word of the headings above it as one."""

HEADING_ABOVE = 100
"""Characters of a heading that count for the sections below it, or a long title would be in each in full."""

MAX_WEIGHT = 255
"""A word that counts more often in a section counts as this many."""


def section_terms(page: Page, section: Section) -> dict[str, int]:
    """Weigh the terms of a section: what the index holds of it, said plainly."""
    weights: Counter[str] = Counter(_spoken(readable(page.text(section))))
    for term, count in terms_of_heading(section.title).items():
        weights[term] += HEADING_WEIGHT * count
    for heading in page.headings_above(section):
        weights.update(terms_of_heading(heading[:HEADING_ABOVE]))
    return {term: min(weight, MAX_WEIGHT) for term, weight in weights.items()}


def terms_of_text(text: str) -> dict[str, int]:
    """Count the index terms of a stretch of Markdown, stop words left out."""
    return dict(Counter(_spoken(readable(_bytes(text)))))


def terms_of_heading(text: str) -> dict[str, int]:
    """Count the index terms of a heading, stop words kept: "Why not?" can be found by its name."""
    return dict(Counter(_all(_bytes(text))))


def weigh(tokens: Iterable[str]) -> dict[str, int]:
    """Weigh the terms of a query's tokens; stop words have no weight but if there is nothing else.

    The whole of a name weighs more than its parts together, or the one section that explains `--api-group`
    would stand below those that speak of groups and of APIs.
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
    """Return the different index terms of one token, the whole of it first; a stop word is its own term."""
    return _known(token) if len(token) <= MAX_TOKEN else _expanded(token)


def _expanded(token: str) -> tuple[str, ...]:
    tokens = TOKEN.findall(normalised(token))
    return tuple(dict.fromkeys(term for part in tokens for term in terms_of_token(part)))


_known = lru_cache(maxsize=50_000)(_expanded)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _all(text: bytes) -> Iterable[str]:
    return (term for raw in raw_tokens([text]) for term in terms_of_raw(raw))


def _spoken(text: bytes) -> Iterable[str]:
    return (term for term in _all(text) if term not in STOP_WORDS)
