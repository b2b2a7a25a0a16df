"""The page of a proposal: its description, the status of its merge, and its conversation."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.caller import may_review
from docyard.forges.event_conversion import find_pull_request_url
from docyard.proposals.list import build_entries
from docyard.proposals.view import ProposalView, describe_needed_token
from docyard.web.diff.diff import build_diff, list_other_documents
from docyard.web.diff.views import RENDERED, ViewLimits, build_view, finish_page
from docyard.web.proposals.authorship import is_author
from docyard.web.proposals.conversation import build_conversation, render_discussion_text
from docyard.web.proposals.read_marks import mark_as_read
from docyard.wording import format_author
from workspace.diff.changes import DocumentChangeKind
from workspace.history.commits import describe_commit
from workspace.proposals.actions.merge_gate import find_blocker_for_actor
from workspace.proposals.proposal import ProposalState
from workspace.proposals.review.changes import MAX_LISTED_COMMITS
from workspace.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from docyard.proposals.list import ProposalEntry
    from docyard.web.diff.diff import DiffPage
    from docyard.web.page_request import PageRequest
    from workspace.history.commits import CommitInfo
    from workspace.merge.trees import FileConflict
    from workspace.proposals.proposal import Proposal
    from workspace.proposals.review.changes import CommitChanges

_MAX_COMMITS = 20
_MAX_OVERLAPS = 10
_MAX_OPEN_THREADS = 5
_MAX_GROUPED_COMMITS = 5  # commits of one entry of the conversation
_MAX_DOCUMENTS = 50
_MAX_DECISIONS = 20  # resolved conflicts of one entry of the conversation
_MAX_OTHER_DOCUMENTS = 10  # documents whose sections are not shown above the conversation

# The changed sections above the conversation.
_FIRST_CHANGES = ViewLimits(max_sections=3, max_section_bytes=3_000, max_change_chars=1_500)


class MergeStatus(NamedTuple):
    """The status of a merge by the caller, with a sentence for each missing requirement.

    `needed_token` describes the token that the merge needs; empty if the caller's token is enough.
    `lacks_scope` is True if the token of the caller only lacks the scope of reviews.
    """

    is_ready: bool
    missing_requirements: tuple[str, ...]
    needed_token: str
    lacks_scope: bool


def render_proposal_page(request: PageRequest) -> Response:
    """Return the page of a proposal. Raises ProposalNotFound."""
    proposal = request.workspace.proposal_actions().find(request.path_params["id"])
    if proposal.id != request.path_params["id"]:
        return request.redirect(request.urls.proposal(proposal.id))
    view = load_view(request, proposal)
    first_index = request.query.get("from", "")
    conversation = build_conversation(
        request,
        proposal,
        view.changes,
        view.commits,
        view.merge_requirements.void_reasons,
        int(first_index)
        if first_index.isascii() and first_index.isdigit() and len(first_index) < 7
        else None,
    )
    first_changes, diagrams = _build_first_changes(request, view.changes)
    page = request.page(
        "proposal.html",
        **build_common_variables(request, proposal),
        view=view,
        conversation=conversation,
        first_changes=first_changes,
        diagrams=diagrams,
        unreviewed=build_diff(view.merge_requirements.unreviewed_changes, id_prefix="unreviewed-")
        if view.merge_requirements.unreviewed_changes is not None
        else None,
        ref=view.changes.tip,
        merge_status=build_merge_status(request, view),
        reviews=_read_reviews(request, proposal) if proposal.is_open else None,
        merge_commit=_describe_merge_commit(request, proposal),
        conflict_paths=_list_conflict_paths(view.preview.conflicts),
        description=render_discussion_text(request, proposal.content.description)
        if proposal.content.description
        else None,
        max_commits=_MAX_COMMITS,
        max_listed_commits=MAX_LISTED_COMMITS,
        max_overlaps=_MAX_OVERLAPS,
        max_threads=_MAX_OPEN_THREADS,
        max_grouped_commits=_MAX_GROUPED_COMMITS,
        max_documents=_MAX_DOCUMENTS,
        max_decisions=_MAX_DECISIONS,
    )
    return mark_as_read(request, proposal, finish_page(request, page, diagrams))


def _build_first_changes(request: PageRequest, changes: CommitChanges) -> tuple[DiffPage, str]:
    """Return the first changed sections as readers see them, and the other documents without sections.

    The second value is the URL of the frame for diagrams, or "".
    """
    first_changes, diagrams = build_view(
        request, RENDERED, _move_edits_first(changes), read_versions(request, changes), limits=_FIRST_CHANGES
    )
    others = list_other_documents(changes, first_changes.documents, _MAX_OTHER_DOCUMENTS)
    return first_changes._replace(documents=(*first_changes.documents, *others)), diagrams


def read_versions(request: PageRequest, changes: CommitChanges) -> tuple[Snapshot, Snapshot] | None:
    """Return the snapshots of changes, of which the old one may have no files; None without a new one."""
    if changes.tip is None:
        return None
    workspace = request.workspace
    old = workspace.snapshot(changes.base) if changes.base else Snapshot(workspace.git, None)
    return old, workspace.snapshot(changes.tip)


def _move_edits_first(changes: CommitChanges) -> CommitChanges:
    """Return changes in which edits of existing documents come before new documents, which are long."""
    documents = sorted(changes.documents, key=lambda document: document.kind is DocumentChangeKind.ADDED)
    return changes._replace(documents=tuple(documents))


def load_view(request: PageRequest, proposal: Proposal) -> ProposalView:
    """Return the state of a proposal at its current tip and target, without its conversation."""
    proposal_actions, proposal_reviews = (
        request.workspace.proposal_actions(),
        request.workspace.proposal_reviews(),
    )
    preview = proposal_reviews.preview(proposal)
    return ProposalView(
        proposal,
        proposal_reviews.changes(proposal),
        preview,
        proposal_actions.find_merge_requirements(proposal, preview),
        proposal_reviews.overlaps(proposal, request.proposals) if proposal.is_open else (),
        proposal_reviews.commits(proposal),
        (),
    )


def build_common_variables(request: PageRequest, proposal: Proposal) -> Mapping[str, Any]:
    """Return the variables of all pages of a proposal: for the header, and for the fields of forms."""
    return {
        "proposal": proposal,
        "author": format_author(proposal.content.author),
        "state_tags": STATE_TAGS,
        "create_idempotency_key": create_idempotency_key,
        "text_digest": digest_text(proposal),
        "pull_request": find_pull_request_url(request.workspace.proposal_actions().list_events(proposal)),
        "is_own": is_author(request, proposal),
        "may_decide": request.may_write and proposal.is_open,
        "may_review": may_review(request.caller),
    }


def create_idempotency_key() -> str:
    """Return an idempotency key for one form."""
    return secrets.token_hex(16)


def digest_text(proposal: Proposal) -> str:
    """Return a digest of the title and description, by which a form detects a concurrent change."""
    text = f"{proposal.content.title}\n{proposal.content.description}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


STATE_TAGS = {
    ProposalState.DRAFT: ("Draft", ""),
    ProposalState.OPEN: ("Waiting for review", "good"),
    ProposalState.CHANGES_REQUESTED: ("Changes requested", "warn"),
    ProposalState.APPROVED: ("Approved", "good"),
    ProposalState.MERGED: ("Merged", "merged"),
    ProposalState.CLOSED: ("Closed", "bad"),
    ProposalState.GONE: ("Branch gone", "bad"),
}
"""The label of each state, and the CSS class of its tag."""


def build_merge_status(request: PageRequest, view: ProposalView) -> MergeStatus:
    """Return the status of a merge by the caller."""
    person = request.caller.person
    missing_requirements = [
        blocker.message for blocker in view.merge_requirements.blockers if not blocker.only_clients
    ]
    needed_token = ""
    if not missing_requirements and view.merge_requirements.evaluation is not None:
        blocker = find_blocker_for_actor(
            view.merge_requirements.evaluation,
            person,
            may_review=may_review(request.caller),
            is_client=False,
        )
        if blocker is not None:
            needed_token = describe_needed_token(view) or "a person's token"
    is_ready = view.proposal.is_open and request.may_write and not missing_requirements and not needed_token
    lacks_scope = bool(needed_token) and person is not None and not may_review(request.caller)
    return MergeStatus(is_ready, tuple(missing_requirements), needed_token, lacks_scope)


def _read_reviews(request: PageRequest, proposal: Proposal) -> ProposalEntry:
    """Return the approvals and reviewers of a proposal, which do not depend on a merge without conflicts."""
    return build_entries(request.workspace, [proposal], request.proposals, max_merge_s=0)[0]


def _describe_merge_commit(request: PageRequest, proposal: Proposal) -> CommitInfo | None:
    """Return the description of the merge commit; None if it does not exist, or this clone lacks it."""
    commit = proposal.merge_record.commit if proposal.merge_record is not None else None
    if commit is None or not request.workspace.has_commit(commit):
        return None
    return describe_commit(request.workspace.git.commit(commit))


def _list_conflict_paths(conflicts: tuple[FileConflict, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(conflict.path for conflict in conflicts))
