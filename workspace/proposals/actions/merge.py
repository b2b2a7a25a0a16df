"""The merge of a proposal into its target: one commit with both as parents, if the policy allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git.messages import PROPOSAL_TRAILER, format_commit_message
from workspace.git.store import require_writable
from workspace.merge.commits import MergeConflict, commit_merge
from workspace.policy.tokens import Tokens
from workspace.proposals.actions.discuss import NeedsPerson, ProposalMoved, needs_person_error
from workspace.proposals.actions.merge_gate import evaluate_merge, find_blocker_for_actor
from workspace.proposals.actions.repository import (
    ActionResult,
    NothingProposed,
    ProposalEnded,
    check_not_ended,
    resolve_target_tip,
)
from workspace.proposals.events import KnownBy
from workspace.proposals.proposal import ProposalState
from workspace.publishing.locks import Busy
from workspace.writing.write import build_trailers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.merge.trees import Merge
    from workspace.policy.tokens import KnownPerson, Person
    from workspace.proposals.actions.merge_gate import MergeEvaluation
    from workspace.proposals.actions.repository import Actor, ProposalRepository
    from workspace.proposals.proposal import Proposal

_ATTEMPTS = 4


class MergeBlocked(WorkspaceError):
    """The target's policy does not allow the merge; `blocks` are the codes and messages."""

    code: ClassVar[str] = "MERGE_BLOCKED"

    def __init__(self, proposal: Proposal, judgement: MergeEvaluation, first: tuple[str, str]) -> None:
        blocks = list(dict.fromkeys([first, *((block.code, block.message) for block in judgement.blockers)]))
        super().__init__(
            f"the proposal '{proposal.id}' may not be merged: {first[1]}",
            fix="View the proposal: it says what is missing.",
            proposal=proposal.id,
            blocks=[{"code": code, "message": message} for code, message in blocks],
        )
        self.evaluation = judgement


class _ProposalChanged(Exception):
    """The proposal, its discussion or the tokens have changed since the judgement."""


def merge(register: ProposalRepository, name: str, actor: Actor, commit: str | None) -> ActionResult:
    """Merge a proposal into its target; one that is already merged stays as it is, without an error.

    With `commit`, only if the proposal is at that commit. What is in conflict is decided by a refresh of the
    proposal, so that nothing comes in that no reviewer has seen. Gate, approvals and checks are judged for
    the target's tip; where that, the proposal, what is said of it, or a token changes meanwhile, they are
    judged again.

    Raises MergeConflict, MergeBlocked, NeedsPerson, NothingProposed, ProposalMoved, ProposalEnded,
    InvalidTarget, what a guard of the workspace raises, and what `commit_merge` raises.
    """
    require_writable(register.workspace.git)
    for _ in range(_ATTEMPTS):
        proposal = register.find(name)
        if proposal.state is ProposalState.MERGED:
            return _already_merged_result(proposal, commit)
        check_not_ended(proposal)
        try:
            return _try_merge(register, proposal, actor, commit)
        except _ProposalChanged:
            continue
    raise Busy(f"the proposal was changed {_ATTEMPTS} times while it was merged; nothing was merged")


def _try_merge(
    register: ProposalRepository, proposal: Proposal, actor: Actor, commit: str | None
) -> ActionResult:
    workspace, target, tip = register.workspace, proposal.content.target, proposal.tip
    assert tip is not None
    if commit is not None and commit != tip:
        raise ProposalMoved(
            f"the proposal '{proposal.id}' is not at that commit any more",
            fix="View the proposal again, and merge it as it is now.",
            proposal=proposal.id,
            tip=tip,
        )
    if tip in workspace.git.merge_bases(resolve_target_tip(workspace, target), tip):
        _check_not_merged_meanwhile(register, proposal)
        raise NothingProposed(
            f"the proposal '{proposal.id}' has no commit of its own, so there is nothing to merge",
            fix=f"Write to it with proposal '{proposal.id}', or close it.",
            proposal=proposal.id,
        )

    tokens = Tokens(workspace.git.common_dir)
    believed: Mapping[str, KnownPerson] | None = None

    def check(merge: Merge) -> None:
        nonlocal believed
        believed = tokens.all() if merge.ours.config.protect else None
        if believed is not None and actor.person is not None and not _is_known(actor.person, believed):
            raise needs_person_error(proposal.id, "merge")
        judgement = evaluate_merge(register, proposal, merge)
        is_client = actor.person is None and actor.author.known_by is KnownBy.CLIENT
        block = find_blocker_for_actor(judgement, actor.person, is_client=is_client)
        if block is not None and block.code == NeedsPerson.code:
            raise needs_person_error(proposal.id, "merge")
        if block is not None:
            raise MergeBlocked(proposal, judgement, (block.code, block.message))
        if target == workspace.branch:
            for guard in tuple(workspace.guards.values()):
                guard(merge.ours, merge.changes)

    def confirm() -> None:
        now = register.find(proposal.id)
        if (now.tip, now.content, now.unread) != (tip, proposal.content, proposal.unread):
            raise _ProposalChanged
        # In the writer's turn, in which tokens are revoked too: what is revoked before does not count.
        if believed is not None and tokens.all() != believed:
            raise _ProposalChanged

    def message(merge: Merge) -> str:
        return format_commit_message(
            [f"Merge proposal {proposal.id}: {proposal.content.title}"],
            paths=[],
            message=None,
            tool=actor.tool,
            client=actor.client,
            trailers={**build_trailers("", actor.person), PROPOSAL_TRAILER: proposal.id},
        )

    with workspace.turn:
        try:
            merged = commit_merge(
                workspace, target, tip, message=message, check=check, confirm=confirm, person=actor.person
            )
        except MergeConflict as conflict:
            raise _needs_refresh_error(proposal, conflict) from conflict
    if not merged.is_new:
        _check_not_merged_meanwhile(register, proposal)
    return ActionResult(register.read_latest(proposal), merged.commit, merged.is_new, merged.merge)


def _check_not_merged_meanwhile(register: ProposalRepository, proposal: Proposal) -> None:
    """Raise _ProposalChanged if the target has the proposal's commits by a merge meanwhile."""
    if register.find(proposal.id).state is not proposal.state:
        raise _ProposalChanged


def _is_known(person: Person, tokens: Mapping[str, KnownPerson]) -> bool:
    known = tokens.get(person.token)
    return known is not None and known.person == person


def _already_merged_result(proposal: Proposal, commit: str | None) -> ActionResult:
    landing = proposal.merge_record
    if landing is None or (commit is not None and commit != landing.tip):
        raise ProposalEnded(proposal)
    return ActionResult(proposal, landing.commit or landing.tip, False)


def _needs_refresh_error(proposal: Proposal, conflict: MergeConflict) -> MergeConflict:
    conflict.fix = (
        f"Refresh the proposal '{proposal.id}', and decide each conflict there: what is decided is then seen "
        "by its reviewers."
    )
    return conflict
