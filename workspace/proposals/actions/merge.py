"""The merge of a proposal into its target: one commit with both as parents, if the policy allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git.messages import PROPOSAL_TRAILER, format_commit_message
from workspace.git.store import require_writable
from workspace.merge.commits import MergeConflict, commit_merge
from workspace.proposals.actions.discuss import ProposalMoved
from workspace.proposals.actions.merge_gate import NEEDS_APPROVAL, evaluate_merge, find_blocker_for_actor
from workspace.proposals.actions.repository import (
    ActionResult,
    NothingProposed,
    ProposalEnded,
    check_not_ended,
    has_no_commits,
    resolve_target_tip,
)
from workspace.proposals.approvals import NeedsPerson, make_needs_person_error, make_needs_review_scope_error
from workspace.proposals.events import IdentitySource
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

_MAX_ATTEMPTS = 4


class MergeBlocked(WorkspaceError):
    """An error: the target's policy does not allow a merge. `blocks` are the blockers' codes and messages."""

    code: ClassVar[str] = "MERGE_BLOCKED"

    def __init__(
        self, proposal: Proposal, evaluation: MergeEvaluation, first_blocker: tuple[str, str]
    ) -> None:
        blocks = list(
            dict.fromkeys([first_blocker, *((block.code, block.message) for block in evaluation.blockers)])
        )
        super().__init__(
            f"the proposal '{proposal.id}' may not be merged: {first_blocker[1]}",
            fix=f"A person runs `docyard proposals approve {proposal.id}`, and then `docyard proposals merge "
            f"{proposal.id}`, in a terminal of their own."
            if any(code == NEEDS_APPROVAL for code, _ in blocks)
            else "View the proposal to see what is missing.",
            proposal=proposal.id,
            blocks=[{"code": code, "message": message} for code, message in blocks],
        )
        self.evaluation = evaluation


class _ProposalChanged(Exception):
    """An error: a proposal, its discussion or the tokens have changed since the evaluation."""


def merge(repository: ProposalRepository, name: str, actor: Actor, commit: str | None) -> ActionResult:
    """Merge a proposal into its target; return a merged proposal unchanged, without an error.

    If `commit` is given, the proposal must be at that commit. Conflicts are resolved by a refresh of the
    proposal, so that reviewers see all merged text. Rules, approvals and checks are evaluated for the
    target's tip. They are evaluated again if the tip, the proposal, its discussion or a token
    changes before the commit.

    Raises MergeConflict, MergeBlocked, NeedsPerson, NothingProposed, ProposalMoved, ProposalEnded,
    InvalidTarget, ReadOnly, Busy if the proposal changes at each of four attempts, the errors of the
    workspace's guards, and those of `commit_merge`.
    """
    require_writable(repository.workspace.git)
    for _ in range(_MAX_ATTEMPTS):
        proposal = repository.find(name)
        if proposal.state is ProposalState.MERGED:
            return _make_already_merged_result(proposal, commit)
        check_not_ended(proposal)
        try:
            return _try_merge(repository, proposal, actor, commit)
        except _ProposalChanged:
            continue
    raise Busy(f"the proposal was changed {_MAX_ATTEMPTS} times while it was merged; nothing was merged")


def _try_merge(
    repository: ProposalRepository, proposal: Proposal, actor: Actor, commit: str | None
) -> ActionResult:
    workspace, target, tip = repository.workspace, proposal.content.target, proposal.tip
    assert tip is not None
    if commit is not None and commit != tip:
        raise ProposalMoved(
            f"the proposal '{proposal.id}' is at {tip[:8]}, and not at {commit[:8]}",
            fix="View the proposal again, and merge it as it is now.",
            proposal=proposal.id,
            tip=tip,
        )
    if has_no_commits(workspace, proposal, resolve_target_tip(workspace, target)):
        _check_not_merged(repository, proposal)
        raise NothingProposed(proposal, "merge")

    tokens = workspace.tokens
    checked_tokens: Mapping[str, KnownPerson] | None = None

    def check_policy(merge: Merge) -> None:
        nonlocal checked_tokens
        checked_tokens = tokens.read_all() if merge.ours.config.protect else None
        if (
            checked_tokens is not None
            and actor.person is not None
            and not _is_known(actor.person, checked_tokens)
        ):
            raise make_needs_person_error(proposal.id, "merge")
        evaluation = evaluate_merge(repository, proposal, merge)
        is_client = actor.person is None and actor.author.known_by is IdentitySource.CLIENT
        blocker = find_blocker_for_actor(
            evaluation, actor.person, may_review=actor.may_review, is_client=is_client
        )
        if blocker is not None and blocker.code == NeedsPerson.code:
            make_error = make_needs_person_error if actor.may_review else make_needs_review_scope_error
            raise make_error(proposal.id, "merge")
        if blocker is not None:
            raise MergeBlocked(proposal, evaluation, (blocker.code, blocker.message))
        if target == workspace.branch:
            for guard in tuple(workspace.guards.values()):
                guard(merge.ours, merge.changes)

    def confirm_unchanged() -> None:
        current = repository.find(proposal.id)
        if (current.tip, current.content, current.unread_event_count) != (
            tip,
            proposal.content,
            proposal.unread_event_count,
        ):
            raise _ProposalChanged
        # The write lock also guards the revocation of tokens: a token revoked before does not count.
        if checked_tokens is not None and tokens.read_all() != checked_tokens:
            raise _ProposalChanged

    def build_message(merge: Merge) -> str:
        return format_commit_message(
            [f"Merge proposal {proposal.id}: {proposal.content.title}"],
            paths=[],
            message=None,
            tool=actor.tool,
            client=actor.client,
            trailers={**build_trailers("", actor.person), PROPOSAL_TRAILER: proposal.id},
        )

    with workspace.writer_lock:
        try:
            merge_result = commit_merge(
                workspace,
                target,
                tip,
                build_message=build_message,
                check_merge=check_policy,
                confirm=confirm_unchanged,
                person=actor.person,
            )
        except MergeConflict as conflict:
            raise _add_refresh_fix(proposal, conflict) from conflict
    if not merge_result.is_new:
        _check_not_merged(repository, proposal)
    return ActionResult(
        repository.read_latest(proposal), merge_result.commit, merge_result.is_new, merge_result.merge
    )


def _check_not_merged(repository: ProposalRepository, proposal: Proposal) -> None:
    """Raise _ProposalChanged if another call merged the proposal."""
    if repository.find(proposal.id).state is not proposal.state:
        raise _ProposalChanged


def _is_known(person: Person, tokens: Mapping[str, KnownPerson]) -> bool:
    known_person = tokens.get(person.token)
    return known_person is not None and known_person.person == person


def _make_already_merged_result(proposal: Proposal, commit: str | None) -> ActionResult:
    record = proposal.merge_record
    if record is None or (commit is not None and commit != record.tip):
        raise ProposalEnded(proposal)
    return ActionResult(proposal, record.commit or record.tip, False)


def _add_refresh_fix(proposal: Proposal, conflict: MergeConflict) -> MergeConflict:
    conflict.fix = (
        f"Refresh the proposal '{proposal.id}', and resolve each conflict there: its reviewers then see "
        "the resolutions."
    )
    return conflict
