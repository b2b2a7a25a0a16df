"""Conditions of a query: a tree of values that selects sections.

`index.operators` parses conditions, and an engine evaluates them. In messages, a part of a condition is named
by its `query_text`, which is its text in the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

WordField = Literal["text", "title", "heading"]
"""A set of words: those of a section's text, of its document's title, or of its own heading."""


@dataclass(frozen=True, slots=True)
class HasWord:
    """The condition that a field has all index terms of one word."""

    field: WordField
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasPrefix:
    """The condition that a field has a term that begins with a folded `prefix`, or the stem of the prefix."""

    field: WordField
    prefix: str
    query_text: str


@dataclass(frozen=True, slots=True)
class HasSimilarWord:
    """The condition that a field has a term at most `max_edits` edits away from a folded word.

    `index.spelling` defines the edits.
    """

    field: WordField
    word: str
    max_edits: int
    query_text: str


@dataclass(frozen=True, slots=True)
class HasPhrase:
    """The condition that a section has these words in this order, in its text or in its heading."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HasValue:
    """The condition that a document has a value for a taxonomy key; with `is_prefix`, one with this prefix.

    Values are compared without case.
    """

    key: str
    value: str
    query_text: str
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class HasDate:
    """The condition that the front matter has a date for a key, from `first` to `last`, inclusive.

    None is no limit.
    """

    key: str
    first: str | None
    last: str | None
    query_text: str


@dataclass(frozen=True, slots=True)
class IsUnder:
    """The condition that a document has this path, is in the folder of this path, or matches the glob."""

    path: str
    query_text: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """The condition that every part is satisfied."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The condition that at least one part is satisfied."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """The condition that a part is not satisfied."""

    part: Condition


Leaf = HasWord | HasPrefix | HasSimilarWord | HasPhrase | HasValue | HasDate | IsUnder
Condition = Leaf | AllOf | AnyOf | Negation


def list_leaves(condition: Condition | None) -> Iterator[Leaf]:
    """Yield the conditions that have no parts, in the order of the query."""
    match condition:
        case None:
            return
        case AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from list_leaves(part)
        case Negation(part):
            yield from list_leaves(part)
        case _:
            yield condition


def replace_leaf(condition: Condition, old: Leaf, new: Leaf) -> Condition:
    """Return the condition with `new` in place of each leaf that equals `old`."""
    match condition:
        case AllOf(parts):
            return AllOf(tuple(replace_leaf(part, old, new) for part in parts))
        case AnyOf(parts):
            return AnyOf(tuple(replace_leaf(part, old, new) for part in parts))
        case Negation(part):
            return Negation(replace_leaf(part, old, new))
        case _:
            return new if condition == old else condition
