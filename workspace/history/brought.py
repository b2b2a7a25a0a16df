"""Which proposal brought a commit that does not say so itself, as one that a person made on its branch.

It is told by the merge commit on the way of first parents with which the commit came, and by its trailer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workspace.history.told import told

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from workspace.git import GitReader
    from workspace.git.ancestry import Graph
    from workspace.history.commits import Change

DISCUSSION = "docyard/discussion"
"""Where what is said of proposals is kept (`workspace.proposals`): without it, there was none."""

_MOST = 20_000  # commits that are looked at; what came before them is not told


def with_proposals(changes: Sequence[Change], git: GitReader, graph: Graph, tip: str) -> tuple[Change, ...]:
    """The changes, found from a tip backward, each with the proposal that brought its commit."""
    silent = {change.commit for change in changes if change.proposal is None}
    if not silent or not any(git.find_object(name) for name in (DISCUSSION, f"origin/{DISCUSSION}")):
        return tuple(changes)
    merges = _merges(graph, tip, silent)
    said = {merge: told(git.commit(merge)).proposal for merge in {*merges.values()}}
    return tuple(
        replace(change, told=replace(change.told, proposal=said[merges[change.commit]]))
        if change.commit in merges
        else change
        for change in changes
    )


def _merges(graph: Graph, tip: str, wanted: Collection[str]) -> Mapping[str, str]:
    """The first merge on the way of first parents that had each of some commits, unless they are on it."""
    since = min(graph.time(commit) for commit in wanted)
    line = graph.first_parents(tip, most=_MOST, since=since)
    seen = {node.id for node in line}
    found: dict[str, str] = {}
    for merge in reversed(line):
        for node in graph.ancestors(merge.parents[1:], seen=seen, since=since, most=2 * _MOST):
            if node.id in wanted:
                found[node.id] = merge.id
    return found
