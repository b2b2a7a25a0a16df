"""What a proposal changes, section by section, with the comments where they belong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.web.diff import build_diff
from docyard.web.proposals.conversation import ThreadView, build_thread_views
from docyard.web.proposals.view import build_head

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.diff import DiffPage
    from docyard.web.page_request import PageRequest
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges

_MOST_THREADS = 300

VIEWS = {"side": "Side by side", "inline": "In one column"}
"""How changes can be looked at."""


def render_changes_page(asked: PageRequest) -> Response:
    """Return the changes of a proposal, or those of one document. Raises ProposalNotFound."""
    one = asked.workspace.proposing().find(asked.path["id"])
    changes = asked.workspace.reviewing().changes(one)
    view = asked.query.get("view", "side")
    view = view if view in VIEWS else "side"
    path = asked.query.get("path") or None
    offset = asked.query.get("offset", "")
    at = int(offset) if offset.isascii() and offset.isdigit() and len(offset) < 9 else 0
    diff = build_diff(changes, path=path, offset=at)
    within, elsewhere = _select_threads(asked, one, changes, diff)

    def link(offset: int) -> str:
        return asked.urls.proposal(one.id, "changes", view=view, path=path, offset=offset or None)

    return asked.page(
        "changes.html",
        **build_head(asked, one),
        diff=diff,
        view=view,
        views=VIEWS,
        path=path,
        ref=changes.tip,
        paths=[document.path for document in changes.documents],
        threads=within,
        elsewhere=elsewhere,
        link=link,
    )


def _select_threads(
    asked: PageRequest, one: Proposal, changes: CommitChanges, diff: DiffPage
) -> tuple[dict[tuple[str, str], list[ThreadView]], int]:
    """Return the threads of this page by path and section, and how many comments are on other places."""
    reviewing = asked.workspace.reviewing()
    shown = {(document.path, section.address) for document in diff.documents for section in document.sections}
    first = {document.path: document.sections[0].address for document in diff.documents if document.sections}
    found: dict[tuple[str, str], list[ThreadView]] = {}
    elsewhere, after = 0, 0
    while after < _MOST_THREADS:
        page = reviewing.comments(one, after=after)
        for placed in page.threads:
            place = placed.anchor or placed.thread.comment.target
            key = (place.path, place.slug or "") if place is not None else None
            if place is not None and key not in shown and place.slug is None and place.path in first:
                key = place.path, first[place.path]  # on the document: before its first section
            if key in shown:
                found.setdefault(key, []).extend(build_thread_views(asked, one, changes, [placed]))
            else:
                elsewhere += 1
        if page.next is None:
            return found, elsewhere
        after = page.next
    return found, elsewhere + len(one.content.threads) - after
