"""The target of a write: the served branch, a named proposal, or a new one.

A direct write to a protected path becomes a new proposal, as does a call that requests one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.tool import Answer, Data, NextStep, call
from workspace.escapes import escape_invisible
from workspace.publishing.after_commit import run_with_caveat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import Context
    from workspace.edits.operation import Operation
    from workspace.errors import WorkspaceError
    from workspace.proposals.actions.open import NewProposal
    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.proposal import Proposal
    from workspace.writing.idempotency import KeyedRequest
    from workspace.writing.write import WriteResult

_MAX_NAMES = 20
_MAX_ADDRESSES = 10


class WriteTarget(NamedTuple):
    """The branch that a call writes to: a context of that branch, and its proposal.

    `call_context` is the context of the call. `protected` are the paths that caused the redirection.
    `earlier_result` is the result of an earlier call with the same key, if its proposal has ended since.
    `is_new` is True if the call requested a new proposal, `was_added` if the write was added to a draft.
    """

    call_context: Context
    context: Context
    proposal: Proposal | None = None
    protected: tuple[str, ...] = ()
    earlier_result: WriteResult | None = None
    is_new: bool = False
    was_added: bool = False

    def complete_answer(self, answer: Answer) -> Answer:
        """Add the proposal of the write to an answer, and to the calls that the answer suggests."""
        if self.proposal is None:
            return answer
        data: Data = {**answer.data, "proposal": self.proposal.id}
        if isinstance(data.get("example"), dict):
            data["example"] = {**data["example"], "proposal": self.proposal.id}
        if not answer.is_error and not self.proposal.is_open:
            if self.call_context.offers("view_proposal"):
                data["next_step"] = suggest_after_end(self.call_context, self.proposal.id)
        elif not answer.is_error:
            if overlaps := list_overlaps(self.call_context, self.proposal.id):
                data["overlaps"] = overlaps
            if (next_step := data.get("next_step")) is not None:
                data["next_step"] = next_step.for_proposal(self.proposal.id)
            if self.is_new:
                data |= self._build_opening_fields(self.proposal)
            elif self.protected:
                data |= self._build_redirection_fields(self.proposal)
        return replace(answer, data=data)

    def _build_opening_fields(self, proposal: Proposal) -> Data:
        """Return the fields of a proposal that the call opened; a submitted one waits for a reviewer."""
        from workspace.proposals.proposal import ProposalState

        fields: Data = {"branch": proposal.content.branch, "state": proposal.state.value}
        if proposal.state is not ProposalState.DRAFT:
            return {**fields, "next_step": suggest_review(self.call_context, proposal.id)}
        return {**fields, "next_step": suggest_submission(self.call_context, proposal.id)}

    def _build_redirection_fields(self, proposal: Proposal) -> Data:
        title, target = escape_invisible(proposal.content.title), proposal.content.target
        verb = "added to your draft proposal" if self.was_added else "committed to the proposal"
        return {
            "branch": proposal.content.branch,
            "protected": list_names(self.protected),
            "note": f"{_explain_protection(self.protected)}, "
            f"so this was {verb} {proposal.id} '{title}' instead; {target} has not changed. Direct writes "
            'of an hour share this draft: for other work, give new_proposal, such as {"title": "…"}',
            "next_step": suggest_submission(self.call_context, proposal.id),
        }


def identify_actor(context: Context, tool: str) -> Actor:
    """Return the actor of a call: the person whose token the call has, else the workspace's author."""
    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.events import Author, IdentitySource

    if (person := context.person) is not None:
        author = Author(person.name, person.email, IdentitySource.TOKEN, person.token)
    else:
        from workspace.git.messages import clean_client_name

        author = Author(*context.workspace.author(), IdentitySource.CLIENT, clean_client_name(context.client))
    return Actor(author, tool, context.client, context.person, context.may_review)


def target_proposal(context: Context, name: str, request: KeyedRequest | None) -> WriteTarget:
    """Return the write target for a named proposal; a retry gets the earlier result of an ended proposal.

    Raises ProposalNotFound, ProposalEnded, KeyReused.
    """
    from workspace.proposals.actions.repository import ProposalEnded

    proposal_actions = context.workspace.proposal_actions()
    proposal = proposal_actions.find(name)
    try:
        return WriteTarget(context, _bind_to_proposal(context, proposal), proposal)
    except ProposalEnded:
        if request is None:
            raise
        proposal = proposal_actions.find(name)  # the proposal may have ended since it was read
        earlier_result = proposal_actions.find_write(proposal, request)
        if earlier_result is None:
            raise
        return WriteTarget(context, context, proposal, earlier_result=earlier_result)


def has_proposal_for_request(context: Context, request: KeyedRequest | None) -> bool:
    """Return True if an earlier call with the same key opened a proposal, or wrote to one."""
    return request is not None and context.workspace.proposal_actions().has_proposal_for(request)


