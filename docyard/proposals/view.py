"""A proposal with the state of its reviews and of its merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.wording import join_words
from workspace.proposals.approvals import VoidReason, find_void_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.proposals.actions.merge_gate import MergeRequirements
    from workspace.proposals.comments import LocatedThread
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges, ProposedCommit
    from workspace.proposals.review.overlaps import Overlap
    from workspace.proposals.review.review import Preview

VOID_REASONS = {
    VoidReason.NO_TOKEN: "given without a token, so it does not count where approvals are required",
    VoidReason.UNKNOWN_TOKEN: "given with an unknown token, so it does not count",
    VoidReason.NO_SCOPE: "given with a token that does not permit reviews, so it does not count",
    VoidReason.UNSEALED: "without a valid seal of its token, so it does not count",
    VoidReason.COPIED: "a copy of another approval, so it does not count",
    VoidReason.REPLACED: "replaced by a later review",
    VoidReason.OUTDATED: "void, since the proposal was edited after it",
    VoidReason.UNSEEN: "void, since the merge would add changes that it does not cover",
    VoidReason.NOT_APPROVER: "by a person who is not an approver of these documents, so it does not count",
    VoidReason.OWN: "on their own work, so it does not count",
    VoidReason.REWRITTEN: "void, since the branch was rewritten after it",
    VoidReason.GONE: "void, since the branch was deleted",
    VoidReason.ANSWERED: "answered: the proposal was changed and submitted again",
}
"""The reason why a review does not count, as text for people."""


class ProposalView(NamedTuple):
    """A proposal: the tip of its branch, compared with the tip of its target.

    `merge_requirements` contains the blockers of a merge. `commits` are the commits that a merge would add,
    newest first. `threads` are the comments at the requested address.
    """

    proposal: Proposal
    changes: CommitChanges
    preview: Preview
    merge_requirements: MergeRequirements
    overlaps: Sequence[Overlap]
    commits: Sequence[ProposedCommit]
    threads: Sequence[LocatedThread]


def describe_needed_token(view: ProposalView) -> str | None:
    """Return a description of the token that a merge needs; None if a merge needs no token."""
    requirements = view.merge_requirements.requirements
    if not requirements:
        return None
    name_lists = [requirement.may_merge for requirement in requirements if requirement.may_merge]
    if not name_lists:
        return "a person's token"
    allowed_names = [name for name in name_lists[0] if all(name in names for names in name_lists)]
    return (
        f"the token of {join_words(allowed_names, 'or')}"
        if allowed_names
        else "a token that every rule allows, and no person has one"
    )


def list_unknown_tokens(view: ProposalView) -> list[str]:
    """Return the names of tokens whose approvals are missing or do not count, because they are unknown here.

    No clone transfers tokens, so `docyard tokens trust` may be needed for each.
    """
    requirements = view.merge_requirements.requirements
    names = [
        name
        for requirement in requirements
        if len(requirement.approved_by) < requirement.approvals_needed
        for name in requirement.unknown
        if name in requirement.approvers
    ]
    names += [
        status.review.author.label
        for status in view.proposal.reviews
        if find_void_reason(status, view.merge_requirements.void_reasons) is VoidReason.UNKNOWN_TOKEN
    ]
    return [name for name in dict.fromkeys(names) if name]


def count_comments(proposal: Proposal) -> int:
    """Return the number of comments, with their replies."""
    return sum(1 + len(thread.replies) for thread in proposal.content.threads)
