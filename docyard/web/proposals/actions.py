"""The actions of a proposal's forms. A form that is sent twice runs its action once.

The page of a refused action shows the reason, new changes of the proposal, and the user's text, which is not
lost. With a forge, submitting a proposal also opens its pull request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from docyard.web.diff.diff import build_diff, format_element_id
from docyard.web.errors import get_status
from docyard.web.proposals.conflicts import handle_conflicts_form
from docyard.web.proposals.pending_comments import FIELD, build_pending_views, parse_pending_comments
from docyard.web.proposals.view import build_common_variables, digest_text
from workspace.errors import WorkspaceError
from workspace.merge.commits import MergeConflict
from workspace.proposals.actions.actions import PullRequestFailed
from workspace.proposals.actions.discuss import ProposalMoved
from workspace.proposals.actions.repository import ProposalEnded
from workspace.proposals.answers import CommentAnswer
from workspace.proposals.approvals import NeedsPerson, OwnProposal
from workspace.proposals.events import InvalidEventText, ReviewDecision
from workspace.publishing.after_commit import has_committed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.responses import Response

    from docyard.web.diff.diff import DiffPage
    from docyard.web.page_request import PageRequest
    from workspace.proposals.actions.actions import ProposalActions
    from workspace.proposals.actions.discuss import ReviewComment
    from workspace.proposals.actions.repository import ActionResult, Actor
    from workspace.proposals.proposal import Proposal


_COMMIT_ID = re.compile("[0-9a-f]{40}")
# The parameters of the page of changes that a form returns to.
_RANGE_FIELDS = ("view", "since", "path", "offset")
_SECTION_ID = re.compile("change-[0-9a-f]{12}")
_TEXT_FIELDS = ("title", "description", "quote", "text")
_PERMANENT_ERRORS = (NeedsPerson, OwnProposal, ProposalEnded)

_RETRY_LABELS = {
    "approve": "Approve the current version",
    "request-changes": "Request changes",
    "merge": "Merge the current version",
    "comment": "Comment",
    "resolve-comment": "Resolve",
    "reopen-comment": "Reopen",
    "edit": "Save",
    "close": "Close",
    "reopen": "Reopen",
    "submit": "Submit again",
}


class UnknownAction(WorkspaceError):
    """A proposal has no action of this name."""

    code: ClassVar[str] = "ACT_NOT_FOUND"

    def __init__(self, name: str, known_names: Sequence[str]) -> None:
        super().__init__(
            f"the action '{name[:60]}' is unknown",
            fix=f"Use one of: {', '.join(known_names)}.",
            act=name[:60],
        )


class TextChanged(WorkspaceError):
    """Another user has changed the title or description that a form would replace."""

    code: ClassVar[str] = "WORDS_CHANGED"

    def __init__(self) -> None:
        super().__init__(
            "the title or description was changed since you opened the form",
            fix="Nothing was saved. Add your changes to the current text, and save it again.",
        )


def render_refusal(
    request: PageRequest, proposal: Proposal, action_name: str, error: WorkspaceError
) -> Response:
    """Return the page of a refused action, with a form that contains the user's text."""
    proposal = request.workspace.proposal_actions().find(proposal.id)  # read its current state
    texts = {name: request.fields[name] for name in _TEXT_FIELDS if name in request.fields}
    pending_comments = _read_pending_comments(request)
    retry_action, retry_label = action_name, _RETRY_LABELS.get(action_name, "")
    if isinstance(error, _PERMANENT_ERRORS):
        # The action would be refused again, but its text can be sent as a comment.
        texts = {name: value for name, value in texts.items() if name == "text" and value.strip()}
        retry_action, retry_label = (
            ("comment", "Send it as a comment") if texts or pending_comments else (action_name, "")
        )
        if pending_comments:
            texts, retry_label = {"text": "", **texts}, "Send the comments without a decision"
    if isinstance(error, PullRequestFailed):
        texts = {}  # the action succeeded, so the texts are stored
    new_changes = _find_new_changes(request, proposal) if isinstance(error, ProposalMoved) else None
    if isinstance(error, ProposalMoved) and new_changes is None:
        retry_label = ""  # a review or merge needs the changes on the page
    return request.page(
        "refused.html",
        status=get_status(error),
        **build_common_variables(request, proposal),
        error=error,
        act=action_name,
        retry_action=retry_action,
        retry_label=retry_label,
        needs_person=isinstance(error, NeedsPerson),
        blocker_messages=[blocker["message"] for blocker in error.details.get("blocks", ())][1:],
        new_changes=new_changes,
        texts=texts,
        pending_comments=build_pending_views(pending_comments),
        # A review or merge is for the commit that the user saw: the form's, or the tip if this page shows it.
        commit=proposal.tip if new_changes is not None else request.fields.get("commit"),
        hidden_fields={
            name: request.fields[name]
            for name in (
                "file",
                "slug",
                "reply_to",
                "comment",
                FIELD,
                "at",
                "view",
                "since",
                "path",
                "offset",
            )
            if name in request.fields
        },
    )


