"""Which of some commits another can reach, by one walk for all of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import TYPE_CHECKING

from workspace.git import DamagedRepository

if TYPE_CHECKING:
    from workspace.git.ancestry import Graph

SLACK = 24 * 60 * 60
"""Seconds by which a commit may claim to be older than its parent."""

ASTRAY = 50
"""Commits in a row that may claim to be older than that, and are still followed."""


def reached(graph: Graph, start: str, wanted: Iterable[str]) -> frozenset[str]:
    """Those of the wanted commits that are `start` or an ancestor of it; not those that cannot be read.

    What is older than all of them is hardly looked at, so the cost follows what came after them.
    """
    missing = {id for id in wanted if id == start or graph.time(id)}
    if not missing or not graph.time(start):
        return frozenset(missing & {start})
    oldest = min(graph.time(id) for id in missing) - SLACK
    found: set[str] = set()
    seen = {start}
    waiting = [(-graph.time(start), start, 0)]
    while waiting and missing:
        _, id, below = heapq.heappop(waiting)
        if id in missing:
            missing.discard(id)
            found.add(id)
        try:
            parents = graph.node(id).parents
        except DamagedRepository:  # such as the parents where a shallow clone ends
            continue
        for parent in parents:
            time = graph.time(parent)
            depth = below + 1 if time < oldest else 0
            if parent not in seen and depth <= ASTRAY:
                seen.add(parent)
                heapq.heappush(waiting, (-time, parent, depth))
    return frozenset(found)
