"""The opening of a proposal. The branch is created before the event, so that each event has a branch.

A direct write to a protected path opens a proposal, and is written to its branch.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from workspace.branch import check_branch
from workspace.git import trees
from workspace.git.messages import PROPOSAL_TRAILER, read_trailers, summarize_operations
from workspace.git.store import require_writable
from workspace.policy.protection import Protected
from workspace.proposal_ids import derive_id, generate_id
from workspace.proposals.actions import drafts
from workspace.proposals.actions.repository import (
    ProposalEnded,
    ProposedWrite,
    create_branch_with_rollback,
    find_target,
    find_unfinished_branch,
    make_key_reused_error,
    resolve_target_tip,
)
from workspace.proposals.events import (
    MAX_TITLE_CHARACTERS,
    Opened,
    Submitted,
    join_lines,
    remove_controls,
    validate_text,
    validate_title,
)
from workspace.proposals.proposal import ProposalNotFound, ProposalState
from workspace.publishing.after_commit import ignore_preliminary_commits, note_commit
from workspace.snapshot.overlay import Overlay
from workspace.writing.idempotency import get_request_log
from workspace.writing.plan import Plan
from workspace.writing.write import WriteRequest, WriteResult

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.branch import Branch
    from workspace.errors import WorkspaceError
    from workspace.proposals.actions.repository import Actor, ProposalRepository
    from workspace.proposals.events import EventBody
    from workspace.proposals.proposal import Proposal
    from workspace.writing.idempotency import KeyedRequest, RecordedRequest


def open_proposal(
    repository: ProposalRepository,
    title: str,
    description: str,
    actor: Actor,
    *,
    submit: bool,
    key: str | None,
) -> Proposal:
    """Open a proposal to the served branch, at its tip.

    A call that fails after the branch was created removes the branch. After a crash the branch may remain but
    is not listed; a retry with the same key uses it. Raises InvalidEventText, InvalidTarget, DetachedHead,
    ReadOnly, KeyReused, and the errors of `Publication`.
    """
    require_writable(repository.workspace.git)
    target, tip = find_target(repository.workspace)
    title = validate_title(title)
    description = validate_text(description, "description", may_be_empty=True)
    used_ids = repository.list_ids()
    id = derive_id(key) if key is not None else generate_id(used_ids)
    if key is not None and id in used_ids:
        expected_bodies: list[EventBody] = [Opened(title, description, target, "", None)]
        earlier_result = repository.find_earlier_events(
            id, [*expected_bodies, Submitted("")] if submit else expected_bodies, key
        )
        if earlier_result is None:
            raise make_key_reused_error(proposal=id)
        note_commit(earlier_result.commit, proposal=id)
        return repository.find(id)
    branch = find_unfinished_branch(repository.workspace.git, id, title)
    if key is not None:
        _check_key_unused(repository.workspace, key, (tip, repository.workspace.git.tip(branch)))
    with create_branch_with_rollback(repository, id, branch, tip):
        return append_opened_event(
            repository, id, title, description, target, branch, actor, submit=submit, key=key
        )


def _check_key_unused(workspace: Branch, key: str, tips: Iterable[str | None]) -> None:
    """Raise KeyReused if a write with this key is in the history of a tip."""
    for tip in tips:
        recorded_request = get_request_log(workspace).find_by_key(tip, key)
        if recorded_request is not None:
            raise make_key_reused_error(used_in=recorded_request.commit)


def append_opened_event(
    repository: ProposalRepository,
    id: str,
    title: str,
    description: str,
    target: str,
    branch: str,
    actor: Actor,
    *,
    submit: bool,
    key: str | None,
    is_redirected: bool = False,
) -> Proposal:
    """Append the opening of a proposal on an existing branch. Raises the errors of `EventLog.append`."""
    tip = repository.workspace.for_branch(branch).tip()
    assert tip is not None
    bases = repository.workspace.git.merge_bases(resolve_target_tip(repository.workspace, target), tip)
    base = bases[0] if bases else tip
    bodies: list[EventBody] = [
        Opened(title, description, target, branch, base, True if is_redirected else None)
    ]
    if submit:
        bodies.append(Submitted(tip))
    repository.append(id, bodies, actor, key, check=lambda: check_branch(repository.workspace.git, branch))
    return repository.find(id)


class NewProposal(NamedTuple):
    """The title and description of a proposal that a write opens; `submit` requests a review at once."""

    title: str
    description: str
    submit: bool

    def validate(self) -> NewProposal:
        """Return the proposal with its texts as they are stored. Raises InvalidEventText."""
        return NewProposal(
            validate_title(self.title),
            validate_text(self.description, "description", may_be_empty=True),
            self.submit,
        )


_DEFAULT_TITLE = "Change protected paths"
_MAX_DESCRIPTION_CHARACTERS = 20_000


def propose(
    repository: ProposalRepository,
    call: WriteRequest,
    actor: Actor,
    new_proposal: NewProposal | None = None,
    *,
    is_redirected: bool = False,
) -> ProposedWrite:
    """Write a call's operations to a new proposal; no proposal is opened if they change nothing.

    Without `new_proposal`, the commit message of the call becomes the title and the description. If
    `is_redirected`, a direct write to protected paths is added to the draft of its author and client
    (`drafts.py`).

    The branch is created first, then the operations are written, then the event is appended. An unfinished
    proposal after a crash is not listed, and a retry with the same key completes it. The branch is removed if
    the write fails. Raises the errors of `Workspace.write`, InvalidEventText, InvalidTarget, and
    ProposalEnded if an earlier call with the key wrote to a branch that was deleted.
    """
    workspace = call.workspace
    require_writable(workspace.git)
    target, tip = find_target(workspace)
    key = call.keyed_request.key if call.keyed_request is not None and not call.dry_run else None
    id = derive_id(key) if key is not None else generate_id(repository.list_ids())
    if key is not None and call.keyed_request is not None and id in repository.list_ids():
        earlier_write = _find_earlier_write(repository, id, call.keyed_request)
        if earlier_write is None:
            raise _make_missing_write_error(repository, id)
        return earlier_write
    with drafts.drafts_lock(repository) if is_redirected and not call.dry_run else nullcontext():
        if is_redirected and key is not None and call.keyed_request is not None:
            earlier_write = _find_added_write(repository, call.keyed_request)
            if earlier_write is not None:
                return earlier_write
        planned_result = replace(call, dry_run=True, skip_policy=True).write()
        if call.dry_run or not planned_result.changes:
            return ProposedWrite(None, planned_result)
        # After a crash, the retry of a call with a key completes the branch that the call has created.
        if is_redirected and workspace.git.tip(find_unfinished_branch(workspace.git, id, "")) is None:
            title, _ = _describe_call(call, planned_result)
            added_write = drafts.add_to_draft(repository, call, actor, target, planned_result, title)
            if added_write is not None:
                return added_write
        opening = _Opening(id, target, planned_result.commit or tip, key, is_redirected=is_redirected)
        return _open_with_write(repository, call, actor, new_proposal, opening, planned_result)


class _Opening(NamedTuple):
    """The opening of a proposal by a write: its id, its target and the commit of it, and the call's key."""

    id: str
    target: str
    base: str
    key: str | None
    is_redirected: bool


