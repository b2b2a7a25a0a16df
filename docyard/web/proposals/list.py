"""The list of proposals: those in a state, the last one first, 50 on a page."""

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

PAGE = 50
"""Proposals of one page."""

STATES = {
    "open": "In work",
    "draft": "Drafts",
    "merged": "Merged",
    "closed": "Closed",
    "all": "All",
}
"""What can be listed, and how it is called."""


class ProposalEntry(NamedTuple):
    """A proposal in the list. `documents` is how many paths differ; None where nobody can tell."""

    proposal: Proposal
    author: str
    comments: int
    documents: int | None
    approved_by: tuple[str, ...]
    asked_by: tuple[str, ...]


def render_proposals_page(asked: PageRequest) -> Response:
    """Return the list in a state that the query names, from its page on.

    Only what is shown is looked into.
    """
    state = asked.query.get("state", "open")
    state = state if state in STATES else "open"
    every = asked.proposals
    found = select_by_state(every, state)
    last = max(1, -(-len(found) // PAGE))
    page = min(max(1, _number(asked.query.get("page", ""))), last)
    shown = [_entry(asked, one) for one in found[(page - 1) * PAGE : page * PAGE]]
    counts = {name: len(select_by_state(every, name)) for name in STATES}
    return asked.page(
        "proposals.html",
        states=STATES,
        state=state,
        counts=counts,
        entries=shown,
        state_tags=STATE_TAGS,
        page=page,
        last=last,
    )


def select_by_state(proposals: Sequence[Proposal], state: str) -> list[Proposal]:
    """Return those in a state: all that have not ended are in work, and a branch that is gone is closed."""
    match state:
        case "open":
            return [one for one in proposals if one.is_open]
        case "closed":
            return [one for one in proposals if one.state in (ProposalState.CLOSED, ProposalState.GONE)]
        case "all":
            return list(proposals)
        case _:
            return [one for one in proposals if one.state.value == state]


def _entry(asked: PageRequest, one: Proposal) -> ProposalEntry:
    try:
        documents: int | None = len(asked.workspace.reviewing().paths(one))
    except WorkspaceError:  # such as a commit that a shallow clone does not have
        documents = None
    asking = [format_author(bound.review.author) for bound in one.reviews if bound.requests_changes]
    approving = [format_author(review.author) for review in one.approvals]
    return ProposalEntry(
        one,
        format_author(one.content.author),
        count_comments(one),
        documents,
        tuple(dict.fromkeys(approving)),
        tuple(dict.fromkeys(asking)),
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1
