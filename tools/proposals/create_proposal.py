"""create_proposal: a branch of its own for changes that are to be reviewed, with a title and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import Arguments, Boolean, read, without_nulls
from tools.errors import escape_invisible
from tools.proposals.descriptions import announce, commit_of, latest_open
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.write_target import actor_of, ended_proposal_step, first_write_step, overlaps_of
from tools.writer import arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import Context, Given
    from workspace.proposals.proposal import Proposal

_SHOWN = 5
_TITLE, _DESCRIPTION = "What changes, in a few words", "Why, and what a reviewer should look at"


class CreateProposalArguments(Arguments):
    """The input of create_proposal."""

    title: str | None = Field(None, description=_TITLE)
    description: str | None = Field(None, description=_DESCRIPTION)
    submit: Boolean = Field(False, description="Ask for a review at once; else it is a draft")
    idempotency_key: str | None = Field(None, description="For retries")


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "create": "Call with {title, description, submit?} to open a proposal: a branch at the tip",
        "write": "Then give its id as `proposal` to the tools that write, and as `ref` to those that read",
        "review": "update_proposal {proposal, action: submit} asks for a review when it is ready",
    }


def _example(given: Given) -> dict[str, Any]:
    example = {"title": "Describe rate limits", "description": "Clients ask what happens at 429."}
    return {**example, **arguments_of(given, ("title", "description", "submit"))}


def _run(context: Context, given: Given) -> Answer:
    asked = read(CreateProposalArguments, given)
    if asked.title is None or asked.description is None:
        return _explain(context, given, asked)
    proposing = context.workspace.proposing()
    proposal = proposing.open(
        asked.title,
        asked.description,
        actor_of(context, TOOL.name),
        submit=asked.submit,
        request=asked.idempotency_key,
    )
    words = proposal.words
    data: Data = {
        "created": True,
        "proposal": proposal.id,
        "title": escape_invisible(words.title),
        "branch": words.branch,
        "target": words.target,
        "state": proposal.state.value,
        "overlaps": overlaps_of(context, proposal.id),
        "commit": commit_of(context, proposal),
        "next_step": first_write_step(context, proposal.id)
        if proposal.is_open
        else ended_proposal_step(context, proposal.id),
    }
    hints: list[str] = []
    if asked.submit and proposal.tip != proposal.words.base:
        pull_request, hints = announce(proposing, proposal)
        data |= pull_request
    if same := _with_same_title(proposing.all(), proposal):
        hints.append(f"open proposals with the same title: {', '.join(same)}")
    if hints:
        data["hints"] = hints
    return Answer(data)


def _explain(context: Context, given: Given, asked: CreateProposalArguments) -> Answer:
    """Return the answer to a call with too little to open a proposal: how to call, and what is open."""
    data: Data = {"usage": dict(_usage(given))}
    if without_nulls(given):
        missing = [name for name in ("title", "description") if getattr(asked, name) is None]
        data |= {"created": False, "missing": missing}
    data["open"] = latest_open(context.workspace.proposing().all(), _SHOWN)
    fields = {"title": _TITLE, "description": _DESCRIPTION, **arguments_of(given, ("title", "description"))}
    step = NextStep("Open one with ", call("create_proposal", **fields))
    return Answer({**data, "commit": context.workspace.tip(), "next_step": step})


def _with_same_title(proposals: Sequence[Proposal], proposal: Proposal) -> list[str]:
    title = proposal.words.title.casefold()
    others = (one for one in proposals if one.is_open and one.id != proposal.id)
    return [one.id for one in others if one.words.title.casefold() == title][:_SHOWN]


TOOL = Tool(
    name="create_proposal",
    title="Open a proposal",
    toolset="proposals",
    description="Open a proposal: changes on a branch of their own, to be reviewed and merged. Give its id "
    "as `proposal` to the tools that write, and as `ref` to those that read.",
    arguments=CreateProposalArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    idempotent=False,
)