def _open_with_write(
    repository: ProposalRepository,
    call: WriteRequest,
    actor: Actor,
    new_proposal: NewProposal | None,
    opening: _Opening,
    planned_result: WriteResult,
) -> ProposedWrite:
    """Open a proposal with the operations of a call, which were planned on its target."""
    workspace, id = call.workspace, opening.id
    title, description, submit = new_proposal or (*_describe_call(call, planned_result), False)
    branch = find_unfinished_branch(workspace.git, id, title)
    with create_branch_with_rollback(repository, id, branch, opening.base):
        with workspace.writer_lock, ignore_preliminary_commits():
            result = replace(call, workspace=workspace.for_branch(branch)).write()
        if not result.changes and result.recorded_request is None:
            return ProposedWrite(None, result)
        proposal = append_opened_event(
            repository,
            id,
            title,
            description,
            opening.target,
            branch,
            actor,
            submit=submit,
            key=opening.key,
            is_redirected=opening.is_redirected,
        )
        return ProposedWrite(proposal, result)


def check_not_proposed(repository: ProposalRepository, request: KeyedRequest) -> None:
    """Raise Protected if a call with this key became a proposal, which may be merged by now."""
    id = derive_id(request.key)
    earlier_write = (
        _find_earlier_write(repository, id, request)
        if id in repository.list_ids()
        else _find_added_write(repository, request)
    )
    if earlier_write is not None and earlier_write.result.commit is not None:
        git = repository.workspace.git
        commit = git.commit(earlier_write.result.commit)
        old_tree = git.commit(commit.parents[0]).tree if commit.parents else None
        raise Protected(sorted(change.path for change in trees.diff_trees(git, old_tree, commit.tree)))


