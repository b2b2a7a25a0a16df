"""Which requests for changes a submission leaves unanswered: those of the same words.

What a refresh brings from the target is not the proposal's. So a commit of a refresh that nobody had to
decide stands for the commit before it, and one that the target holds for no words at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.git.ancestry import first_parents
from workspace.git.messages import read_trailers
from workspace.proposals.events import Verdict
from workspace.proposals.fields import MAX_COMMITS
from workspace.proposals.landing import REFRESH

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.proposals.proposal import Proposal

DECIDED = "Docyard-Decided"
"""The trailer of a refresh by which conflicts were decided: how many."""

_MOST = 10_000  # refreshes in a row


def unanswered(git: GitReader, proposal: Proposal) -> tuple[str, ...] | None:
    """The commits at which changes are asked for, and which differ from a proposal's tip by refreshes alone.

    None where there is none; the last 50 at most.
    """
    tip = proposal.tip
    asked = dict.fromkeys(
        review.commit
        for review in proposal.words.reviews
        if review.verdict is Verdict.REQUEST_CHANGES and review.commit != tip
    )
    if tip is None or not asked:
        return None
    target = git.tip(proposal.words.target)
    words = _words_of(git, proposal, tip, target)
    same = [commit for commit in asked if _words_of(git, proposal, commit, target) == words]
    return tuple(same[-MAX_COMMITS:]) or None


def _words_of(git: GitReader, proposal: Proposal, commit: str, target: str | None) -> str | None:
    """The commit that has the proposal's words as they are at another; None where the target has it."""
    at = commit
    try:
        for found in first_parents(git.commit, git.boundary, commit, most=_MOST):
            trailers = read_trailers(found.message)
            is_plain = trailers.get(REFRESH) == proposal.id and DECIDED not in trailers
            if not is_plain or len(found.parents) < 2:
                break
            at = found.parents[0]
        return None if target is not None and at in git.merge_bases(target, at) else at
    except WorkspaceError:  # such as a commit that a rewritten branch had, or that a shallow clone lacks
        return at
