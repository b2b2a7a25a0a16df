"""The target of a write: the branch of a named proposal, or a new proposal for a protected path."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.errors import escape_invisible
from tools.tool import Answer, Data, NextStep, call
from workspace.publishing.after_commit import attempt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import Context
    from workspace.edits import Operation
    from workspace.errors import WorkspaceError
    from workspace.proposals.actions.register import Actor
    from workspace.proposals.proposal import Proposal
    from workspace.writing.idempotency import Request
    from workspace.writing.write import WriteResult

_SHOWN = 20
_SHOWN_ADDRESSES = 10


class WriteTarget(NamedTuple):
    """The branch that a call writes to: a context of that branch, and its proposal.

    `served` is the context of the call. `protected` are the paths that caused the redirection. `written` is
    what an earlier call of the same key wrote to a proposal that has ended since.
    """

    served: Context
    context: Context
    proposal: Proposal | None = None
    protected: tuple[str, ...] = ()
    written: WriteResult | None = None

    def complete_answer(self, answer: Answer) -> Answer:
        """Return an answer that says to which proposal was written, and whose calls keep to it."""
        if self.proposal is None:
            return answer
        data: Data = {**answer.data, "proposal": self.proposal.id}
        if isinstance(data.get("example"), dict):
            data["example"] = {**data["example"], "proposal": self.proposal.id}
        if not answer.is_error and not self.proposal.is_open:
            data["overlaps"] = []
            if self.served.offers("view_proposal"):
                data["next_step"] = ended_proposal_step(self.served, self.proposal.id)
        elif not answer.is_error:
            data["overlaps"] = overlaps_of(self.served, self.proposal.id)
            data["next_step"] = data["next_step"].within(self.proposal.id)
            if self.protected:
                data |= self._redirection_fields(self.proposal)
        return replace(answer, data=data)

    def _redirection_fields(self, proposal: Proposal) -> Data:
        return {
            "branch": proposal.words.branch,
            "protected": list_names(self.protected),
            "note": f"{_explain_protection(self.protected)}, "
            f"so this was committed to the proposal {proposal.id} instead; "
            f"{proposal.words.target} has not changed",
            "next_step": submit_step(self.served, proposal.id),
        }


def actor_of(context: Context, tool: str) -> Actor:
    """Return who acts: a person whose token came with the call, else the client that called."""
    from workspace.proposals.actions.register import Actor
    from workspace.proposals.events import Author, KnownBy

    if (person := context.person) is not None:
        author = Author(person.name, person.email, KnownBy.TOKEN, person.token)
    else:
        from workspace.git.messages import clean_client_name

        author = Author(*context.workspace.author(), KnownBy.CLIENT, clean_client_name(context.client))
    return Actor(author, tool, context.client, context.person)


def target_proposal(context: Context, name: str, request: Request | None) -> WriteTarget:
    """Return the write target for a named proposal; a retry gets its earlier result if that has ended.

    Raises ProposalNotFound, ProposalEnded, KeyReused.
    """
    from workspace.proposals.actions.register import ProposalEnded

    proposing = context.workspace.proposing()
    proposal = proposing.one(name)
    try:
        return WriteTarget(context, _at(context, proposal), proposal)
    except ProposalEnded:
        if request is None:
            raise
        proposal = proposing.one(name)  # which may have ended just now
        written = proposing.written(proposal, request)
        if written is None:
            raise
        return WriteTarget(context, context, proposal, written=written)


def was_redirected(context: Context, request: Request | None) -> bool:
    """Return True if an earlier call with the same key was redirected to a proposal, or opened one."""
    return request is not None and context.workspace.proposing().took(request)


def propose_write(
    context: Context,
    paths: Sequence[str],
    operations: Sequence[Operation | WorkspaceError],
    tool: str,
    fields: Mapping[str, Any],
) -> tuple[WriteTarget, WriteResult]:
    """Return the result of a direct write to protected `paths`: a proposal that contains it.

    Raises the errors of `Proposing.propose`.
    """
    from workspace.proposals.actions.register import ProposalEnded

    done = context.workspace.proposing().propose(operations, actor_of(context, tool), **fields)
    if done.proposal is None:  # a dry run, or nothing is left to be changed
        return WriteTarget(context, context, None, tuple(paths)), done.written
    try:
        at = _at(context, done.proposal)
    except ProposalEnded:  # before this retry, or just now: what was written is told all the same
        at = context
    return WriteTarget(context, at, done.proposal, tuple(paths)), done.written


def _at(context: Context, proposal: Proposal) -> Context:
    return replace(context, workspace=context.workspace.on_proposal(proposal.id))


def would_propose(paths: Sequence[str]) -> Data:
    """Return the dry-run fields of a direct write that would become a proposal."""
    return {
        "protected": list_names(paths),
        "note": f"{_explain_protection(paths)}: "
        "without dry_run, this becomes a proposal, and the answer names it",
    }


def first_write_step(context: Context, proposal: str) -> NextStep:
    """Return the next step for a proposal without commits."""
    first = next(iter(context.snapshot().documents), None)
    if context.offers("edit_document") and first is not None:
        fields = {"operation": "add_section", "file": first, "title": "…", "proposal": proposal}
        return NextStep("Write there, such as ", call("edit_document", **fields))
    return NextStep(
        "Give proposal to the tools that write; see it with ", call("view_proposal", proposal=proposal)
    )


def ended_proposal_step(context: Context, proposal: str) -> NextStep:
    """Return the next step of a retry whose proposal has ended."""
    ended = "Nothing was done twice; the proposal has ended"
    if not context.offers("view_proposal"):
        return NextStep(f"{ended}: docyard proposals show {proposal} shows a person what became of it")
    return NextStep(f"{ended}: see what became of it with ", call("view_proposal", proposal=proposal))


def submit_step(context: Context, proposal: str) -> NextStep:
    """Return the next step after a write to a proposal: a call, or a command if the client lacks the tool."""
    if context.offers("update_proposal"):
        submit = call("update_proposal", proposal=proposal, action="submit")
        before = "; before that, add more by writing with this proposal, or look at it with view_proposal"
        return NextStep("Ask for a review with ", submit, before)
    is_listed = context.offers("list_documents")
    seen = ("; see it with ", call("list_documents", ref=proposal)) if is_listed else ()
    return NextStep(f"Ask a person to run docyard proposals submit {proposal}", *seen)


def overlaps_of(context: Context, name: str) -> list[Data]:
    """Return the other open proposals that change the same places; none if a failure follows a commit."""
    return attempt(partial(_overlaps_of, context, name), [], "proposals that overlap with it are not listed")


def _overlaps_of(context: Context, name: str) -> list[Data]:
    workspace = context.workspace
    proposals = workspace.proposing().all()
    proposal = next((one for one in proposals if one.id == name), None)
    if proposal is None:
        return []
    return [
        {
            "proposal": found.id,
            "title": escape_invisible(found.title),
            "addresses": list_names(found.addresses, _SHOWN_ADDRESSES),
        }
        for found in workspace.reviewing().overlaps(proposal, proposals)[:_SHOWN]
    ]


def list_names(names: Sequence[str], most: int = _SHOWN) -> list[str]:
    """Return the first of many names for an answer, and the number of the others."""
    shown = [escape_invisible(name) for name in names[:most]]
    return [*shown, f"… and {len(names) - most} more"] if len(names) > most else shown


def _explain_protection(paths: Sequence[str]) -> str:
    first = f"'{escape_invisible(paths[0])}'" if paths else "a path"
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"the workspace's policy lets only a reviewed proposal change {first}{more}"
