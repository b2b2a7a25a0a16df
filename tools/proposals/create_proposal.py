"""create_proposal: opens a proposal, a branch with a title and a reason for changes to review."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import Arguments, Boolean, read_arguments, remove_nulls
from tools.proposals.descriptions import choose_commit, list_latest_open, open_and_describe_pull_request
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.write_target import identify_actor, list_overlaps, suggest_after_end, suggest_first_write
from tools.writer import select_example_arguments
from workspace.escapes import escape_invisible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.proposals.proposal import Proposal

_MAX_PROPOSALS_LISTED = 5
_TITLE, _DESCRIPTION = "Summary of the changes", "Reason, and points for a reviewer to check"


class CreateProposalArguments(Arguments):
    """The input of create_proposal."""

    title: str | None = Field(None, description=_TITLE)
    description: str | None = Field(None, description=_DESCRIPTION)
    submit: Boolean = Field(False, description="Request a review now; else it is a draft")
    idempotency_key: str | None = Field(None, description="For retries")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "create": "Call with {title, description, submit?} to open a proposal: a branch at the tip",
        "write": "Then give its id as `proposal` to the writing tools, and as `ref` to the reading tools",
        "review": "update_proposal {proposal, action: submit} requests a review when it is ready",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    example = {"title": "Describe rate limits", "description": "Clients ask what happens at 429."}
    return {**example, **select_example_arguments(arguments, ("title", "description", "submit"))}


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(CreateProposalArguments, arguments)
    if request.title is not None:
        from workspace.proposals.events import validate_title

        validate_title(request.title)  # also without a description, whose absence is no error
    if request.title is None or request.description is None:
        return _explain_usage(context, arguments, request)
    proposal_actions = context.workspace.proposal_actions()
    proposal = proposal_actions.open(
        request.title,
        request.description,
        identify_actor(context, TOOL.name),
        submit=request.submit,
        key=request.idempotency_key,
    )
    content = proposal.content
    data: Data = {
        "created": True,
        "proposal": proposal.id,
        "title": escape_invisible(content.title),
        "branch": content.branch,
        "target": content.target,
        "state": proposal.state.value,
        "overlaps": list_overlaps(context, proposal.id),
        "commit": choose_commit(context, proposal),
        "next_step": suggest_first_write(context, proposal.id)
        if proposal.is_open
        else suggest_after_end(context, proposal.id),
    }
    hints: list[str] = []
    if request.submit and proposal.tip != proposal.content.base:
        pull_request, hints = open_and_describe_pull_request(proposal_actions, proposal)
        data |= pull_request
    if same_title_ids := _list_ids_with_same_title(proposal_actions.list_all(), proposal):
        hints.append(f"open proposals with the same title: {', '.join(same_title_ids)}")
    if hints:
        data["hints"] = hints
    return Answer(data)


def _explain_usage(context: Context, arguments: CallArguments, request: CreateProposalArguments) -> Answer:
    """Return the answer to a call without a title or description: the usage, and the open proposals."""
    data: Data = {"usage": dict(_usage(arguments))}
    if remove_nulls(arguments):
        missing_fields = [name for name in ("title", "description") if getattr(request, name) is None]
        names = " and ".join(f"'{name}'" for name in missing_fields)
        data |= {
            "created": False,
            "missing": missing_fields,
            "note": f"no proposal was opened: give {names}; the description may be empty",
        }
    data["open"] = list_latest_open(context.workspace.proposal_actions().list_all(), _MAX_PROPOSALS_LISTED)
    fields = {
        "title": _TITLE,
        "description": _DESCRIPTION,
        **select_example_arguments(arguments, ("title", "description")),
    }
    step = NextStep("Open one with ", call("create_proposal", **fields))
    return Answer({**data, "commit": context.workspace.tip(), "next_step": step})


def _list_ids_with_same_title(proposals: Sequence[Proposal], proposal: Proposal) -> list[str]:
    title = proposal.content.title.casefold()
    other_proposals = (
        other_proposal
        for other_proposal in proposals
        if other_proposal.is_open and other_proposal.id != proposal.id
    )
    return [
        other_proposal.id
        for other_proposal in other_proposals
        if other_proposal.content.title.casefold() == title
    ][:_MAX_PROPOSALS_LISTED]


TOOL = Tool(
    name="create_proposal",
    title="Open a proposal",
    toolset="proposals",
    description="Open a proposal: a branch with changes to review and merge. Give its id as `proposal` to "
    "the writing tools, and as `ref` to the reading tools.",
    arguments=CreateProposalArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    idempotent=False,
)
