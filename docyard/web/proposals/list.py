"""The list of the proposals in a state: the newest first, on pages of 50 proposals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.proposals.view import count_comments
from docyard.web.proposals.view import STATE_TAGS
from docyard.wording import format_author
from workspace.errors import WorkspaceError
from workspace.proposals.proposal import ProposalState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.proposals.proposal import Proposal

PROPOSALS_PER_PAGE = 50
"""The number of proposals on one page."""

STATES = {
    "open": "In work",
    "draft": "Drafts",
    "merged": "Merged",
    "closed": "Closed",
    "all": "All",
}
"""The filters of the list, with their labels."""


class ProposalEntry(NamedTuple):
    """A proposal in the list. `document_count` is the number of changed paths; None if it is unknown."""

    proposal: Proposal
    author: str
    comment_count: int
    document_count: int | None
    approved_by: tuple[str, ...]
    changes_requested_by: tuple[str, ...]


def render_proposals_page(request: PageRequest) -> Response:
    """Return a page of the proposals in the state that the query names.

    Only the proposals on the page are compared with their targets.
    """
    state = request.query.get("state", "open")
    state = state if state in STATES else "open"
    all_proposals = request.proposals
    selected_proposals = select_by_state(all_proposals, state)
    page = request.select_page(selected_proposals, PROPOSALS_PER_PAGE)
    counts = {name: len(select_by_state(all_proposals, name)) for name in STATES}
    return request.page(
        "proposals.html",
        states=STATES,
        state=state,
        counts=counts,
        entries=[_build_entry(request, proposal) for proposal in page.items],
        state_tags=STATE_TAGS,
        page=page.number,
        last_page=page.last_number,
    )


def select_by_state(proposals: Sequence[Proposal], state: str) -> list[Proposal]:
    """Return the proposals in a state: "open" includes drafts, and "closed" those with a deleted branch."""
    match state:
        case "open":
            return [proposal for proposal in proposals if proposal.is_open]
        case "closed":
            return [
                proposal
                for proposal in proposals
                if proposal.state in (ProposalState.CLOSED, ProposalState.GONE)
            ]
        case "all":
            return list(proposals)
        case _:
            return [proposal for proposal in proposals if proposal.state.value == state]


def _build_entry(request: PageRequest, proposal: Proposal) -> ProposalEntry:
    try:
        document_count: int | None = len(request.workspace.proposal_reviews().changed_paths(proposal))
    except WorkspaceError:  # such as a commit that a shallow clone lacks
        document_count = None
    requesters = [
        format_author(review_status.review.author)
        for review_status in proposal.reviews
        if review_status.requests_changes
    ]
    approvers = [format_author(review.author) for review in proposal.approvals]
    return ProposalEntry(
        proposal,
        format_author(proposal.content.author),
        count_comments(proposal),
        document_count,
        tuple(dict.fromkeys(approvers)),
        tuple(dict.fromkeys(requesters)),
    )
