"""The change requests that a submission does not address.

A change request is not addressed if its commit differs from the tip only by refreshes without a resolved
conflict.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.git.ancestry import walk_first_parents
from workspace.git.messages import REFRESH_TRAILER, RESOLVED_TRAILER, read_trailers
from workspace.proposals.events import MAX_COMMITS, ReviewDecision

if TYPE_CHECKING:
    from workspace.git.reader import GitReader
    from workspace.proposals.proposal import Proposal

_MAX_REFRESHES = 10_000  # the maximum number of consecutive refreshes


def find_open_change_requests(git: GitReader, proposal: Proposal) -> tuple[str, ...] | None:
    """Return the commits of change requests from which the proposal's tip differs by refreshes alone.

    Return at most the last 50 commits, and None if there are no such commits.
    """
    tip = proposal.tip
    requests = dict.fromkeys(
        review.commit
        for review in proposal.content.reviews
        if review.verdict is ReviewDecision.REQUEST_CHANGES and review.commit != tip
    )
    if tip is None or not requests:
        return None
    target = git.tip(proposal.content.target)
    content_commit = _find_content_commit(git, proposal, tip, target)
    unaddressed_commits = [
        commit for commit in requests if _find_content_commit(git, proposal, commit, target) == content_commit
    ]
    return tuple(unaddressed_commits[-MAX_COMMITS:]) or None


def _find_content_commit(git: GitReader, proposal: Proposal, commit: str, target: str | None) -> str | None:
    """Return the first commit with the content of `commit`; return None if the target has that content."""
    content_commit = commit
    try:
        for candidate in walk_first_parents(git.commit, git.boundary, commit, max_commits=_MAX_REFRESHES):
            trailers = read_trailers(candidate.message)
            is_plain_refresh = (
                trailers.get(REFRESH_TRAILER) == proposal.id and RESOLVED_TRAILER not in trailers
            )
            if not is_plain_refresh or len(candidate.parents) < 2:
                break
            content_commit = candidate.parents[0]
        return (
            None
            if target is not None and content_commit in git.merge_bases(target, content_commit)
            else content_commit
        )
    except WorkspaceError:  # for example, a rebase removed the commit, or a shallow clone does not have it
        return content_commit
