"""One proposal for who is to review it: what it is, what is missing to merge, and what is said of it."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.forges.relay import find_link
from docyard.proposals.view import ProposalView, describe_needed_token
from docyard.web.diff import build_diff
from docyard.web.proposals.conversation import build_conversation, render_text
from docyard.wording import format_author
from workspace.history.commits import describe_commit
from workspace.proposals.actions.merge_gate import find_blocker_for_actor
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review.changes import MOST as LOOKED_AT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.history.commits import CommitInfo
    from workspace.merge.trees import FileConflict
    from workspace.proposals.proposal import Proposal

_MOST_COMMITS = 20
_MOST_OVERLAPS = 10
_MOST_DOCUMENTS = 50
_GLANCE = 3  # sections whose changes the conversation begins with
_GLANCED = 1_500  # characters of each of them


class MergeStatus(NamedTuple):
    """The answer to "may the viewer merge now?", with sentences for what is missing.

    `needs_token` is whose token the merge itself needs, where that is not the caller's.
    """

    is_ready: bool
    missing: tuple[str, ...]
    needs_token: str


def render_proposal_page(asked: PageRequest) -> Response:
    """Return the page of a proposal. Raises ProposalNotFound."""
    one = asked.workspace.proposing().find(asked.path["id"])
    if one.id != asked.path["id"]:
        return asked.redirect(asked.urls.proposal(one.id))
    view = load_view(asked, one)
    first = asked.query.get("from", "")
    talk = build_conversation(
        asked,
        one,
        view.changes,
        view.merge_requirements.void_reasons,
        int(first) if first.isascii() and first.isdigit() and len(first) < 7 else None,
    )
    return asked.page(
        "proposal.html",
        **build_head(asked, one),
        view=view,
        talk=talk,
        glance=build_diff(view.changes, max_sections=_GLANCE, max_change_chars=_GLANCED),
        unreviewed=build_diff(view.merge_requirements.unreviewed, id_prefix="unreviewed-")
        if view.merge_requirements.unreviewed is not None
        else None,
        ref=view.changes.tip,
        merging=build_merge_status(asked, view),
        merged_by=_merged_by(asked, one),
        conflicted=_paths(view.preview.conflicts),
        description=render_text(asked, one.content.description) if one.content.description else None,
        most_commits=_MOST_COMMITS,
        looked_at=LOOKED_AT,
        most_overlaps=_MOST_OVERLAPS,
        most_documents=_MOST_DOCUMENTS,
    )


def load_view(asked: PageRequest, one: Proposal) -> ProposalView:
    """Return all that is known of a proposal at its tip and its target's, but for what is said of it."""
    proposing, reviewing = asked.workspace.proposing(), asked.workspace.reviewing()
    preview = reviewing.preview(one)
    return ProposalView(
        one,
        reviewing.changes(one),
        preview,
        proposing.find_merge_blockers(one, preview),
        reviewing.overlaps(one, asked.proposals) if one.is_open else (),
        reviewing.commits(one),
        (),
    )


def build_head(asked: PageRequest, one: Proposal) -> Mapping[str, Any]:
    """Return what all pages of a proposal begin with, and what their forms carry."""
    return {
        "one": one,
        "author": format_author(one.content.author),
        "who": format_author,
        "state_tags": STATE_TAGS,
        "new_key": new_key,
        "seen_words": digest_text(one),
        "pull_request": find_link(asked.workspace.proposing().list_events(one)),
        "is_own": asked.caller.person is not None and one.content.author.is_same(asked.actor.event_author),
        "may_decide": asked.may_write and one.is_open,
    }


def new_key() -> str:
    """Return a key for one form: sent twice, what it asks for is done once."""
    return secrets.token_hex(16)


def digest_text(one: Proposal) -> str:
    """Return what tells whether a title and description are still those that somebody began to edit."""
    named = f"{one.content.title}\n{one.content.description}"
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


STATE_TAGS = {
    ProposalState.DRAFT: ("Draft", ""),
    ProposalState.OPEN: ("Open", "good"),
    ProposalState.CHANGES_REQUESTED: ("Changes requested", "warn"),
    ProposalState.APPROVED: ("Approved", "good"),
    ProposalState.MERGED: ("Merged", "merged"),
    ProposalState.CLOSED: ("Closed", "bad"),
    ProposalState.GONE: ("Branch gone", "bad"),
}
"""How a state is called, and the class of its tag."""


def build_merge_status(asked: PageRequest, view: ProposalView) -> MergeStatus:
    """Return what stands between the caller and the merge."""
    person = asked.caller.person
    missing = [block.message for block in view.merge_requirements.blockers if not block.only_clients]
    needs_token = ""
    if not missing and view.merge_requirements.evaluation is not None:
        block = find_blocker_for_actor(view.merge_requirements.evaluation, person, is_client=False)
        if block is not None:
            needs_token = describe_needed_token(view) or "a person's token"
    is_ready = view.proposal.is_open and asked.may_write and not missing and not needs_token
    return MergeStatus(is_ready, tuple(missing), needs_token)


def _merged_by(asked: PageRequest, one: Proposal) -> CommitInfo | None:
    """Return what the merge commit records; None if there is none, or this clone lacks it."""
    commit = one.merge_record.commit if one.merge_record is not None else None
    if commit is None or not asked.workspace.exists(commit):
        return None
    return describe_commit(asked.workspace.git.commit(commit))


def _paths(conflicts: tuple[FileConflict, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(found.path for found in conflicts))
