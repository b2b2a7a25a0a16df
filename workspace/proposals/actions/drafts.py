"""The draft of an hour: the direct writes of one author and client to protected paths share one proposal.

A direct write opens a draft. For an hour, further direct writes of the same author with the same client are
added to it. This ends at once if the draft is submitted, if another author writes an event or a commit, or if
a write cannot be applied to it; the next write then opens another draft. A write of a later session over
stdio whose message begins with another title opens another draft too.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.git.ancestry import list_commits_between
from workspace.git.messages import CLIENT_TRAILER, PROPOSAL_TRAILER, clean_client_name, read_trailers
from workspace.proposals.actions.repository import ProposedWrite
from workspace.proposals.events import Closed, Opened, Reopened, Reviewed, Submitted, UnknownEvent
from workspace.proposals.proposal import ProposalNotFound, ProposalState
from workspace.publishing.locks import docyard_lock
from workspace.writing.idempotency import read_key
from workspace.writing.write import make_author_signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from workspace.git.objects import Commit
    from workspace.proposals.actions.repository import Actor, ProposalRepository
    from workspace.proposals.events import Event
    from workspace.proposals.proposal import Proposal
    from workspace.writing.idempotency import KeyedRequest
    from workspace.writing.write import WriteRequest, WriteResult

MAX_DRAFT_AGE = timedelta(hours=1)
"""The time after its opening in which writes are added to a draft."""

LOCK_PATH = "docyard/drafts.lock"
_LOCK_TIMEOUT_S = 30.0
_MAX_COMMITS = 1_000  # of one draft
_MAX_SEARCHED_DRAFTS = 200  # the newest, in which the write of an idempotency key is searched
_FINAL_EVENTS = (Submitted, Reviewed, Closed, Reopened, UnknownEvent)


class _DraftChanged(WorkspaceError):
    """An error: a draft was submitted or changed by another author during a write to it."""

    code = "DRAFT_CHANGED"


@contextmanager
def drafts_lock(repository: ProposalRepository) -> Iterator[None]:
    """Acquire the lock under which drafts are found or opened, so that two calls at once open one draft.

    Raises AnotherWriter.
    """
    with docyard_lock(repository.workspace.git.common_dir, LOCK_PATH, timeout_s=_LOCK_TIMEOUT_S):
        yield


def add_to_draft(
    repository: ProposalRepository,
    call: WriteRequest,
    actor: Actor,
    target: str,
    planned_result: WriteResult,
    title: str,
) -> ProposedWrite | None:
    """Write a call's operations to the open draft of its author and client.

    `planned_result` is the plan on the target's tip, `title` the title of a proposal of this call. Return
    None if there is no draft, if an operation fails only there, or if the draft of an earlier session has
    another title than the caller's message; nothing is written then. Raises the errors of `Workspace.write`.
    """
    draft = _find_draft(repository, call, actor, target)
    if draft is None or (_is_of_earlier_session(draft, call) and draft.content.title != title):
        return None
    workspace = repository.workspace.for_branch(draft.content.branch)
    call = replace(call, workspace=workspace)
    draft_result = replace(call, dry_run=True, skip_policy=True).write()
    for draft_step, step in zip(draft_result.steps, planned_result.steps, strict=True):
        if draft_step.error is not None and step.error is None:
            return None

    def confirm() -> None:
        if not _is_joinable(repository, draft.id, call, actor, target):
            raise _DraftChanged(
                f"the draft '{draft.id}' has changed", fix="Send the same call again.", proposal=draft.id
            )

    try:
        with workspace.writer_lock:
            result = replace(call, confirm=confirm).write()
    except _DraftChanged:
        return None
    return ProposedWrite(repository.read_latest(draft), result, was_added=True)


def _is_of_earlier_session(draft: Proposal, call: WriteRequest) -> bool:
    """Return True if a draft is older than the session of a caller who names a title in its message."""
    return (
        call.message is not None
        and call.seen_texts is not None
        and draft.content.opened_at < call.seen_texts.session_start
    )


def find_draft_of_request(repository: ProposalRepository, request: KeyedRequest) -> Proposal | None:
    """Return the proposal to which an earlier call with this key was added, even if it has ended."""
    for events in _list_drafts(repository)[:_MAX_SEARCHED_DRAFTS]:
        id = events[0].proposal
        opening = _find_opening(events)
        assert opening is not None
        tip, base = repository.workspace.git.tip(opening.branch), opening.base
        try:
            if tip is None:
                proposal = repository.find(id)
                tip = proposal.merge_record.tip if proposal.merge_record is not None else proposal.tip
            if tip is None or base is None:
                continue
            commits = _list_commits(repository, tip, base)
            if any(read_key(commit.message) == request.key for commit in commits):
                return repository.find(id)
        except WorkspaceError:  # such as commits that a shallow clone lacks
            continue
    return None


def _find_draft(
    repository: ProposalRepository, call: WriteRequest, actor: Actor, target: str
) -> Proposal | None:
    for events in _list_drafts(repository):
        if not _is_recent(events):
            return None
        id = events[0].proposal
        if _is_joinable(repository, id, call, actor, target):
            return repository.find(id)
    return None


def _list_drafts(repository: ProposalRepository) -> list[tuple[Event, ...]]:
    """Return the events of each proposal that a direct write opened, the last opened first."""
    drafts = [
        events
        for events in repository.list_events_by_id(repository.list_ids()).values()
        if (opening := _find_opening(events)) is not None and opening.is_redirected
    ]
    return sorted(drafts, key=_find_opening_time, reverse=True)


def _find_opening(events: Iterable[Event]) -> Opened | None:
    return next((event.body for event in events if isinstance(event.body, Opened)), None)


def _find_opening_time(events: Iterable[Event]) -> datetime:
    return next(event.time for event in events if isinstance(event.body, Opened))


def _is_recent(events: Iterable[Event]) -> bool:
    return datetime.now(UTC) - _find_opening_time(events) < MAX_DRAFT_AGE


def _is_joinable(
    repository: ProposalRepository, id: str, call: WriteRequest, actor: Actor, target: str
) -> bool:
    """Return True if a proposal is an open draft that only this author has written, with this client."""
    events = repository.list_events(id)
    if not events or not _is_recent(events):
        return False
    if any(event.author != actor.event_author or isinstance(event.body, _FINAL_EVENTS) for event in events):
        return False
    try:
        proposal = repository.find(id)
    except ProposalNotFound:
        return False
    git, content = repository.workspace.git, proposal.content
    if proposal.state is not ProposalState.DRAFT or content.target != target or proposal.unread_event_count:
        return False
    if proposal.tip is None or content.base is None or git.tip(content.branch) != proposal.tip:
        return False
    commits = _list_commits(repository, proposal.tip, content.base)
    email = make_author_signature(repository.workspace, actor.person).email
    expected = id, clean_client_name(call.client), email
    return 0 < len(commits) < _MAX_COMMITS and all(
        commit.author == commit.committer and _describe_author(commit) == expected for commit in commits
    )


def _describe_author(commit: Commit) -> tuple[str | None, str | None, str]:
    """Return the proposal and the client of a commit, and the address of its author."""
    trailers = read_trailers(commit.message)
    return trailers.get(PROPOSAL_TRAILER), trailers.get(CLIENT_TRAILER), commit.author.email


def _list_commits(repository: ProposalRepository, tip: str, base: str) -> list[Commit]:
    """Return the commits of a draft that its base does not contain."""
    repository.graph.refresh()
    ids = list_commits_between(repository.graph, tip, base, max_commits=_MAX_COMMITS)[0]
    return [repository.workspace.git.commit(id) for id in ids]
