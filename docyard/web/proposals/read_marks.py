"""The marks of the proposals that a browser has shown, in a cookie of the browser.

A mark is the id of a proposal and a digest of its last event and its commit, so that a proposal is unread
again after a change. The marks prove nothing: they belong to the browser and not to a person, and no
approval, rule or notification reads them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from workspace.proposal_ids import is_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.proposals.proposal import Proposal

COOKIE_NAME = "docyard_read_proposals"
COOKIE_PATH = "/proposals"
MAX_MARKS = 200
"""The maximum number of marks; browsers ignore cookies over 4,096 bytes (RFC 6265 §6.1)."""

_ID_LENGTH, _DIGEST_LENGTH = 8, 6
_SEPARATOR = "."
_MAX_AGE_S = 180 * 86_400


def read_marks(cookies: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of the proposals that the browser has shown by their ids, the oldest first.

    Values that are not marks are ignored.
    """
    length = _ID_LENGTH + _DIGEST_LENGTH
    marks = cookies.get(COOKIE_NAME, "")[: MAX_MARKS * (length + len(_SEPARATOR))].split(_SEPARATOR)
    return {
        mark[:_ID_LENGTH]: mark[_ID_LENGTH:]
        for mark in marks
        if len(mark) == length and mark.isascii() and mark.isalnum() and is_id(mark[:_ID_LENGTH])
    }


def is_unread(proposal: Proposal, marks: Mapping[str, str]) -> bool:
    """Return True if the browser has not shown an open proposal since its last change."""
    return proposal.is_open and marks.get(proposal.id) != _digest(proposal)


def mark_as_read(request: PageRequest, proposal: Proposal, response: Response) -> Response:
    """Add the mark of a shown proposal to the browser's cookie. Return the response."""
    return _add_marks(request, [proposal], response)


def mark_all_as_read(request: PageRequest, response: Response) -> Response:
    """Add the marks of the open proposals to the browser's cookie. Return the response.

    If there are more than MAX_MARKS, those that changed last are marked.
    """
    proposals = sorted(request.proposals, key=lambda proposal: proposal.content.updated_at)
    return _add_marks(request, [proposal for proposal in proposals if proposal.is_open], response)


def _add_marks(request: PageRequest, proposals: Sequence[Proposal], response: Response) -> Response:
    """Add the marks of proposals.

    Marks of ended proposals of this repository are removed. Marks of other repositories stay, because the
    servers of one host share their cookies. The least recently shown proposals are removed first.
    """
    marks = read_marks(request.cookies)
    ended_ids = {other.id for other in request.proposals if not other.is_open} & marks.keys()
    replaced_ids = ended_ids | {proposal.id for proposal in proposals}
    new_marks = {id: digest for id, digest in marks.items() if id not in replaced_ids}
    new_marks |= {proposal.id: _digest(proposal) for proposal in proposals if proposal.is_open}
    items = list(new_marks.items())[-MAX_MARKS:]
    if items != list(marks.items()):
        response.set_cookie(
            COOKIE_NAME,
            _SEPARATOR.join(f"{id}{digest}" for id, digest in items),
            max_age=_MAX_AGE_S,
            path=COOKIE_PATH,
            httponly=True,
            samesite="lax",
        )
    return response


def _digest(proposal: Proposal) -> str:
    text = f"{proposal.content.updated_at.isoformat()} {proposal.tip}"
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_LENGTH]
