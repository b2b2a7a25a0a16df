"""What is known of a proposal, and what its reviews and its merge lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.wording import join_words
from workspace.proposals.approvals import VoidReason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.proposals.actions.merge_gate import MergeRequirements
    from workspace.proposals.comments import AnchoredThread
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges, ProposedCommit
    from workspace.proposals.review.overlaps import Overlap
    from workspace.proposals.review.review import Preview

VOID_REASONS = {
    VoidReason.NO_TOKEN: "given without a token, so it does not count where approvals are demanded",
    VoidReason.UNKNOWN_TOKEN: "given with a token that is not known here, so it does not count",
    VoidReason.UNSEALED: "not proven by its token, so it does not count",
    VoidReason.COPIED: "a copy of another approval, so it does not count",
    VoidReason.REPLACED: "replaced by a later review",
    VoidReason.OUTDATED: "void, since the proposal was edited after it",
    VoidReason.UNSEEN: "void, since the merge would bring changes that it does not cover",
    VoidReason.OWN: "on their own work, so it does not count",
    VoidReason.REWRITTEN: "void, since the branch was rewritten after it",
    VoidReason.GONE: "void, since the branch is gone",
    VoidReason.ANSWERED: "answered",
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
    merge_requirements: MergeRequirements
    overlaps: Sequence[Overlap]
    commits: Sequence[ProposedCommit]
    threads: Sequence[AnchoredThread]


def describe_needed_token(view: ProposalView) -> str | None:
    """Return whose token a merge needs: of some people, or of any; None where it needs none."""
    demands = view.merge_requirements.requirements
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
    return sum(1 + len(thread.replies) for thread in one.content.threads)
