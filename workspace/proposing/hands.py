"""Who wrote the commits of a proposal, so that nobody approves what is their own."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from workspace.git import DamagedRepository
from workspace.messages import read_trailers
from workspace.proposals.ancestors import reached
from workspace.writing import HAND, PERSON

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.git.ancestry import Graph
    from workspace.objects import Commit

_CLIENT = "Docyard-Client"
_MOST = 50_000  # commits of a proposal that are looked at


def own_hands(git: GitReader, graph: Graph, tip: str, target: str) -> frozenset[str]:
    """The e-mail addresses, in lower case, of who wrote the commits that `tip` has and `target` has not.

    What a client wrote is in the name of whoever runs it, who may not have seen it: it counts only where a
    token has proved the author. Who amended it, or took it over with git-rebase, has it in hand.
    """
    found = set()
    for id in _between(graph, tip, target):
        commit = git.commit(id)
        if not _is_of_client(commit):
            found |= {commit.author.email.casefold(), commit.committer.email.casefold()}
    return frozenset(found)


def _is_of_client(commit: Commit) -> bool:
    """Whether a commit is as a client made it: Git keeps the words, and the author, of what it makes anew."""
    trailers = read_trailers(commit.message)
    is_told = _CLIENT in trailers and not {PERSON, HAND} & trailers.keys()
    return is_told and commit.author == commit.committer


def _between(graph: Graph, tip: str, target: str) -> set[str]:
    """The commits that a tip has and a target has not (git-rev-list `tip ^target`)."""
    theirs = {target}
    own: set[str] = set()
    known = {tip, target}
    waiting = [(-graph.time(id), id) for id in known]
    heapq.heapify(waiting)
    open_ends = known - theirs
    while open_ends and len(own) < _MOST:
        _, id = heapq.heappop(waiting)
        open_ends.discard(id)
        is_theirs = id in theirs
        if not is_theirs:
            own.add(id)
        try:
            parents = graph.node(id).parents
        except DamagedRepository:  # such as the parents where a shallow clone ends
            continue
        for parent in parents:
            if is_theirs and parent not in theirs:
                theirs.add(parent)
                open_ends.discard(parent)
            if parent not in known:
                known.add(parent)
                heapq.heappush(waiting, (-graph.time(parent), parent))
                if not is_theirs:
                    open_ends.add(parent)
    # A clock that lied may have let one pass before the target's way to it was seen.
    return own - theirs - reached(graph, target, own)
