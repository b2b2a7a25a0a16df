"""The commits that a proposal brings, or brought, to its target."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.git import DamagedRepository
from workspace.history.told import told
from workspace.proposals.ancestors import reached

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.git.ancestry import Graph
    from workspace.history import Told

MOST = 100
"""Commits that are looked at."""


class ProposedCommit(NamedTuple):
    """A commit on a proposal's own line, and whether it only took in what the target had."""

    told: Told
    is_refresh: bool


def own_line(git: GitReader, graph: Graph, base: str | None, tip: str) -> tuple[ProposedCommit, ...]:
    """The first parents from a tip down to what a base holds, the newest first, 100 of them at most.

    Refreshes are among them, and what they took in is not.
    """
    line: list[tuple[str, bool]] = []
    at: str | None = tip
    while at is not None and len(line) < MOST:
        try:
            parents = graph.node(at).parents
        except DamagedRepository:  # such as the parents where a shallow clone ends
            break
        line.append((at, len(parents) > 1))
        at = parents[0] if parents else None
    had = reached(graph, base, (id for id, _ in line)) if base is not None else frozenset()
    own = []
    for id, is_refresh in line:
        if id in had:
            break
        own.append(ProposedCommit(told(git.commit(id)), is_refresh))
    return tuple(own)
