"""The right of the caller to approve a proposal, which an author of it does not have.

The person who applies a suggestion or decides a conflict becomes an author. The forms of the conversation, of
the changes and of the conflicts ask before this. The answer to the question about conflicts is the field
`as_author`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.caller import may_review

if TYPE_CHECKING:
    from docyard.web.page_request import PageRequest
    from workspace.proposals.proposal import Proposal


def is_author(request: PageRequest, proposal: Proposal) -> bool:
    """Return True if the caller is a person who is an author of an open proposal."""
    return (
        request.caller.person is not None
        and proposal.is_open
        and request.workspace.proposal_reviews().is_author(proposal, request.actor.event_author)
    )


def would_lose_approval(request: PageRequest, proposal: Proposal) -> bool:
    """Return True if the caller may approve an open proposal now, and could not as an author of it."""
    return (
        request.caller.person is not None
        and may_review(request.caller)
        and proposal.is_open
        and not is_author(request, proposal)
    )
