"""The merge of sequences: the order of three versions of a row, with moves and additions of both sides."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, TypeVar

from workspace.diff.sequences import LinkedList, find_displaced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

Id = TypeVar("Id", bound="Hashable")

_ROUNDS = 3


def merge_order(
    base: Sequence[Id],
    ours: Sequence[Id],
    theirs: Sequence[Id],
    members: Collection[Id],
    is_for_theirs: Callable[[Id], bool],
    goes_before: Callable[[Id | None, Id, Id], bool] | None = None,
) -> list[Id]:
    """Return the `members` in order; each of them is in ours or theirs.

    What one side moved goes where it moved it, and what it added stands behind what it follows there. At one
    place ours come first, unless `goes_before` says of what stands before, one of theirs and one of ours that
    theirs belongs between the other two. What both moved differently stands as in ours, unless
    `is_for_theirs` says else.
    """
    if theirs == base and len(members) == len(ours) and all(item in members for item in ours):
        return [*ours]
    common = set(base).intersection(ours, theirs, members)
    readings = _list_possible_moves(base, ours, theirs, common)
    moved, moved_by_them = readings[0]
    if [item for item in ours if item in common] == [item for item in theirs if item in common]:
        return _lay_out(ours, theirs, members, moved, set(), goes_before)
    for one, other in readings:
        follows = (other - one) & common
        order = _lay_out(ours, theirs, members, one, follows, goes_before)
        if not _find_moved_apart(ours, theirs, one & other & common, common) and not _find_misplaced(
            base, ours, theirs, order, one, other, common
        ):
            return order
    held: dict[Id, bool] = {}
    for item in _find_moved_apart(ours, theirs, moved & moved_by_them & common, common):
        held[item] = is_for_theirs(item)
    for _ in range(_ROUNDS):
        follows = {item for item in moved_by_them - moved if held.get(item, True)} & common
        follows.update(item for item, theirs_wins in held.items() if theirs_wins)
        order = _lay_out(ours, theirs, members, moved - follows, follows, goes_before)
        lost = [
            item
            for item in _find_misplaced(base, ours, theirs, order, moved, moved_by_them, common)
            if item not in held
        ]
        if not lost:
            return order
        held.update((item, is_for_theirs(item)) for item in lost)
    return _lay_out(ours, theirs, members, moved, {item for item, wins in held.items() if wins}, goes_before)


def _list_possible_moves(
    base: Sequence[Id], ours: Sequence[Id], theirs: Sequence[Id], common: Collection[Id]
) -> list[tuple[set[Id], set[Id]]]:
    """Return the possible moves of each side: of two that swapped, either.

    First what keeps both sides most apart.
    """
    mine, yours = (
        [find_displaced(base, row), find_displaced(base[::-1], row[::-1])] for row in (ours, theirs)
    )
    return sorted(product(mine, yours), key=lambda pair: len((pair[0] & pair[1]).intersection(common)))


def _lay_out(
    ours: Sequence[Id],
    theirs: Sequence[Id],
    members: Collection[Id],
    moved: set[Id],
    follows: set[Id],
    goes_before: Callable[[Id | None, Id, Id], bool] | None,
) -> list[Id]:
    """Return our row without the members that `follows` theirs, then each of theirs after its neighbour."""
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


def _find_moved_apart(
    ours: Sequence[Id], theirs: Sequence[Id], both: Collection[Id], common: Collection[Id]
) -> list[Id]:
    """Return the members that both sides moved to different positions."""
    stands, stood = (_map_predecessors(row, common) for row in (ours, theirs))
    return [item for item in ours if item in both and stands[item] != stood[item]]


def _map_predecessors(row: Iterable[Id], common: Collection[Id]) -> Mapping[Id, Id | None]:
    found: dict[Id, Id | None] = {}
    last: Id | None = None
    for item in row:
        found[item] = last
        if item in common:
            last = item
    return found


def _find_misplaced(
    base: Sequence[Id],
    ours: Sequence[Id],
    theirs: Sequence[Id],
    order: Sequence[Id],
    moved: set[Id],
    moved_by_them: set[Id],
    common: Collection[Id],
) -> list[Id]:
    """Return the members that a side put behind a neighbour which is behind them in the merged row.

    Where the same two were turned by one side alone, its order must hold.
    """
    was, is_now = _map_positions(base), _map_positions(order)
    found: list[Id] = []
    for row, other in ((ours, _map_positions(theirs)), (theirs, _map_positions(ours))):
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


def _map_positions(row: Iterable[Id]) -> Mapping[Id, int]:
    return {item: place for place, item in enumerate(row)}
