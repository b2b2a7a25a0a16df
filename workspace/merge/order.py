"""The merge of three sequences into one order that has the moves and additions of both sides."""

from __future__ import annotations

from itertools import pairwise, product
from typing import TYPE_CHECKING, TypeVar

from workspace.diff.sequences import LinkedList, find_displaced

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

Id = TypeVar("Id", bound="Hashable")

_MAX_ROUNDS = 3


def merge_order(
    base: Sequence[Id],
    ours: Sequence[Id],
    theirs: Sequence[Id],
    members: Collection[Id],
    is_for_theirs: Callable[[Id], bool],
    goes_before: Callable[[Id | None, Id, Id], bool] | None = None,
) -> list[Id]:
    """Return the `members` in order; each member is in ours or theirs.

    A member that one side moved or added follows the same member as on that side. If both sides added members
    at one position, our members come first. `goes_before` takes the predecessor, a member of theirs and a
    member of ours; if it returns True, the member of theirs comes first. A member that both sides moved
    differently has its position in ours, unless `is_for_theirs` returns True for it.
    """
    if theirs == base and len(members) == len(ours) and all(item in members for item in ours):
        return [*ours]
    common_items = set(base).intersection(ours, theirs, members)
    possible_moves = _list_possible_moves(base, ours, theirs, common_items)
    our_moves, their_moves = possible_moves[0]
    if [item for item in ours if item in common_items] == [item for item in theirs if item in common_items]:
        return _build_sequence(ours, theirs, members, our_moves, set(), goes_before)
    for our_moved_items, their_moved_items in possible_moves:
        items_from_theirs = (their_moved_items - our_moved_items) & common_items
        order = _build_sequence(ours, theirs, members, our_moved_items, items_from_theirs, goes_before)
        if not _find_items_moved_differently(
            ours, theirs, our_moved_items & their_moved_items & common_items, common_items
        ) and not _find_misplaced_items(
            base, ours, theirs, order, our_moved_items, their_moved_items, common_items
        ):
            return order
    is_for_theirs_by_item: dict[Id, bool] = {}
    for item in _find_items_moved_differently(
        ours, theirs, our_moves & their_moves & common_items, common_items
    ):
        is_for_theirs_by_item[item] = is_for_theirs(item)
    for _ in range(_MAX_ROUNDS):
        items_from_theirs = {
            item for item in their_moves - our_moves if is_for_theirs_by_item.get(item, True)
        } & common_items
        items_from_theirs.update(item for item, takes_theirs in is_for_theirs_by_item.items() if takes_theirs)
        order = _build_sequence(
            ours, theirs, members, our_moves - items_from_theirs, items_from_theirs, goes_before
        )
        misplaced_items = [
            item
            for item in _find_misplaced_items(base, ours, theirs, order, our_moves, their_moves, common_items)
            if item not in is_for_theirs_by_item
        ]
        if not misplaced_items:
            return order
        is_for_theirs_by_item.update((item, is_for_theirs(item)) for item in misplaced_items)
    return _build_sequence(
        ours,
        theirs,
        members,
        our_moves,
        {item for item, takes_theirs in is_for_theirs_by_item.items() if takes_theirs},
        goes_before,
    )


def _list_possible_moves(
    base: Sequence[Id], ours: Sequence[Id], theirs: Sequence[Id], common_items: Collection[Id]
) -> list[tuple[set[Id], set[Id]]]:
    """Return the possible moves of each side: either of two swapped members may have moved.

    The pair of moves with the smallest intersection comes first.
    """
    our_options, their_options = (
        [find_displaced(base, sequence), find_displaced(base[::-1], sequence[::-1])]
        for sequence in (ours, theirs)
    )
    return sorted(
        product(our_options, their_options),
        key=lambda pair: len((pair[0] & pair[1]).intersection(common_items)),
    )


def _build_sequence(
    ours: Sequence[Id],
    theirs: Sequence[Id],
    members: Collection[Id],
    moved_items: set[Id],
    items_from_theirs: set[Id],
    goes_before: Callable[[Id | None, Id, Id], bool] | None,
) -> list[Id]:
    """Return our sequence without `items_from_theirs`; their items are inserted after their predecessors."""
    their_items = set(theirs)
    linked_list = LinkedList(item for item in ours if item in members and item not in items_from_theirs)
    last_item: Id | None = None
    for item in theirs:
        if item in linked_list:
            if item not in moved_items:
                last_item = item
        elif item in members:
            predecessor = last_item
            while (successor := linked_list.find_next(predecessor)) is not None and (
                successor in moved_items or successor not in their_items
            ):
                if goes_before and goes_before(predecessor, item, successor):
                    break
                predecessor = successor
            linked_list.insert(predecessor, item)
            last_item = item
    return [*linked_list]


def _find_items_moved_differently(
    ours: Sequence[Id], theirs: Sequence[Id], moved_by_both: Collection[Id], common_items: Collection[Id]
) -> list[Id]:
    """Return the members that both sides moved to different positions."""
    our_predecessors, their_predecessors = (
        _map_predecessors(sequence, common_items) for sequence in (ours, theirs)
    )
    return [
        item for item in ours if item in moved_by_both and our_predecessors[item] != their_predecessors[item]
    ]


def _map_predecessors(sequence: Iterable[Id], common_items: Collection[Id]) -> Mapping[Id, Id | None]:
    predecessors: dict[Id, Id | None] = {}
    last_item: Id | None = None
    for item in sequence:
        predecessors[item] = last_item
        if item in common_items:
            last_item = item
    return predecessors


def _find_misplaced_items(
    base: Sequence[Id],
    ours: Sequence[Id],
    theirs: Sequence[Id],
    order: Sequence[Id],
    our_moves: set[Id],
    their_moves: set[Id],
    common_items: Collection[Id],
) -> list[Id]:
    """Return the members whose order with a neighbour of one side is reversed in the merged sequence.

    A pair whose order only one side changed must keep that side's order.
    """
    base_index, merged_index = _map_positions(base), _map_positions(order)
    misplaced_items: list[Id] = []
    for sequence, other_index in ((ours, _map_positions(theirs)), (theirs, _map_positions(ours))):
        for first_item, second_item in pairwise(item for item in sequence if item in common_items):
            if (
                base_index[first_item] > base_index[second_item]
                and other_index[first_item] > other_index[second_item]
                and merged_index[first_item] > merged_index[second_item]
            ):
                candidates = (first_item, second_item)
                misplaced_items.append(
                    next(
                        (item for item in candidates if item in our_moves),
                        next((item for item in candidates if item in their_moves), first_item),
                    )
                )
    return list(dict.fromkeys(misplaced_items))


def _map_positions(sequence: Iterable[Id]) -> Mapping[Id, int]:
    return {item: index for index, item in enumerate(sequence)}
