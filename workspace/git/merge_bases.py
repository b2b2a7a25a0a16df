"""Best common ancestors of two commits, as `git merge-base --all` finds them.

A best common ancestor is one that no other common ancestor descends from. There are several if two branches
were merged into each other (a criss-cross merge).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import Node, is_descendant

_ONE, _OTHER, _STALE = 1, 2, 4
_BOTH = _ONE | _OTHER


class ShallowHistory(WorkspaceError):
    """The merge bases cannot be found because the clone is shallow."""

    code: ClassVar[str] = "SHALLOW_HISTORY"

    def __init__(self) -> None:
        super().__init__(
            "this clone is shallow, and lacks the commits needed to find the merge base",
            fix="Fetch the rest with git fetch --unshallow, then try again.",
        )


class Ancestry(NamedTuple):
    """Commits that can be read by their ids; those of `boundary` have parents that are missing."""

    read: Callable[[str], Node]
    boundary: frozenset[str]


def find_best_common_ancestors(one: str, other: str, ancestry: Ancestry) -> tuple[str, ...]:
    """Return the best common ancestors of two commits, newest first; empty for unrelated histories.

    Only commits newer than the ancestors, and commits with wrong times, are read. Raises ShallowHistory
    if the result depends on commits that a shallow clone lacks.
    """
    if one == other:
        return (one,)
    common = _paint_down_to_common(one, other, ancestry)

    def is_older(id: str, rest: str) -> bool:
        return is_descendant(lambda commit: ancestry.read(commit).parents, rest, id, ancestry.boundary)

    return tuple(id for id in common if not any(is_older(id, rest) for rest in common if rest != id))


def _paint_down_to_common(one: str, other: str, ancestry: Ancestry) -> list[str]:
    """Return common ancestors, including all best ones (git: commit-reach.c, paint_down_to_common).

    Each commit passes its marks to its parents: the starts from which it was reached. Ancestors of a common
    ancestor are stale, and the walk ends when only stale commits are waiting.
    """
    marks = {one: _ONE, other: _OTHER}
    known = {id: ancestry.read(id) for id in marks}
    waiting = [(-commit.time, id) for id, commit in known.items()]
    heapq.heapify(waiting)
    open_ends = set(marks)
    common_times: dict[str, int] = {}
    boundary_reached: set[str] = set()

    def is_doubtful() -> bool:
        """Return True if a missing commit of the shallow clone may be a common ancestor."""
        return any(marks[id] & _BOTH != _BOTH for id in boundary_reached)

    # Of commits with the same time, a child may be visited after its parent.
    while open_ends or (waiting and is_doubtful()):
        _, id = heapq.heappop(waiting)
        open_ends.discard(id)
        mark = marks[id]
        if mark == _BOTH:
            common_times[id] = known[id].time
            mark |= _STALE
        if id in ancestry.boundary:
            boundary_reached.add(id)
            continue
        for parent in known[id].parents:
            if marks.get(parent, 0) & mark == mark:
                continue
            if parent not in known:
                known[parent] = ancestry.read(parent)
            marks[parent] = marks.get(parent, 0) | mark
            heapq.heappush(waiting, (-known[parent].time, parent))
            if marks[parent] & _STALE:
                open_ends.discard(parent)
            else:
                open_ends.add(parent)
    if is_doubtful():
        raise ShallowHistory
    best = [id for id in common_times if not marks[id] & _STALE]
    return sorted(best, key=lambda id: (-common_times[id], id))
