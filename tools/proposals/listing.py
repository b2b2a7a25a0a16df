"""The list of proposals: the newest first, a page at a time, of one state or of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.arguments import InvalidArguments
from tools.cursors import read_place, write_place
from tools.errors import Answer, Data, NextStep, call
from tools.proposals.descriptions import in_brief
from workspace.document.addresses import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.context import Context
    from tools.proposals.view_proposal import ViewProposalArguments
    from workspace.proposals import Proposal

STATES = ("open", "draft", "changes_requested", "approved", "merged", "closed", "gone", "any")
"""What the list can be asked for."""


def list_proposals(context: Context, asked: ViewProposalArguments, usage: Mapping[str, object]) -> Answer:
    """A page of the proposals, the one that was opened last first. Raises InvalidArguments, StaleCursor."""
    state = asked.state or "any"
    if state not in STATES:
        near = nearest(state, STATES)
        fix = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(STATES)}."
        raise InvalidArguments(f"no state '{state[:50]}'", fix=fix, field="state", nearest=near)
    every = context.workspace.proposing().all()
    found = [one for one in every if _is(one, state)]
    search = ["proposals", state]
    first = 0
    if asked.cursor is not None:
        # By what was shown last, so that a proposal that is opened meanwhile moves nothing.
        last = read_place(asked.cursor, None, search)
        first = sum(_place(one) >= last for one in found)
    page = found[first : first + asked.limit]
    is_end = first + len(page) >= len(found)
    cursor = None if is_end else write_place(_place(page[-1]), None, search)
    data: Data = {
        "proposals": [in_brief(one) for one in page],
        "total": len(found),
        "states": {name: sum(one.state.value == name for one in every) for name in STATES if name != "any"},
        "next_cursor": cursor,
        "commit": context.workspace.tip(),
        "usage": dict(usage),
    }
    return Answer({**data, "next_step": _after_list(context, page, cursor, asked)})


def _is(proposal: Proposal, state: str) -> bool:
    """Whether a proposal is listed; "open" are all that have not ended, as on the command line."""
    if state == "open":
        return proposal.is_open
    return state == "any" or proposal.state.value == state


def _place(proposal: Proposal) -> str:
    """Where a proposal stands in the list; a later one has the greater place."""
    return f"{proposal.words.opened.isoformat(timespec='milliseconds')} {proposal.id}"


def _after_list(
    context: Context, page: Sequence[Proposal], cursor: str | None, asked: ViewProposalArguments
) -> NextStep:
    if cursor is not None:
        fields = asked.model_dump(exclude_unset=True, exclude_none=True, exclude={"cursor"})
        return NextStep("See more with ", call("view_proposal", **fields, cursor=cursor))
    if page:
        best = next((one for one in page if one.is_open), page[0])
        return NextStep("Look at one with ", call("view_proposal", proposal=best.id))
    if asked.state is not None and asked.state != "any":
        return NextStep(f"None is {asked.state}; see all with ", call("view_proposal"))
    if context.offers("create_proposal"):
        return NextStep("None was opened yet; open one with ", call("create_proposal"))
    return NextStep("None was opened yet; look again with ", call("view_proposal"))
