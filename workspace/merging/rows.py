"""Rows of things: which of them were moved, and rows into which others are put."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Sequence

Id = TypeVar("Id", bound="Hashable")


class Chain(Generic[Id]):
    """Things in order, into which others are put without moving the rest."""

    def __init__(self, items: Iterable[Id]) -> None:
        self._next: dict[Id | None, Id | None] = {None: None}
        last: Id | None = None
        for item in items:
            self.insert(last, item)
            last = item

    def __contains__(self, item: Id) -> bool:
        return item in self._next

    def insert(self, at: Id | None, item: Id) -> None:
        """Puts a thing behind another one; behind none, in front of all."""
        self._next[item] = self._next[at]
        self._next[at] = item

    def after(self, at: Id | None) -> Id | None:
        """The thing behind another one; behind none, the first."""
        return self._next[at]

    def __iter__(self) -> Iterator[Id]:
        item = self.after(None)
        while item is not None:
            yield item
            item = self.after(item)


def displaced(base: Sequence[Id], other: Sequence[Id]) -> set[Id]:
    """The fewest things of both rows without which the rest of them is in the same order."""
    kept = set(in_order(base, other))
    return {item for item in base if item not in kept}.intersection(other)


def surely_displaced(base: Sequence[Id], other: Sequence[Id]) -> set[Id]:
    """What was moved, whether a row is read from its front or from its end; of two that swapped, neither."""
    return displaced(base, other) & displaced(base[::-1], other[::-1])


def in_order(base: Sequence[Id], other: Sequence[Id]) -> list[Id]:
    """The most things of both rows that are in the same order in both."""
    places = {item: place for place, item in enumerate(base)}
    common = [item for item in other if item in places]
    tails: list[int] = []
    ends: list[int] = []  # for each length, the index in `common` at which the best run of it ends
    above: list[int | None] = []
    for index, item in enumerate(common):
        length = bisect_left(tails, places[item])
        above.append(ends[length - 1] if length else None)
        tails[length : length + 1] = [places[item]]
        ends[length : length + 1] = [index]
    kept: list[Id] = []
    at = ends[-1] if ends else None
    while at is not None:
        kept.append(common[at])
        at = above[at]
    return kept[::-1]
