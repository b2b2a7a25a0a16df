"""The push of one proposal: its branch, and the discussion.

Where the remote has words that ours lack, both are brought together first: none is ever lost. A branch that
others went on with there is left as it is, unless both sides can be told from each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.git.remotes.remote import GitRemotes, RemoteMoved
from workspace.git.store import require_writable, sync_written_objects
from workspace.proposals.event_log import EventLog
from workspace.publishing.recovery import recover_if_needed
from workspace.sync.branches import DISCUSSION, SyncState, chosen
from workspace.sync.exchange import RemoteSession
from workspace.sync.sync import sync_lock
from workspace.writing.write import DetachedHead, author_now

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.errors import WorkspaceError
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Peer

_ROUNDS = 3


def send(workspace: Branch, access: Access, branch: str) -> WorkspaceError | None:
    """Push the branch of a proposal, then the discussion; return why the discussion failed, or None.

    Raises ReadOnly, DetachedHead, NoRemote, UnknownRemote, UnsupportedRemote, UnsafeCredentials, SyncBusy,
    RemoteMoved where the branch has diverged, PushRejected, and what `RemoteProcess.run` raises.
    """
    store, served = require_writable(workspace.git), workspace.branch
    if served is None:
        raise DetachedHead("no branch is checked out", fix="Run git switch BRANCH, or name a branch.")
    meant = chosen(workspace)
    durable = workspace.durable and workspace.snapshot().config.fsync
    with (
        sync_lock(store.common_dir),
        sync_written_objects(durable),
        GitRemotes(store.git_dir, durable=durable) as remotes,
    ):
        recover_if_needed(store)
        exchanging = RemoteSession(workspace, store, remotes, served, meant, access, None)
        source, target = exchanging.peer(meant.url), exchanging.peer(meant.push_url)
        if not _find_push_failure(exchanging, target, branch, DISCUSSION):
            return None
        # One that is refused takes the other back with it, so each is tried by itself.
        _push_branch(exchanging, source, target, branch)
        return _push_discussion(workspace, exchanging, source, target, durable=durable)


def _push_branch(exchanging: RemoteSession, source: Peer, target: Peer, branch: str) -> None:
    error = _find_push_failure(exchanging, target, branch).get(branch)
    if isinstance(error, RemoteMoved):
        left_aside = exchanging.fetch(source).get(branch)
        if left_aside is not None:
            raise left_aside
        if exchanging.stand(branch).state in (SyncState.BEHIND, SyncState.LEVEL):
            return  # others went on with it there, from what ours is
        error.fix = f"Bring both sides together by docyard sync --branch {branch}, then submit again."
    if error is not None:
        raise error


def _push_discussion(
    workspace: Branch, exchanging: RemoteSession, source: Peer, target: Peer, *, durable: bool
) -> WorkspaceError | None:
    error: WorkspaceError | None = None
    for _ in range(_ROUNDS):
        error = _find_push_failure(exchanging, target, DISCUSSION).get(DISCUSSION)
        if not isinstance(error, RemoteMoved):
            return error
        left_aside = exchanging.fetch(source).get(DISCUSSION)
        if left_aside is not None:
            return left_aside
        theirs = exchanging.stand(DISCUSSION).theirs
        if theirs is not None:
            EventLog(exchanging.store, durable=durable).merge_commit(theirs, author_now(workspace))
    return error


def _find_push_failure(exchanging: RemoteSession, target: Peer, *branches: str) -> dict[str, WorkspaceError]:
    """Return why the remote rejected branches as they are here; local branches only."""
    tips = {branch: exchanging.store.tip(branch) for branch in branches}
    wanted = {branch: tip for branch, tip in tips.items() if tip is not None}
    return exchanging.push(target, wanted) if wanted else {}