def _read_pending_comments(request: PageRequest) -> list[ReviewComment]:
    """Return the pending comments of a form; none if they cannot be read."""
    try:
        return parse_pending_comments(request.fields.get(FIELD, ""))
    except InvalidEventText:
        return []


def _find_new_changes(request: PageRequest, proposal: Proposal) -> DiffPage | None:
    """Return a proposal's changes since the form's commit; None if they are unknown."""
    from workspace.proposals.review.changes import compare_commits

    seen_commit = request.fields.get("commit", "")
    if (
        proposal.tip is None
        or not _COMMIT_ID.fullmatch(seen_commit)
        or not request.workspace.has_commit(seen_commit)
    ):
        return None
    try:
        return build_diff(
            compare_commits(request.workspace.snapshot(seen_commit), request.workspace.snapshot(proposal.tip))
        )
    except WorkspaceError:  # for example, the form names an object that is not a commit
        return None


def submit_proposal(
    proposal_actions: ProposalActions, id: str, actor: Actor, key: str | None
) -> ActionResult:
    """Submit a proposal for review. Raises PullRequestFailed if only its pull request failed."""
    result = proposal_actions.submit(id, actor, key=key)
    report = proposal_actions.open_pull_request(result.proposal)
    if report is not None and report.error is not None:
        report.error.details["proposal"] = id
        raise report.error
    return result


def handle_action(request: PageRequest) -> Response:
    """Run the action of a form, and redirect the browser to its result; if it is refused, show the reason."""
    proposal_actions = request.workspace.proposal_actions()
    action_name = request.path_params["act"]
    proposal = proposal_actions.find(request.path_params["id"])
    if action_name == "resolve":
        return handle_conflicts_form(request, proposal)
    action = _ACTIONS.get(action_name)
    if action is None:
        raise UnknownAction(action_name, [*_ACTIONS, "resolve"])
    try:
        return request.redirect(action(request, proposal_actions, proposal))
    except MergeConflict:
        return request.redirect(request.urls.proposal(proposal.id, "conflicts"))
    except WorkspaceError as error:
        if has_committed() and not isinstance(error, PullRequestFailed):
            raise
        return render_refusal(request, proposal, action_name, error)


def redirect_to_proposal(request: PageRequest) -> Response:
    """Redirect a GET request for the URL of a form to the proposal."""
    return request.redirect(
        request.urls.proposal(request.workspace.proposal_actions().find(request.path_params["id"]).id)
    )


def _get_idempotency_key(request: PageRequest) -> str | None:
    return request.fields.get("key") or None


