"""A write of a page's form: to the served branch, to an open proposal, or to a new proposal.

Each form writes with the same policy, author and trailers. A direct write to a protected path becomes a
proposal, as it does for tools. A form that is sent twice is written once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.responses import Response

from docyard.web.errors import get_status
from docyard.web.proposals.actions import render_refusal, submit_proposal
from workspace.errors import WorkspaceError
from workspace.git.store import ReadOnly
from workspace.policy.protection import Protected
from workspace.proposals import events
from workspace.proposals.actions.actions import PullRequestFailed
from workspace.proposals.proposal import ProposalNotFound
from workspace.publishing.after_commit import has_committed
from workspace.writing.idempotency import KeyedRequest, KeyReused, compute_call_digest
from workspace.writing.plan import BatchMode, StepStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from docyard.web.page_request import PageRequest
    from workspace.edits.operation import Operation
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace
    from workspace.writing.plan import Plan
    from workspace.writing.write import WriteResult

SERVED_BRANCH = ""
"""The target of a write to the served branch."""

NEW_PROPOSAL = "new"
"""The target of a write to a new proposal. Other targets are the ids of proposals."""

_MAX_TARGET_PROPOSALS = 20
_PATH_FIELD = "edited"  # of the result that the commit records for a form that is sent twice
_IDEMPOTENCY_KEY = re.compile("[0-9a-f]{32}")


class PageWrite(NamedTuple):
    """The write of a form: its operations, its target, and the texts of the commit and of a new proposal.

    `base_commit` is the commit that the user saw; None if nothing is overwritten. `fields` are the values of
    the form: another form with the same `key` is refused. With `is_draft`, no review is requested.
    """

    operations: Sequence[Operation]
    target: str
    key: str
    fields: Sequence[str]
    base_commit: str | None = None
    title: str = ""
    description: str = ""
    is_draft: bool = False


class PageWriteResult(NamedTuple):
    """The result of a form's write; `proposal` is the id of the proposal, empty for the served branch."""

    result: WriteResult
    proposal: str

    @property
    def path(self) -> str:
        """Return the path of the written document, also for a form that was sent twice."""
        if self.result.recorded_request is not None:
            return str(self.result.recorded_request.result.get(_PATH_FIELD, ""))
        return _get_path(self.result.plan)

    @property
    def is_change(self) -> bool:
        """Return True if this form, or an earlier one with its key, has changed something."""
        return self.result.is_committed or self.result.recorded_request is not None


def check_may_write(request: PageRequest) -> None:
    """Raise ReadOnly if documents cannot be edited."""
    if not request.may_write or request.workspace.read_only:
        raise ReadOnly("Serve without --read-only to enable editing.")


def read_key(request: PageRequest) -> str:
    """Return the idempotency key of a form; a new key if the form has no valid one."""
    key = request.fields.get("key", "")
    return key if _IDEMPOTENCY_KEY.fullmatch(key) else secrets.token_hex(16)


def get_target_workspace(request: PageRequest, target: str) -> Workspace:
    """Return the workspace of a target: a proposal's branch, else the served branch.

    Raises ProposalNotFound, ProposalEnded.
    """
    is_proposal = target not in (SERVED_BRANCH, NEW_PROPOSAL)
    return request.workspace.on_proposal(target) if is_proposal else request.workspace


def list_target_proposals(request: PageRequest, selected_id: str) -> list[Proposal]:
    """Return the open proposals that may receive a write: the selected one, and the caller's newest."""
    author = request.actor.event_author
    proposals = [proposal for proposal in request.proposals if proposal.is_open]
    own_proposals = [
        item for item in proposals if item.id != selected_id and item.content.author.is_same(author)
    ]
    selected_proposals = [item for item in proposals if item.id == selected_id]
    if selected_id and not selected_proposals:  # this request may have opened it
        with suppress(ProposalNotFound):
            proposal = request.workspace.proposal_actions().find(selected_id)
            selected_proposals = [proposal] if proposal.is_open else []
    return selected_proposals + own_proposals[:_MAX_TARGET_PROPOSALS]


