"""What to say when nothing was found: what emptied the result, and which filter values would not have.

Nothing here is guessed: the question is asked again without each part of it in turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from index.analysis import STOP_WORDS
from index.page import Record
from index.port import Query

SUGGESTED = 10
SAMPLE = 200
"""Hits that are looked at to see which values occur."""

Ask = Callable[[Query], Iterable[Record]]
"""Gives the best sections for a question."""


@dataclass(frozen=True, slots=True)
class Hint:
    message: str
    suggested_filters: Mapping[str, tuple[str, ...]]


def hint(question: Query, ask: Ask) -> Hint:
    """Explain an empty result. `ask` is at the same commit."""
    if not question.terms:
        return _plain("the query holds no words. Ask with words the documents may use.")
    if all(term in STOP_WORDS for term in question.terms):
        return _plain("such words are in almost every text. Name the matter itself.")
    return (
        _by_filter(question, ask)
        or _by_filters(question, ask)
        or _by_marks(question, ask)
        or _plain("no section holds any of these words. Try other words.", question.path)
    )


def _by_filter(question: Query, ask: Ask) -> Hint | None:
    suggested: dict[str, tuple[str, ...]] = {}
    emptied: list[str] = []
    for key, value in question.filters.items():
        others = {other: kept for other, kept in question.filters.items() if other != key}
        found = list(ask(replace(question, filters=others)))
        if found:
            emptied.append(f"{key} '{value}'")
        counts = Counter(value for record in found for value in record.facets.get(key, ()))
        if counts:
            suggested[key] = tuple(sorted(counts, key=lambda value: (-counts[value], value))[:SUGGESTED])
    if not emptied:
        return None
    named = " and for ".join(emptied)
    return Hint(f"0 results found for {named}. Leave it out, or use one of suggested_filters.", suggested)


def _by_filters(question: Query, ask: Ask) -> Hint | None:
    if len(question.filters) < 2 or not any(True for _ in ask(replace(question, filters={}))):
        return None
    named = " and ".join(f"{key} '{value}'" for key, value in question.filters.items())
    return Hint(f"0 results found for {named} together. Leave these filters out.", {})


def _by_marks(question: Query, ask: Ask) -> Hint | None:
    unquoted, undashed = replace(question, phrases=()), replace(question, excluded=())
    others = {
        "the words are there, but not as the quoted phrase. Leave the quotes out.": unquoted,
        "what is found has a word that a dash excludes; in quotes that word is searched for.": undashed,
        "nothing has the phrase and no excluded word. Leave out both.": replace(unquoted, excluded=()),
    }
    for reason, other in others.items():
        if other != question and any(True for _ in ask(other)):
            return _plain(reason, question.path)
    return None


def _plain(reason: str, path: str | None = None) -> Hint:
    where = f" under path '{path[:100]}'" if path else ""
    return Hint(f"0 results found{where}: {reason}", {})
