"""A proposal is opened: its branch first, then its words, so that no words are of a branch that never was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.branch import check_branch
from workspace.git import writable
from workspace.proposal_ids import id_for, new_id
from workspace.proposals import events as said
from workspace.proposals.actions.branches import begin, begun, target_of, target_tip
from workspace.proposals.actions.register import key_reused
from workspace.proposals.events import Opened, Submitted
from workspace.publishing.after_commit import note_commit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.proposals.actions.actor import Actor
    from workspace.proposals.actions.register import Register
    from workspace.proposals.events import Words
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace


def open_proposal(
    register: Register, title: str, description: str, actor: Actor, *, submit: bool, request: str | None
) -> Proposal:
    """Opens a proposal to the served branch, at its tip.

    A call that fails after the branch was made removes it again. A crash leaves nothing that is shown; the
    call sent again with its key takes that branch. Raises InvalidWords, InvalidTarget, DetachedHead,
    ReadOnly, KeyReused, and what `Publication` raises.
    """
    writable(register.workspace.git)
    target, tip = target_of(register.workspace)
    title = said.title(title)
    description = said.text(description, "description", may_be_empty=True)
    taken = register.ids()
    id = id_for(request) if request is not None else new_id(taken)
    if request is not None and id in taken:
        asked: list[Words] = [Opened(title, description, target, "", None)]
        earlier = register.earlier(id, [*asked, Submitted("")] if submit else asked, request)
        if earlier is None:
            raise key_reused(proposal=id)
        note_commit(earlier.commit, proposal=id)
        return register.one(id)
    branch = begun(register.workspace.git, id, title)
    if request is not None:
        _check_unused(register.workspace, request, (tip, register.workspace.git.tip(branch)))
    with begin(register, id, branch, tip):
        return tell(register, id, title, description, target, branch, actor, submit=submit, request=request)


def _check_unused(workspace: Workspace, key: str, tips: Iterable[str | None]) -> None:
    """Raises KeyReused where a write of this key is in the history of a tip."""
    for tip in tips:
        recorded = workspace.requests().find(tip, key)
        if recorded is not None:
            raise key_reused(used_in=recorded.commit)


def tell(
    register: Register,
    id: str,
    title: str,
    description: str,
    target: str,
    branch: str,
    actor: Actor,
    *,
    submit: bool,
    request: str | None,
) -> Proposal:
    """Says what is proposed on a branch that is there. Raises what `EventLog.append` raises."""
    tip = register.workspace.on(branch).tip()
    assert tip is not None
    bases = register.workspace.git.merge_bases(target_tip(register.workspace, target), tip)
    words: list[Words] = [Opened(title, description, target, branch, bases[0] if bases else tip)]
    if submit:
        words.append(Submitted(tip))
    register.say(id, words, actor, request, check=lambda: check_branch(register.workspace.git, branch))
    return register.one(id)
