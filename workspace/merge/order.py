"""Rows merged: the order of three versions of a row of things, moves and additions of both sides in it."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, TypeVar

from workspace.diff.sequences import LinkedList, find_displaced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

Id = TypeVar("Id", bound="Hashable")

_ROUNDS = 3


def merged_order(
    base: Sequence[Id],
    ours: Sequence[Id],
    theirs: Sequence[Id],
    members: Collection[Id],
    is_for_theirs: Callable[[Id], bool],
    goes_before: Callable[[Id | None, Id, Id], bool] | None = None,
) -> list[Id]:
    """Return the `members` in order; each of them stands in ours or theirs.

    What one side moved goes where it moved it, and what it added stands behind what it follows there. At one
    place ours come first, unless `goes_before` says of what stands before, one of theirs and one of ours that
    theirs belongs between the other two. What both moved differently stands as in ours, unless
    `is_for_theirs` says else.
    """
    if theirs == base and len(members) == len(ours) and all(item in members for item in ours):
        return [*ours]
    common = set(base).intersection(ours, theirs, members)
    readings = _readings(base, ours, theirs, common)
    moved, moved_by_them = readings[0]
    if [item for item in ours if item in common] == [item for item in theirs if item in common]:
        return _laid(ours, theirs, members, moved, set(), goes_before)
    for one, other in readings:
        follows = (other - one) & common
        order = _laid(ours, theirs, members, one, follows, goes_before)
        if not _moved_apart(ours, theirs, one & other & common, common) and not _unheeded(
            base, ours, theirs, order, one, other, common
        ):
            return order
    held: dict[Id, bool] = {}
    for item in _moved_apart(ours, theirs, moved & moved_by_them & common, common):
        held[item] = is_for_theirs(item)
    for _ in range(_ROUNDS):
        follows = {item for item in moved_by_them - moved if held.get(item, True)} & common
        follows.update(item for item, theirs_wins in held.items() if theirs_wins)
        order = _laid(ours, theirs, members, moved - follows, follows, goes_before)
        lost = [
            item
            for item in _unheeded(base, ours, theirs, order, moved, moved_by_them, common)
            if item not in held
        ]
        if not lost:
            return order
        held.update((item, is_for_theirs(item)) for item in lost)
    return _laid(ours, theirs, members, moved, {item for item, wins in held.items() if wins}, goes_before)


def _readings(
    base: Sequence[Id], ours: Sequence[Id], theirs: Sequence[Id], common: Collection[Id]
) -> list[tuple[set[Id], set[Id]]]:
    """Return what each side may have moved: of two that swapped, either.

    First what keeps both sides most apart.
    """
    mine, yours = (
        [find_displaced(base, row), find_displaced(base[::-1], row[::-1])] for row in (ours, theirs)
    )
    return sorted(product(mine, yours), key=lambda pair: len((pair[0] & pair[1]).intersection(common)))


def _laid(
    ours: Sequence[Id],
    theirs: Sequence[Id],
    members: Collection[Id],
    moved: set[Id],
    follows: set[Id],
    goes_before: Callable[[Id | None, Id, Id], bool] | None,
) -> list[Id]:
    """Our row without what `follows` theirs, and then each that is theirs behind what it follows there."""
    known = set(theirs)
    chain = LinkedList(item for item in ours if item in members and item not in follows)
    last: Id | None = None
    for item in theirs:
        if item in chain:
            if item not in moved:
                last = item
        elif item in members:
            at = last
            while (following := chain.after(at)) is not None and (
                following in moved or following not in known
            ):
                if goes_before and goes_before(at, item, following):
                    break
                at = following
            chain.insert(at, item)
            last = item
    return [*chain]


def _moved_apart(
    ours: Sequence[Id], theirs: Sequence[Id], both: Collection[Id], common: Collection[Id]
) -> list[Id]:
    """Return what both sides moved, and not to one place."""
    stands, stood = (_predecessors(row, common) for row in (ours, theirs))
    return [item for item in ours if item in both and stands[item] != stood[item]]


def _predecessors(row: Iterable[Id], common: Collection[Id]) -> Mapping[Id, Id | None]:
    found: dict[Id, Id | None] = {}
    last: Id | None = None
    for item in row:
        found[item] = last
        if item in common:
            last = item
    return found


def _unheeded(
    base: Sequence[Id],
    ours: Sequence[Id],
    theirs: Sequence[Id],
    order: Sequence[Id],
    moved: set[Id],
    moved_by_them: set[Id],
    common: Collection[Id],
) -> list[Id]:
    """Return what one side put behind a neighbour that stands behind it in the merged row.

    Where the same two were turned by one side alone, its order must hold.
    """
    was, is_now = _places(base), _places(order)
    found: list[Id] = []
    for row, other in ((ours, _places(theirs)), (theirs, _places(ours))):
        for first, second in pairwise(item for item in row if item in common):
            if was[first] > was[second] and other[first] > other[second] and is_now[first] > is_now[second]:
                candidates = (first, second)
                found.append(
                    next(
                        (item for item in candidates if item in moved),
                        next((item for item in candidates if item in moved_by_them), first),
                    )
                )
    return list(dict.fromkeys(found))


def _places(row: Iterable[Id]) -> Mapping[Id, int]:
    return {item: place for place, item in enumerate(row)}
