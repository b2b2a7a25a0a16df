"""Who wrote the commits of a proposal, so that nobody approves what is their own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.git.ancestry import commits_between
from workspace.git.messages import read_trailers
from workspace.writing.write import HAND, PERSON

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.git.ancestry import Graph
    from workspace.git.objects import Commit

_CLIENT = "Docyard-Client"
_MOST = 50_000  # commits of a proposal that are looked at


def own_hands(git: GitReader, graph: Graph, tip: str, target: str) -> frozenset[str]:
    """The e-mail addresses, in lower case, of who wrote the commits that `tip` has and `target` has not.

    What a client wrote is in the name of whoever runs it, who may not have seen it: it counts only where a
    token has proved the author. Who amended it, or took it over with git-rebase, has it in hand.
    """
    found = set()
    for id in commits_between(graph, tip, target, most=_MOST)[0]:
        commit = git.commit(id)
        if not _is_of_client(commit):
            found |= {commit.author.email.casefold(), commit.committer.email.casefold()}
    return frozenset(found)


def _is_of_client(commit: Commit) -> bool:
    """Whether a commit is as a client made it: Git keeps the words, and the author, of what it makes anew."""
    trailers = read_trailers(commit.message)
    is_told = _CLIENT in trailers and not {PERSON, HAND} & trailers.keys()
    return is_told and commit.author == commit.committer
