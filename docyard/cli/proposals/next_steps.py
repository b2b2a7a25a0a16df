"""What is done about what a proposal lacks: the next command, and whose token a merge needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docyard.cli.proposals.actions import approve, next_step, switch
from docyard.cli.proposals.lines import joined
from workspace.proposals import State

if TYPE_CHECKING:
    from docyard.cli.proposals.view import View


def next_of(view: View) -> str:
    """What is to be done next with a proposal that somebody has looked at: a command."""
    one = view.proposal
    if one.is_open and view.preview.is_empty:
        return f"{switch(one)}, commit there, then docyard proposals submit {one.id}"
    if one.state not in (State.OPEN, State.APPROVED):
        return next_step(one)
    if view.preview.conflicts:
        return f"docyard proposals conflicts {one.id}"
    if view.lacking.unreviewed is not None:
        return f"docyard proposals refresh {one.id}"
    return approve(one) if view.lacking.blocks else f"docyard proposals merge {one.id}"


def token_needed(view: View) -> str | None:
    """Whose token a merge needs: of some people, or of any; None where it needs none."""
    demands = view.lacking.demands
    if not demands:
        return None
    named = [demand.may_merge for demand in demands if demand.may_merge]
    if not named:
        return "a person's token"
    allowed = [name for name in named[0] if all(name in others for others in named)]
    return (
        f"the token of {joined(allowed, 'or')}"
        if allowed
        else "a token that each of the rules allows, and there is none"
    )
