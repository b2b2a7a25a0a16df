"""A proposal is merged into its target: one commit with both as parents, if the target's policy lets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git.messages import TRAILER, commit_message
from workspace.git.store import writable
from workspace.merge.commits import MergeConflict, commit_merge
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.discuss import NeedsPerson, ProposalMoved, needs_person
from workspace.proposals.actions.merge_gate import judged, may_merge
from workspace.proposals.actions.register import (
    Acted,
    NothingProposed,
    ProposalEnded,
    check_alive,
    target_tip,
)
from workspace.proposals.events import KnownBy
from workspace.proposals.proposal import State
from workspace.publishing.locks import Busy
from workspace.writing.write import trailers_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.merge.trees import Merge
    from workspace.policy.tokens import Known, Person
    from workspace.proposals.actions.merge_gate import Judgement
    from workspace.proposals.actions.register import Actor, Register
    from workspace.proposals.proposal import Proposal

_ATTEMPTS = 4


class MergeBlocked(WorkspaceError):
    """The target's policy does not let a proposal be merged; `blocks` are the codes and words of why."""

    code: ClassVar[str] = "MERGE_BLOCKED"

    def __init__(self, proposal: Proposal, judgement: Judgement, first: tuple[str, str]) -> None:
        blocks = list(dict.fromkeys([first, *((block.code, block.message) for block in judgement.blocks)]))
        super().__init__(
            f"the proposal '{proposal.id}' may not be merged: {first[1]}",
            fix="View the proposal: it says what is missing.",
            proposal=proposal.id,
            blocks=[{"code": code, "message": message} for code, message in blocks],
        )
        self.judgement = judgement


class _Changed(Exception):
    """The proposal, what is said of it, or whose tokens are known, has changed since it was judged."""


def merge(register: Register, name: str, actor: Actor, commit: str | None) -> Acted:
    """Merge a proposal into its target; one that is merged already stays as it is, and is no error.

    With `commit`, only if the proposal is at that commit. What is in conflict is decided by a refresh of the
    proposal, so that nothing comes in that no reviewer has seen. Gate, approvals and checks are judged for
    the target's tip; where that, the proposal, what is said of it, or a token changes meanwhile, they are
    judged again.

    Raises MergeConflict, MergeBlocked, NeedsPerson, NothingProposed, ProposalMoved, ProposalEnded,
    InvalidTarget, what a guard of the workspace raises, and what `commit_merge` raises.
    """
    writable(register.workspace.git)
    for _ in range(_ATTEMPTS):
        proposal = register.one(name)
        if proposal.state is State.MERGED:
            return _merged_already(proposal, commit)
        check_alive(proposal)
        try:
            return _merged(register, proposal, actor, commit)
        except _Changed:
            continue
    raise Busy(f"the proposal was changed {_ATTEMPTS} times while it was merged; nothing was merged")


def _merged(register: Register, proposal: Proposal, actor: Actor, commit: str | None) -> Acted:
    workspace, target, tip = register.workspace, proposal.words.target, proposal.tip
    assert tip is not None
    if commit is not None and commit != tip:
        raise ProposalMoved(
            f"the proposal '{proposal.id}' is not at that commit any more",
            fix="View the proposal again, and merge it as it is now.",
            proposal=proposal.id,
            tip=tip,
        )
    if tip in workspace.git.merge_bases(target_tip(workspace, target), tip):
        _check_as_it_was(register, proposal)
        raise NothingProposed(
            f"the proposal '{proposal.id}' has no commit of its own, so there is nothing to merge",
            fix=f"Write to it with proposal '{proposal.id}', or close it.",
            proposal=proposal.id,
        )

    tokens = Tokens(workspace.git.common_dir)
    believed: Mapping[str, Known] | None = None

    def check(merge: Merge) -> None:
        nonlocal believed
        believed = tokens.all() if merge.ours.config.protect else None
        if believed is not None and actor.person is not None and not _is_known(actor.person, believed):
            raise needs_person(proposal.id, "merge")
        judgement = judged(register, proposal, merge)
        is_client = actor.person is None and actor.author.known_by is KnownBy.CLIENT
        block = may_merge(judgement, actor.person, is_client=is_client)
        if block is not None and block.code == NeedsPerson.code:
            raise needs_person(proposal.id, "merge")
        if block is not None:
            raise MergeBlocked(proposal, judgement, (block.code, block.message))
        if target == workspace.branch:
            for guard in tuple(workspace.guards.values()):
                guard(merge.ours, merge.changes)

    def confirm() -> None:
        now = register.one(proposal.id)
        if (now.tip, now.words, now.unread) != (tip, proposal.words, proposal.unread):
            raise _Changed
        # In the writer's turn, in which tokens are revoked too: what is revoked before does not count.
        if believed is not None and tokens.all() != believed:
            raise _Changed

    def message(merge: Merge) -> str:
        return commit_message(
            [f"Merge proposal {proposal.id}: {proposal.words.title}"],
            paths=[],
            message=None,
            tool=actor.tool,
            client=actor.client,
            trailers={**trailers_of("", actor.person), TRAILER: proposal.id},
        )

    with workspace.turn:
        try:
            merged = commit_merge(
                workspace, target, tip, message=message, check=check, confirm=confirm, person=actor.person
            )
        except MergeConflict as conflict:
            raise _to_be_refreshed(proposal, conflict) from conflict
    if not merged.is_new:
        _check_as_it_was(register, proposal)
    return Acted(register.latest(proposal), merged.commit, merged.is_new, merged.merge)


def _check_as_it_was(register: Register, proposal: Proposal) -> None:
    """Raise _Changed where the target has a proposal's commits because it was merged meanwhile."""
    if register.one(proposal.id).state is not proposal.state:
        raise _Changed


def _is_known(person: Person, tokens: Mapping[str, Known]) -> bool:
    known = tokens.get(person.token)
    return known is not None and known.person == person


def _merged_already(proposal: Proposal, commit: str | None) -> Acted:
    landing = proposal.landing
    if landing is None or (commit is not None and commit != landing.tip):
        raise ProposalEnded(proposal)
    return Acted(proposal, landing.commit or landing.tip, False)


def _to_be_refreshed(proposal: Proposal, conflict: MergeConflict) -> MergeConflict:
    conflict.fix = (
        f"Refresh the proposal '{proposal.id}', and decide each conflict there: what is decided is then seen "
        "by its reviewers."
    )
    return conflict