def _comment(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    fields = request.fields
    if fields.get(FIELD, "").strip():
        return _review(request, proposal_actions, proposal, ReviewDecision.COMMENT)
    file, slug, view = fields.get("file") or None, fields.get("slug") or None, fields.get("view", "")
    result = proposal_actions.comment(
        proposal.id,
        request.actor,
        fields.get("text", ""),
        file=file,
        slug=slug,
        quote=fields.get("quote", ""),
        commit=fields.get("commit") or None,
        reply_to=fields.get("reply_to") or None,
        key=_get_idempotency_key(request),
    )
    if view and file is not None:
        id = format_element_id(file, slug) if slug is not None else format_element_id(file)
        return f"{_build_changes_url(request, proposal)}#{id}"
    return _find_changes_url(request, proposal) or _get_comment_url(request, result)


def _find_changes_url(request: PageRequest, proposal: Proposal) -> str | None:
    """Return the URL of the changed section whose form was sent; None for a form of another page."""
    fields = request.fields
    if not _SECTION_ID.fullmatch(fields.get("at", "")):
        return None
    return f"{_build_changes_url(request, proposal)}#{fields['at']}"


def _build_changes_url(request: PageRequest, proposal: Proposal) -> str:
    """Return the URL of the page of changes from which a form was sent."""
    values = {name: request.fields.get(name) for name in _RANGE_FIELDS}
    return request.urls.proposal(proposal.id, "changes", **values)


def _resolve_comment(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    return _set_resolution(request, proposal_actions, proposal, is_resolved=True)


def _reopen_comment(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    return _set_resolution(request, proposal_actions, proposal, is_resolved=False)


def _apply_suggestion(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    comment = request.fields.get("comment", "")
    result = proposal_actions.apply_suggestion(proposal.id, request.actor, comment)
    return _find_changes_url(request, proposal) or f"{_get_proposal_url(request, result)}#said-{comment}"


def _set_resolution(
    request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal, *, is_resolved: bool
) -> str:
    comment = request.fields.get("comment", "")
    answer = CommentAnswer(comment, is_resolved=is_resolved)
    result = proposal_actions.answer(proposal.id, request.actor, [answer], key=_get_idempotency_key(request))
    return _find_changes_url(request, proposal) or f"{_get_proposal_url(request, result)}#said-{comment}"


def _approve(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    return _review(request, proposal_actions, proposal, ReviewDecision.APPROVE)


def _request_changes(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    return _review(request, proposal_actions, proposal, ReviewDecision.REQUEST_CHANGES)


def _review(
    request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal, decision: ReviewDecision
) -> str:
    """Review a proposal; the URL reports to the browser that the pending comments are sent."""
    comments, key = parse_pending_comments(request.fields.get(FIELD, "")), _get_idempotency_key(request)
    result = proposal_actions.review(
        proposal.id,
        request.actor,
        decision,
        request.fields.get("text", ""),
        comments=comments,
        commit=request.fields.get("commit") or None,
        key=key,
    )
    return _get_comment_url(request, result, sent=key if comments else None)


def _submit(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    return _get_proposal_url(
        request, submit_proposal(proposal_actions, proposal.id, request.actor, _get_idempotency_key(request))
    )


def _edit(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    new_texts = [request.fields.get(name, "").strip() for name in ("title", "description")]

    def confirm(current_proposal: Proposal) -> None:
        content, digest = current_proposal.content, digest_text(current_proposal)
        is_repeated = new_texts == [content.title, content.description]  # the form was sent twice
        if request.fields.get("seen", digest) != digest and not is_repeated:
            raise TextChanged

    result = proposal_actions.edit(
        proposal.id,
        request.actor,
        title=request.fields.get("title"),
        description=request.fields.get("description"),
        key=_get_idempotency_key(request),
        confirm=confirm,
    )
    return _get_proposal_url(request, result)


def _close(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    text = request.fields.get("text", "")
    return _get_proposal_url(
        request, proposal_actions.close(proposal.id, request.actor, text, key=_get_idempotency_key(request))
    )


def _reopen(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    text = request.fields.get("text", "")
    return _get_proposal_url(
        request, proposal_actions.reopen(proposal.id, request.actor, text, key=_get_idempotency_key(request))
    )


def _refresh(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    return _get_proposal_url(
        request, proposal_actions.refresh(proposal.id, request.actor, key=_get_idempotency_key(request))
    )


def _merge(request: PageRequest, proposal_actions: ProposalActions, proposal: Proposal) -> str:
    commit = request.fields.get("commit") or None
    return _get_proposal_url(
        request,
        proposal_actions.merge(proposal.id, request.actor, commit=commit, key=_get_idempotency_key(request)),
    )


def _get_proposal_url(request: PageRequest, result: ActionResult, sent: str | None = None) -> str:
    """Return the URL of the proposal after an action; `sent` is the key of sent pending comments."""
    return request.urls.proposal(result.proposal.id, sent=sent)


def _get_comment_url(request: PageRequest, result: ActionResult, sent: str | None = None) -> str:
    """Return the URL of the new comment or review on the proposal's page."""
    url = _get_proposal_url(request, result, sent)
    return f"{url}#said-{result.event_ids[0]}" if result.event_ids else url


_ACTIONS: Mapping[str, Callable[[PageRequest, ProposalActions, Proposal], str]] = {
    "comment": _comment,
    "resolve-comment": _resolve_comment,
    "reopen-comment": _reopen_comment,
    "apply-suggestion": _apply_suggestion,
    "submit": _submit,
    "approve": _approve,
    "request-changes": _request_changes,
    "merge": _merge,
    "close": _close,
    "reopen": _reopen,
    "refresh": _refresh,
    "edit": _edit,
}
"""The functions that run an action, by its name in the URL. Each returns the URL to redirect to."""