def is_key_of_proposal(repository: ProposalRepository, key: str) -> bool:
    """Return True if a call with this key became a proposal or opened one, and is not on the target."""
    id = derive_id(key)
    if _find_proposal(repository, id) is None:
        return False
    workspace = repository.workspace
    recorded_request = get_request_log(workspace).find_by_key(workspace.tip(), key)
    return recorded_request is None or _is_write_to_proposal(workspace, recorded_request, id)


def find_write(workspace: Branch, proposal: Proposal, request: KeyedRequest) -> WriteResult | None:
    """Return the result of an earlier write with the same key to a proposal. Raises KeyReused."""
    tip = proposal.merge_record.tip if proposal.merge_record is not None else proposal.tip
    recorded_request = get_request_log(workspace).find_recorded_request(tip, request)
    if recorded_request is None or not _is_write_to_proposal(workspace, recorded_request, proposal.id):
        return None
    snapshot = workspace.snapshot(tip)
    return WriteResult(
        recorded_request.commit, False, Plan(snapshot, Overlay(snapshot), (), {}), recorded_request
    )


def _find_earlier_write(
    repository: ProposalRepository, id: str, request: KeyedRequest
) -> ProposedWrite | None:
    """Return the result of an earlier write with the same key to its proposal. Raises KeyReused."""
    proposal = _find_proposal(repository, id)
    earlier_result = find_write(repository.workspace, proposal, request) if proposal is not None else None
    return ProposedWrite(proposal, earlier_result) if earlier_result is not None else None


def _find_added_write(repository: ProposalRepository, request: KeyedRequest) -> ProposedWrite | None:
    """Return the result of an earlier write with this key that was added to a draft. Raises KeyReused."""
    proposal = drafts.find_draft_of_request(repository, request)
    earlier_result = find_write(repository.workspace, proposal, request) if proposal is not None else None
    return ProposedWrite(proposal, earlier_result, was_added=True) if earlier_result is not None else None


def _make_missing_write_error(repository: ProposalRepository, id: str) -> WorkspaceError:
    """Return the error for a key whose proposal does not contain the write of the call."""
    proposal = _find_proposal(repository, id)
    if proposal is not None and proposal.tip is None and proposal.merge_record is None:
        return ProposalEnded(proposal._replace(state=ProposalState.GONE))
    return make_key_reused_error(proposal=id)


def _find_proposal(repository: ProposalRepository, id: str) -> Proposal | None:
    if id not in repository.list_ids():
        return None
    try:
        return repository.find(id)
    except ProposalNotFound:
        return None


def _is_write_to_proposal(workspace: Branch, recorded_request: RecordedRequest, id: str) -> bool:
    """Return True if a commit was written to a proposal, and not to its base branch."""
    return read_trailers(workspace.git.commit(recorded_request.commit).message).get(PROPOSAL_TRAILER) == id


def _describe_call(call: WriteRequest, planned_result: WriteResult) -> tuple[str, str]:
    """Return the default title and description of a proposal, from the commit message of the call."""
    summary, details = summarize_operations(
        planned_result.plan.summaries, paths=sorted(planned_result.changes), message=call.message
    )
    subject, _, remaining_text = summary.partition("\n")
    title = join_lines(subject)
    if len(title) > MAX_TITLE_CHARACTERS:
        remaining_text = f"…{title[MAX_TITLE_CHARACTERS - 1 :]}\n\n{remaining_text}"
        title = f"{title[: MAX_TITLE_CHARACTERS - 1]}…"
    body = "\n\n".join(part for part in (remaining_text.strip(), details) if part)
    return title or _DEFAULT_TITLE, remove_controls(body)[:_MAX_DESCRIPTION_CHARACTERS]
