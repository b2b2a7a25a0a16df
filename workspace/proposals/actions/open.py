"""A proposal is opened: its branch first, then its words, so that no words are of a branch that never was.

A direct write of what only a proposal may change becomes a proposal: opened for it, and written there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workspace.branch import check_branch
from workspace.git import trees
from workspace.git.messages import TRAILER, read_trailers, what_was_done
from workspace.git.store import writable
from workspace.policy.protection import Protected
from workspace.proposal_ids import id_for, new_id
from workspace.proposals import events as said
from workspace.proposals.actions.register import (
    ProposalEnded,
    Proposed,
    begin,
    begun,
    key_reused,
    target_of,
    target_tip,
)
from workspace.proposals.events import MAX_TITLE, Opened, Submitted, one_line, plain
from workspace.proposals.proposal import ProposalNotFound, State
from workspace.publishing.after_commit import note_commit, preliminary_commits
from workspace.snapshot.overlay import Overlay
from workspace.writing.idempotency import request_log
from workspace.writing.plan import Plan
from workspace.writing.write import Call, Written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.branch import Branch
    from workspace.errors import WorkspaceError
    from workspace.proposals.actions.register import Actor, Register
    from workspace.proposals.events import Words
    from workspace.proposals.proposal import Proposal
    from workspace.writing.idempotency import Recorded, Request


def open_proposal(
    register: Register, title: str, description: str, actor: Actor, *, submit: bool, request: str | None
) -> Proposal:
    """Open a proposal to the served branch, at its tip.

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


def _check_unused(workspace: Branch, key: str, tips: Iterable[str | None]) -> None:
    """Raise KeyReused where a write of this key is in the history of a tip."""
    for tip in tips:
        recorded = request_log(workspace).find(tip, key)
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
    """Say what is proposed on a branch that is there. Raises what `EventLog.append` raises."""
    tip = register.workspace.on(branch).tip()
    assert tip is not None
    bases = register.workspace.git.merge_bases(target_tip(register.workspace, target), tip)
    words: list[Words] = [Opened(title, description, target, branch, bases[0] if bases else tip)]
    if submit:
        words.append(Submitted(tip))
    register.say(id, words, actor, request, check=lambda: check_branch(register.workspace.git, branch))
    return register.one(id)


_TITLE = "Change what is protected"


_MAX_DESCRIPTION = 20_000


def propose(register: Register, call: Call, actor: Actor) -> Proposed:
    """Write a call's operations to a new proposal; nothing is opened where they change nothing.

    The branch comes first, then what is written, then the words: whatever a crash leaves before the end shows
    nowhere, and the same call with its key completes it. Where nothing could be written to the branch, it is
    removed again. Raises what `Workspace.write` raises, InvalidTarget,
    and ProposalEnded where the same call was written to a branch that is gone.
    """
    workspace = call.workspace
    writable(workspace.git)
    target, tip = target_of(workspace)
    key = call.request.key if call.request is not None and not call.dry_run else None
    id = id_for(key) if key is not None else new_id(register.ids())
    if key is not None and call.request is not None and id in register.ids():
        repeated = _repeated(register, id, call.request)
        if repeated is None:
            raise _lost(register, id)
        return repeated
    planned = replace(call, dry_run=True, is_free=True).write()
    if call.dry_run or not planned.changes:
        return Proposed(None, planned)
    title, description = _words(call, planned)
    branch = begun(workspace.git, id, title)
    with begin(register, id, branch, planned.commit or tip):
        with workspace.turn, preliminary_commits():
            done = replace(call, workspace=workspace.on(branch)).write()
        if not done.changes and done.repeated is None:
            return Proposed(None, done)
        proposal = tell(register, id, title, description, target, branch, actor, submit=False, request=key)
        return Proposed(proposal, done)


def check_not_proposed(register: Register, request: Request) -> None:
    """Raise Protected if a call of this key became a proposal: what it wrote there may be merged by now."""
    id = id_for(request.key)
    earlier = _repeated(register, id, request) if id in register.ids() else None
    if earlier is not None and earlier.written.commit is not None:
        git = register.workspace.git
        commit = git.commit(earlier.written.commit)
        before = git.commit(commit.parents[0]).tree if commit.parents else None
        raise Protected(sorted(change.path for change in trees.changes(git, before, commit.tree)))


def is_taken(register: Register, key: str) -> bool:
    """Whether a call of this key became a proposal, or opened one; not if the served branch itself has it."""
    id = id_for(key)
    if _found(register, id) is None:
        return False
    workspace = register.workspace
    recorded = request_log(workspace).find(workspace.tip(), key)
    return recorded is None or _is_of(workspace, recorded, id)


def written(workspace: Branch, proposal: Proposal, request: Request) -> Written | None:
    """Return what an earlier call with the same key has written to a proposal. Raises KeyReused."""
    at = proposal.landing.tip if proposal.landing is not None else proposal.tip
    recorded = request_log(workspace).repeated(at, request)
    if recorded is None or not _is_of(workspace, recorded, proposal.id):
        return None
    snapshot = workspace.snapshot(at)
    return Written(recorded.commit, False, Plan(snapshot, Overlay(snapshot), (), {}), recorded)


def _repeated(register: Register, id: str, request: Request) -> Proposed | None:
    """Return what an earlier call with the same key has written to its proposal. Raises KeyReused."""
    proposal = _found(register, id)
    earlier = written(register.workspace, proposal, request) if proposal is not None else None
    return Proposed(proposal, earlier) if earlier is not None else None


def _lost(register: Register, id: str) -> WorkspaceError:
    """The error for a key whose proposal does not hold the call: its branch is gone, or it is another's."""
    proposal = _found(register, id)
    if proposal is not None and proposal.tip is None and proposal.landing is None:
        return ProposalEnded(proposal._replace(state=State.GONE))
    return key_reused(proposal=id)


def _found(register: Register, id: str) -> Proposal | None:
    if id not in register.ids():
        return None
    try:
        return register.one(id)
    except ProposalNotFound:
        return None


def _is_of(workspace: Branch, recorded: Recorded, id: str) -> bool:
    """Return True if a commit was written to a proposal, and not to the branch on which that began."""
    return read_trailers(workspace.git.commit(recorded.commit).message).get(TRAILER) == id


def _words(call: Call, planned: Written) -> tuple[str, str]:
    """Return the title and description of a proposal that nobody worded: as a commit of it would say."""
    said, done = what_was_done(planned.plan.summaries, paths=sorted(planned.changes), message=call.message)
    subject, _, rest = said.partition("\n")
    title = one_line(subject)
    if len(title) > MAX_TITLE:
        rest = f"…{title[MAX_TITLE - 1 :]}\n\n{rest}"
        title = f"{title[: MAX_TITLE - 1]}…"
    body = "\n\n".join(part for part in (rest.strip(), done) if part)
    return title or _TITLE, plain(body)[:_MAX_DESCRIPTION]
