"""Writing to a proposal: on its branch if a call names one, and where a direct write is not allowed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from tools.errors import visible
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


class Home(NamedTuple):
    """Where a call writes: a context whose workspace is that branch, and the proposal that it belongs to.

    `served` is the context that the call came with. `protected` are the paths for whose sake a direct write
    came here. `written` is what an earlier call of the same key wrote to a proposal that has ended since.
    """

    served: Context
    context: Context
    proposal: Proposal | None = None
    protected: tuple[str, ...] = ()
    written: WriteResult | None = None

    def finished(self, answer: Answer) -> Answer:
        """Return an answer that says to which proposal was written, and whose calls keep to it."""
        if self.proposal is None:
            return answer
        data: Data = {**answer.data, "proposal": self.proposal.id}
        if isinstance(data.get("example"), dict):
            data["example"] = {**data["example"], "proposal": self.proposal.id}
        if not answer.is_error and not self.proposal.is_open:
            data["overlaps"] = []
            if self.served.offers("view_proposal"):
                data["next_step"] = looking_back(self.served, self.proposal.id)
        elif not answer.is_error:
            data["overlaps"] = overlaps_of(self.served, self.proposal.id)
            data["next_step"] = data["next_step"].within(self.proposal.id)
            if self.protected:
                data |= self._became(self.proposal)
        return replace(answer, data=data)

    def _became(self, proposal: Proposal) -> Data:
        return {
            "branch": proposal.words.branch,
            "protected": listed(self.protected),
            "note": f"{_why(self.protected)}, so this was committed to the proposal {proposal.id} instead; "
            f"{proposal.words.target} has not changed",
            "next_step": submitting(self.served, proposal.id),
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


def home_in(context: Context, name: str, request: Request | None) -> Home:
    """Where a call that names a proposal writes; what it wrote there, if that has ended and this is a retry.

    Raises ProposalNotFound, ProposalEnded, KeyReused.
    """
    from workspace.proposals.actions.register import ProposalEnded

    proposing = context.workspace.proposing()
    proposal = proposing.one(name)
    try:
        return Home(context, _at(context, proposal), proposal)
    except ProposalEnded:
        if request is None:
            raise
        proposal = proposing.one(name)  # which may have ended just now
        written = proposing.written(proposal, request)
        if written is None:
            raise
        return Home(context, context, proposal, written=written)


def became(context: Context, request: Request | None) -> bool:
    """Return True if an earlier call with the same key became a proposal, or opened one."""
    return request is not None and context.workspace.proposing().took(request)


def proposed(
    context: Context,
    paths: Sequence[str],
    operations: Sequence[Operation | WorkspaceError],
    tool: str,
    fields: Mapping[str, Any],
) -> tuple[Home, WriteResult]:
    """Return what a direct write becomes that is protected, at `paths`: a proposal that holds it.

    Raises what `Proposing.propose` does.
    """
    from workspace.proposals.actions.register import ProposalEnded

    done = context.workspace.proposing().propose(operations, actor_of(context, tool), **fields)
    if done.proposal is None:  # a dry run, or nothing is left to be changed
        return Home(context, context, None, tuple(paths)), done.written
    try:
        at = _at(context, done.proposal)
    except ProposalEnded:  # before this retry, or just now: what was written is told all the same
        at = context
    return Home(context, at, done.proposal, tuple(paths)), done.written


def _at(context: Context, proposal: Proposal) -> Context:
    return replace(context, workspace=context.workspace.on_proposal(proposal.id))


def would_propose(paths: Sequence[str]) -> Data:
    """Return what a dry run says of a direct write that would become a proposal."""
    return {
        "protected": listed(paths),
        "note": f"{_why(paths)}: without dry_run, this becomes a proposal, and the answer names it",
    }


def beginning(context: Context, proposal: str) -> NextStep:
    """Return how a proposal goes on in which nothing was written yet."""
    first = next(iter(context.snapshot().documents), None)
    if context.offers("edit_document") and first is not None:
        fields = {"operation": "add_section", "file": first, "title": "…", "proposal": proposal}
        return NextStep("Write there, such as ", call("edit_document", **fields))
    return NextStep(
        "Give proposal to the tools that write; see it with ", call("view_proposal", proposal=proposal)
    )


def looking_back(context: Context, proposal: str) -> NextStep:
    """Return the next step of a retry whose proposal has ended."""
    ended = "Nothing was done twice; the proposal has ended"
    if not context.offers("view_proposal"):
        return NextStep(f"{ended}: docyard proposals show {proposal} shows a person what became of it")
    return NextStep(f"{ended}: see what became of it with ", call("view_proposal", proposal=proposal))


def submitting(context: Context, proposal: str) -> NextStep:
    """How a proposal goes on that was written: a call, or the command where the client has no such tool."""
    if context.offers("update_proposal"):
        submit = call("update_proposal", proposal=proposal, action="submit")
        before = "; before that, add more by writing with this proposal, or look at it with view_proposal"
        return NextStep("Ask for a review with ", submit, before)
    is_listed = context.offers("list_documents")
    seen = ("; see it with ", call("list_documents", ref=proposal)) if is_listed else ()
    return NextStep(f"Ask a person to run docyard proposals submit {proposal}", *seen)


def overlaps_of(context: Context, name: str) -> list[Data]:
    """The other open proposals that touch the same places, in short; none if a failure follows a commit."""
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
            "title": visible(found.title),
            "addresses": listed(found.addresses, _SHOWN_ADDRESSES),
        }
        for found in workspace.reviewing().overlaps(proposal, proposals)[:_SHOWN]
    ]


def listed(names: Sequence[str], most: int = _SHOWN) -> list[str]:
    """Names as an answer shows them; of very many the first, and how many more there are."""
    shown = [visible(name) for name in names[:most]]
    return [*shown, f"… and {len(names) - most} more"] if len(names) > most else shown


def _why(paths: Sequence[str]) -> str:
    first = f"'{visible(paths[0])}'" if paths else "a path"
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"the workspace's policy lets only a reviewed proposal change {first}{more}"
