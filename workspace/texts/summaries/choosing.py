"""Which passages a summary keeps: the most worth for what they cost, with a fair share for each section."""

from __future__ import annotations

import math
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# Each line costs a reader's attention beside its tokens, and fewer tokens than this tell less.
_OVERHEAD = 6
_TELLING = 14


class Choice(NamedTuple):
    """A passage that may be kept: where it stands, what it is worth, what its lines cost in tokens."""

    section: int
    place: int
    worth: float
    cost: int


def choose(choices: Sequence[Choice], sizes: Sequence[int], room: int) -> list[Choice]:
    """The choices to keep within `room` tokens, the best first; `sizes` are the tokens of each section.

    Greedy by worth for each token. What a section has been given lowers the worth of more from it, measured
    by its fair share: the room by the square roots of the sections' sizes, so that a long section gets more,
    but not all. Equal worths go by position, so the same text is always summarized alike.
    """
    by_section: dict[int, list[Choice]] = {}
    for choice in choices:
        by_section.setdefault(choice.section, []).append(choice)
    for found in by_section.values():
        # The best is taken from the end.
        found.sort(key=lambda choice: (_density(choice), -choice.place))
    roots = {section: math.sqrt(sizes[section] + 1) for section in by_section}
    unit = max(room, 1) / (sum(roots.values()) or 1.0)
    spent = dict.fromkeys(by_section, 0)

    def rank(section: int) -> tuple[float, int]:
        share = unit * roots[section]
        return -_density(by_section[section][-1]) * share / (share + spent[section]), section

    heap = [rank(section) for section in by_section]
    heapify(heap)
    kept: list[Choice] = []
    while heap and room > 0:
        section = heap[0][1]
        choice = by_section[section].pop()
        if choice.cost <= room:
            kept.append(choice)
            room -= choice.cost
            spent[section] += choice.cost
        if by_section[section]:
            heapreplace(heap, rank(section))
        else:
            heappop(heap)
    return kept


def _density(choice: Choice) -> float:
    return choice.worth * min(1.0, choice.cost / _TELLING) / (choice.cost + _OVERHEAD)
