"""What to say when nothing was found: which filter emptied the result, and which values would not have.

Nothing here is guessed: each filter is left out in turn and the question asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from index.analysis import STOP_WORDS
from index.chunks import Record

SUGGESTED = 10
SAMPLE = 200
"""Hits that are looked at to see which values occur."""

Ask = Callable[[Mapping[str, str]], Iterable[Record]]
"""Gives the best chunks for the same question with other filters."""


@dataclass(frozen=True, slots=True)
class Hint:
    message: str
    suggested_filters: Mapping[str, tuple[str, ...]]


def values_of(record: Record, key: str) -> tuple[str, ...]:
    """Give the values that a chunk has for a taxonomy key."""
    if key == "type":
        return (record.type,) if record.type else ()
    return record.tags


def hint(terms: Collection[str], filters: Mapping[str, str], path: str | None, ask: Ask) -> Hint:
    """Explain an empty result. `ask` is for the same words and path."""
    if not terms:
        return Hint("0 results found: the query holds no words. Ask with words the documents may use.", {})
    if all(term in STOP_WORDS for term in terms):
        return Hint("0 results found: such words are in almost every text. Name the matter itself.", {})
    suggested: dict[str, tuple[str, ...]] = {}
    emptied: list[str] = []
    for key in filters:
        counts: Counter[str] = Counter()
        found = False
        for record in ask({other: value for other, value in filters.items() if other != key}):
            found = True
            counts.update(values_of(record, key))
        if found:
            emptied.append(key)
        if counts:
            ranked = sorted(counts, key=lambda value: (-counts[value], value))
            suggested[key] = tuple(ranked[:SUGGESTED])
    if emptied:
        named = " and for ".join(f"{key} '{filters[key]}'" for key in emptied)
        return Hint(f"0 results found for {named}. Leave it out, or use one of suggested_filters.", suggested)
    if len(filters) > 1 and any(True for _ in ask({})):
        named = " and ".join(f"{key} '{value}'" for key, value in filters.items())
        return Hint(f"0 results found for {named} together. Leave these filters out.", {})
    where = f" under path '{path[:100]}'" if path else ""
    return Hint(f"0 results found{where}: no section holds any of these words. Try other words.", {})