def write_page(request: PageRequest, write: PageWrite) -> PageWriteResult:
    """Write a form, and return the result; a new proposal is opened only if something is written to it.

    Raises the error of a failed operation, PullRequestFailed if only the pull request failed, and the errors
    of `Workspace.write` and `ProposalActions.propose`.
    """
    title = events.validate_title(write.title) if write.title.strip() else ""
    description = events.validate_text(write.description, "description", may_be_empty=True)
    message = "\n\n".join(part for part in (title, description) if part) or None
    keyed_request = KeyedRequest(
        write.key,
        compute_call_digest("page", {"fields": list(write.fields)}),
        lambda plan: {_PATH_FIELD: _get_path(plan)},
    )
    actor, proposal_actions = request.actor, request.workspace.proposal_actions()
    proposal: Proposal | None = None
    result: WriteResult | None = None
    if write.target != NEW_PROPOSAL:
        workspace = get_target_workspace(request, write.target)
        try:
            result = workspace.write(
                write.operations,
                mode=BatchMode.ALL,
                tool=actor.tool,
                client=actor.client,
                message=message,
                base_commit=write.base_commit,
                keyed_request=keyed_request,
                person=actor.person,
                trailers=actor.decision_trailers,
            )
        except Protected:
            if write.target != SERVED_BRANCH:
                raise
        else:
            _raise_step_error(result)
            if write.target != SERVED_BRANCH:
                proposal = proposal_actions.find(write.target)
    if result is None:
        proposed_write = proposal_actions.propose(
            write.operations,
            actor,
            mode=BatchMode.ALL,
            message=message,
            base_commit=write.base_commit,
            keyed_request=keyed_request,
        )
        result, proposal = proposed_write.result, proposed_write.proposal
        _raise_step_error(result)
    if proposal is None:
        return PageWriteResult(result, "")
    if not write.is_draft and proposal.content.submitted_commit is None and proposal.is_open:
        submit_proposal(proposal_actions, proposal.id, actor, f"{write.key}-submit")
    return PageWriteResult(result, proposal.id)


def _get_path(plan: Plan) -> str:
    """Return the path of the last operation's document; empty without an outcome."""
    outcome = plan.steps[-1].outcome if plan.steps else None
    return outcome.path if outcome else ""


def _raise_step_error(result: WriteResult) -> None:
    """Raise the error of the failed operation, if there is one."""
    for step in result.steps:
        if step.status is StepStatus.FAILED and step.error is not None:
            raise step.error


RenderProblem = Callable[[WorkspaceError, int], Response]
"""A function that returns the form with a problem, for an error and its HTTP status."""


def submit_form(
    request: PageRequest,
    build_write: Callable[[], PageWrite],
    *,
    get_url: Callable[[PageWriteResult], str | None],
    render_problem: RenderProblem,
    unchanged_error: WorkspaceError,
) -> Response:
    """Write a form, and return a redirect to `get_url`; if it is refused, return the form with the reason.

    `get_url` returns None for a form that would change nothing, which `unchanged_error` then explains.
    """
    try:
        page_result = write_page(request, build_write())
    except PullRequestFailed as error:
        proposal = request.workspace.proposal_actions().find(error.details["proposal"])
        return render_refusal(request, proposal, "submit", error)
    except KeyReused as error:
        return render_problem(
            KeyReused(
                "this form was already sent with another text",
                fix="Look for the result in the proposals; send the form again to write this text, too.",
                **error.details,
            ),
            409,
        )
    except WorkspaceError as error:
        if has_committed():
            raise
        return render_problem(error, get_status(error))
    url = get_url(page_result)
    return render_problem(unchanged_error, 400) if url is None else request.redirect(url)


def get_result_url(request: PageRequest, page_result: PageWriteResult, url: str) -> str | None:
    """Return the URL of the written proposal, else `url`; None if nothing was written."""
    if not page_result.is_change:
        return None
    return request.urls.proposal(page_result.proposal) if page_result.proposal else url


def build_target_variables(request: PageRequest, target: str) -> Mapping[str, Any]:
    """Return the variables of the template for the choice of a target."""
    is_proposal = target not in (SERVED_BRANCH, NEW_PROPOSAL)
    return {
        "target": target,
        "target_proposals": list_target_proposals(request, target if is_proposal else ""),
        "branch": request.workspace.branch or "the branch",
        "has_rules": bool(request.workspace.snapshot().config.protect),
    }
