"""The push of one proposal: its branch, and the discussion.

If the remote's discussion has events that our discussion lacks, the two are merged first, so no event is
lost. A proposal's branch that has diverged from the remote's branch is not pushed.

If nodes share the remote, each event was pushed when it was written. Events that our discussion lacks are
then left to the next fetch: a merge would need the lease, whose fetch waits for the lock of this push.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.git.remotes.remote import GitRemotes, RemoteMoved
from workspace.git.store import require_writable, sync_written_objects
from workspace.proposal_ids import DISCUSSION_BRANCH
from workspace.proposals.event_log import EventLog
from workspace.publishing.recovery import recover_if_needed
from workspace.sync.branches import SyncState, select_remote
from workspace.sync.exchange import RemoteSession
from workspace.sync.sync import sync_lock
from workspace.sync.upstream import UpstreamDiverged
from workspace.writing.write import DetachedHead, make_author_signature

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.errors import WorkspaceError
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Peer

_MAX_ATTEMPTS = 3


def push_proposal(workspace: Branch, access: Access, branch: str) -> WorkspaceError | None:
    """Push the branch of a proposal, then the discussion; return the error of the discussion, or None.

    That error is UpstreamDiverged if nodes share the remote, and each side has events that the other lacks.

    Raises ReadOnly, DetachedHead, NoRemote, UnknownRemote, UnsupportedRemote, UnsafeCredentials, SyncBusy,
    RemoteMoved if the branch has diverged, PushRejected, and the errors of `RemoteSession.fetch`.
    """
    store, served_branch = require_writable(workspace.git), workspace.branch
    if served_branch is None:
        raise DetachedHead("no branch is checked out", fix="Run git switch BRANCH, or name a branch.")
    remote = select_remote(workspace)
    durable = workspace.durable and workspace.snapshot().config.fsync
    with (
        sync_lock(store.common_dir),
        sync_written_objects(durable),
        GitRemotes(store.git_dir, durable=durable) as remotes,
    ):
        recover_if_needed(store)
        session = RemoteSession(workspace, store, remotes, served_branch, remote, access, None)
        fetch_peer, push_peer = session.build_peer(remote.url), session.build_peer(remote.push_url)
        if not _push_local_branches(session, push_peer, branch, DISCUSSION_BRANCH):
            return None
        # If one branch is rejected, none is pushed, so each is pushed separately.
        _push_branch(session, fetch_peer, push_peer, branch)
        return _push_discussion(workspace, session, fetch_peer, push_peer, durable=durable)


def _push_branch(session: RemoteSession, fetch_peer: Peer, push_peer: Peer, branch: str) -> None:
    error = _push_local_branches(session, push_peer, branch).get(branch)
    if isinstance(error, RemoteMoved):
        fetch_error = session.fetch(fetch_peer).get(branch)
        if fetch_error is not None:
            raise fetch_error
        if session.compare(branch).state in (SyncState.BEHIND, SyncState.UP_TO_DATE):
            return  # the remote's branch already contains our commits
        error.fix = f"Run docyard sync --branch {branch}, which merges both sides, then submit again."
    if error is not None:
        raise error


def _push_discussion(
    workspace: Branch, session: RemoteSession, fetch_peer: Peer, push_peer: Peer, *, durable: bool
) -> WorkspaceError | None:
    error: WorkspaceError | None = None
    is_shared = session.store.upstream is not None
    for _ in range(_MAX_ATTEMPTS):
        error = _push_local_branches(session, push_peer, DISCUSSION_BRANCH).get(DISCUSSION_BRANCH)
        if not isinstance(error, RemoteMoved):
            return error
        fetch_error = session.fetch(fetch_peer).get(DISCUSSION_BRANCH)
        if fetch_error is not None:
            return fetch_error
        _, theirs, state = session.compare(DISCUSSION_BRANCH)
        if is_shared and state is not SyncState.AHEAD:
            is_contained = state in (SyncState.BEHIND, SyncState.UP_TO_DATE)
            return None if is_contained else UpstreamDiverged(DISCUSSION_BRANCH, fetch_peer.name)
        if theirs is not None and not is_shared:
            EventLog(session.store, durable=durable).merge_commit(theirs, make_author_signature(workspace))
    return error


def _push_local_branches(
    session: RemoteSession, push_peer: Peer, *branches: str
) -> dict[str, WorkspaceError]:
    """Push the branches that exist here; return the errors of rejected branches, by branch."""
    tips = {branch: session.store.tip(branch) for branch in branches}
    commits = {branch: tip for branch, tip in tips.items() if tip is not None}
    return session.push(push_peer, commits) if commits else {}
