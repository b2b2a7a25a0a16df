"""Which of some texts was which of some others, where both differ: the one with which it shares its words.

What is compared at once are all texts of one side with all of the other, so only parts count that stand in
one text of each side alone. This takes time in proportion to the texts, where comparing each with each would
not.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

Part = TypeVar("Part", str, bytes)


def alike(olds: Sequence[Collection[Part]], news: Sequence[Collection[Part]], least: float) -> dict[int, int]:
    """The places in `news` of texts in `olds`: each shares most with the other, and at least a share.

    A text is given as its parts (words, or lines). `least` is the share of the longer one's, in characters.
    """
    stood, stand = _only_in(olds), _only_in(news)
    shared: Counter[tuple[int, int]] = Counter()
    for part, old in stood.items():
        if part in stand:
            shared[old, stand[part]] += len(part)
    sizes = [_size(parts) for parts in olds]
    sizes_now = [_size(parts) for parts in news]
    near = {
        pair: weight
        for pair, weight in shared.items()
        if weight >= least * max(sizes[pair[0]], sizes_now[pair[1]])
    }
    best, best_now = _most(near, 0), _most(near, 1)
    return {old: new for (old, new) in near if best[old] == new and best_now[new] == old}


def _only_in(texts: Sequence[Collection[Part]]) -> dict[Part, int]:
    """The parts that one text alone has, and which one."""
    owner: dict[Part, int | None] = {}
    for place, parts in enumerate(texts):
        for part in parts:
            owner[part] = place if owner.get(part, place) == place else None
    return {part: place for part, place in owner.items() if place is not None}


def _size(parts: Collection[Part]) -> int:
    return sum(map(len, parts))


def _most(near: Mapping[tuple[int, int], int], side: int) -> dict[int, int]:
    """For each text of a side the one of the other with which it shares most; of equals, the first."""
    best: dict[int, tuple[int, int]] = {}
    for pair, weight in near.items():
        own, other = pair[side], pair[1 - side]
        if own not in best or (weight, -other) > best[own]:
            best[own] = weight, -other
    return {own: -other for own, (_, other) in best.items()}
