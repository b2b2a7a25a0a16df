"""What is known of a proposal, and what its reviews and its merge lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.wording import join_words
from workspace.proposals.approvals import Void

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.proposals.actions.merge_gate import MergeRequirements
    from workspace.proposals.comments import PlacedThread
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges, ProposedCommit
    from workspace.proposals.review.overlaps import Overlap
    from workspace.proposals.review.review import Preview

VOID = {
    Void.NO_TOKEN: "given without a token, so it does not count where approvals are demanded",
    Void.UNKNOWN_TOKEN: "given with a token that is not known here, so it does not count",
    Void.UNSEALED: "not proven by its token, so it does not count",
    Void.COPIED: "a copy of another approval, so it does not count",
    Void.REPLACED: "replaced by a later review",
    Void.OUTDATED: "void, since the proposal was edited after it",
    Void.UNSEEN: "void, since the merge would bring changes that it does not cover",
    Void.OWN: "on their own work, so it does not count",
    Void.REWRITTEN: "void, since the branch was rewritten after it",
    Void.GONE: "void, since the branch is gone",
    Void.ANSWERED: "answered",
}
"""Why a review does not hold, as people say it."""


class ProposalView(NamedTuple):
    """A proposal, and what is known of it at its tip and at its target's.

    `lacking` is what stands in the way of a merge. `commits` are those that it would bring, the newest first,
    and `threads` those of the place that was asked for.
    """

    proposal: Proposal
    changes: CommitChanges
    preview: Preview
    lacking: MergeRequirements
    overlaps: Sequence[Overlap]
    commits: Sequence[ProposedCommit]
    threads: Sequence[PlacedThread]


def describe_needed_token(view: ProposalView) -> str | None:
    """Return whose token a merge needs: of some people, or of any; None where it needs none."""
    demands = view.lacking.demands
    if not demands:
        return None
    named = [demand.may_merge for demand in demands if demand.may_merge]
    if not named:
        return "a person's token"
    allowed = [name for name in named[0] if all(name in others for others in named)]
    return (
        f"the token of {join_words(allowed, 'or')}"
        if allowed
        else "a token that each of the rules allows, and there is none"
    )


def count_comments(one: Proposal) -> int:
    """Return how many comments there are, answers too."""
    return sum(1 + len(thread.replies) for thread in one.words.threads)