def propose_write(
    context: Context,
    paths: Sequence[str],
    operations: Sequence[Operation | WorkspaceError],
    tool: str,
    fields: Mapping[str, Any],
    new_proposal: NewProposal | None = None,
) -> tuple[WriteTarget, WriteResult]:
    """Write operations to a proposal: one that the caller requested, or the draft for protected `paths`.

    Raises the errors of `ProposalActions.propose`.
    """
    from workspace.proposals.actions.repository import ProposalEnded

    outcome = context.workspace.proposal_actions().propose(
        operations,
        identify_actor(context, tool),
        **fields,
        new_proposal=new_proposal,
        is_redirected=new_proposal is None,
    )
    if outcome.proposal is None:  # a dry run, or nothing to change
        return WriteTarget(context, context, None, tuple(paths)), outcome.result
    try:
        write_context = _bind_to_proposal(context, outcome.proposal)
    except ProposalEnded:  # the proposal ended before this retry; the result of the write is returned anyway
        write_context = context
    is_new = new_proposal is not None
    target = WriteTarget(
        context,
        write_context,
        outcome.proposal,
        tuple(paths),
        is_new=is_new,
        was_added=outcome.was_added,
    )
    return target, outcome.result


def _bind_to_proposal(context: Context, proposal: Proposal) -> Context:
    return replace(context, workspace=context.workspace.on_proposal(proposal.id))


def build_dry_run_fields(paths: Sequence[str]) -> Data:
    """Return the dry-run fields of a direct write that would become a proposal."""
    return {
        "protected": list_names(paths),
        "note": f"{_explain_protection(paths)}: "
        "without dry_run, this becomes a proposal, and the answer names it",
    }


def suggest_first_write(context: Context, proposal: str) -> NextStep:
    """Return the next step for a proposal without commits."""
    first_path = next(iter(context.snapshot().documents), None)
    if context.offers("edit_document") and first_path is not None:
        fields = {"operation": "add_section", "file": first_path, "title": "…", "proposal": proposal}
        return NextStep("Write to the proposal, for example with ", call("edit_document", **fields))
    return NextStep(
        "Pass the field 'proposal' to the writing tools; view the proposal with ",
        call("view_proposal", proposal=proposal),
    )


def suggest_after_end(context: Context, proposal: str) -> NextStep:
    """Return the next step of a retry whose proposal has ended."""
    ended_note = "The call was not repeated, because the proposal has ended"
    if not context.offers("view_proposal"):
        return NextStep(f"{ended_note}: a person sees its state with docyard proposals show {proposal}")
    return NextStep(f"{ended_note}: see its state with ", call("view_proposal", proposal=proposal))


def suggest_submission(context: Context, proposal: str) -> NextStep:
    """Return the next step after a write to a proposal: a call, or a command if the client lacks the tool."""
    if context.offers("update_proposal"):
        submit_call = call("update_proposal", proposal=proposal, action="submit")
        suffix = "; before that, write more with this proposal, or view it with view_proposal"
        return NextStep("Request a review with ", submit_call, suffix)
    can_list = context.offers("list_documents")
    view = ("; view its documents with ", call("list_documents", ref=proposal)) if can_list else ()
    return NextStep(f"Ask a person to run docyard proposals submit {proposal}", *view)


def suggest_review(context: Context, proposal: str) -> NextStep:
    """Return the next step after a submission: a reviewer acts next, and the author can see the state."""
    if context.offers("view_proposal"):
        view = call("view_proposal", proposal=proposal)
        return NextStep("A reviewer acts next; see the state with ", view)
    return NextStep(f"A reviewer acts next; a person sees the state with docyard proposals show {proposal}")


def list_overlaps(context: Context, proposal_id: str) -> list[Data]:
    """Return the other open proposals that change the same sections; empty if the search fails."""
    return run_with_caveat(
        partial(_find_overlaps, context, proposal_id), [], "overlapping proposals are not listed"
    )


def _find_overlaps(context: Context, proposal_id: str) -> list[Data]:
    workspace = context.workspace
    proposals = workspace.proposal_actions().list_all()
    proposal = next((candidate for candidate in proposals if candidate.id == proposal_id), None)
    if proposal is None:
        return []
    return [
        {
            "proposal": overlap.id,
            "title": escape_invisible(overlap.title),
            "addresses": list_names(overlap.addresses, _MAX_ADDRESSES),
        }
        for overlap in workspace.proposal_reviews().overlaps(proposal, proposals)[:_MAX_NAMES]
    ]


def list_names(names: Sequence[str], limit: int = _MAX_NAMES) -> list[str]:
    """Return at most `limit` names for an answer, and the number of omitted names."""
    escaped_names = [escape_invisible(name) for name in names[:limit]]
    return [*escaped_names, f"… and {len(names) - limit} more"] if len(names) > limit else escaped_names


def _explain_protection(paths: Sequence[str]) -> str:
    first_path = f"'{escape_invisible(paths[0])}'" if paths else "a path"
    suffix = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"the workspace's policy permits only a reviewed proposal to change {first_path}{suffix}"
