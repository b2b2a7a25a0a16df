"""Best common ancestors of two commits, as `git merge-base --all` finds them.

A best common ancestor is a common ancestor from which no other common ancestor descends. There are several if
two branches were merged into each other (a criss-cross merge).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import Node, is_descendant

_FROM_LEFT, _FROM_RIGHT, _STALE = 1, 2, 4
_FROM_BOTH = _FROM_LEFT | _FROM_RIGHT


class ShallowHistory(WorkspaceError):
    """An error: the merge bases cannot be found because the clone is shallow."""

    code: ClassVar[str] = "SHALLOW_HISTORY"

    def __init__(self) -> None:
        super().__init__(
            "this clone is shallow, and lacks commits that are needed to find the merge base",
            fix="Fetch the rest with git fetch --unshallow, then try again.",
        )


class Ancestry(NamedTuple):
    """Commits that can be read by their ids; the parents of the commits in `boundary` are missing."""

    read: Callable[[str], Node]
    boundary: frozenset[str]


def find_best_common_ancestors(left: str, right: str, ancestry: Ancestry) -> tuple[str, ...]:
    """Return the best common ancestors of two commits, newest first; empty for unrelated histories.

    Only commits that are newer than the result, or that have wrong times, are read. Raises ShallowHistory
    if the result depends on commits that a shallow clone lacks.
    """
    if left == right:
        return (left,)
    common_ids = _paint_down_to_common(left, right, ancestry)

    def is_ancestor(id: str, descendant: str) -> bool:
        return is_descendant(lambda commit: ancestry.read(commit).parents, descendant, id, ancestry.boundary)

    return tuple(
        id
        for id in common_ids
        if not any(is_ancestor(id, descendant) for descendant in common_ids if descendant != id)
    )


def _paint_down_to_common(left: str, right: str, ancestry: Ancestry) -> list[str]:
    """Return common ancestors, including all best ones (git: commit-reach.c, paint_down_to_common).

    Each commit has marks for the starts from which it was reached, and passes them to its parents. Ancestors
    of a common ancestor are stale, and the walk ends when only stale commits are in the queue.
    """
    marks = {left: _FROM_LEFT, right: _FROM_RIGHT}
    nodes = {id: ancestry.read(id) for id in marks}
    queue = [(-commit.time, id) for id, commit in nodes.items()]
    heapq.heapify(queue)
    active_ids = set(marks)
    common_times: dict[str, int] = {}
    reached_boundary_ids: set[str] = set()

    def may_lack_common_ancestor() -> bool:
        """Return True if a missing commit of the shallow clone may be a common ancestor."""
        return any(marks[id] & _FROM_BOTH != _FROM_BOTH for id in reached_boundary_ids)

    # Of commits with the same time, a child may be visited after its parent.
    while active_ids or (queue and may_lack_common_ancestor()):
        _, id = heapq.heappop(queue)
        active_ids.discard(id)
        mark = marks[id]
        if mark == _FROM_BOTH:
            common_times[id] = nodes[id].time
            mark |= _STALE
        if id in ancestry.boundary:
            reached_boundary_ids.add(id)
            continue
        for parent in nodes[id].parents:
            if marks.get(parent, 0) & mark == mark:
                continue
            if parent not in nodes:
                nodes[parent] = ancestry.read(parent)
            marks[parent] = marks.get(parent, 0) | mark
            heapq.heappush(queue, (-nodes[parent].time, parent))
            if marks[parent] & _STALE:
                active_ids.discard(parent)
            else:
                active_ids.add(parent)
    if may_lack_common_ancestor():
        raise ShallowHistory
    best_ids = [id for id in common_times if not marks[id] & _STALE]
    return sorted(best_ids, key=lambda id: (-common_times[id], id))
