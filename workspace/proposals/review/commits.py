"""The commits that a proposal brings, or brought, to its target."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.ancestry import reached
from workspace.history.told import told

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
    line = graph.first_parents(tip, most=MOST)
    had = reached(graph, base, (node.id for node in line)) if base is not None else frozenset()
    own = takewhile(lambda node: node.id not in had, line)
    return tuple(ProposedCommit(told(git.commit(node.id)), len(node.parents) > 1) for node in own)
