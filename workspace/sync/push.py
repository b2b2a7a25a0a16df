"""One proposal is sent: its branch, and the words of the discussion, and nothing else.

Where the remote has words that ours lack, both are brought together first: none is ever lost. A branch that
others went on with there is left as it is, unless both sides can be told from each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.git.remotes.remote import GitRemotes, RemoteMoved
from workspace.git.store import durable_objects, writable
from workspace.proposals.event_log import EventLog
from workspace.publishing.recovery import mend
from workspace.sync.branches import DISCUSSION, State, chosen
from workspace.sync.exchange import Exchanging
from workspace.sync.sync import turn
from workspace.writing.write import DetachedHead, author_now

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.errors import WorkspaceError
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Peer

_ROUNDS = 3


def send(workspace: Branch, access: Access, branch: str) -> WorkspaceError | None:
    """Push the branch of a proposal, then the words; why these did not travel, or None.

    Raises ReadOnly, DetachedHead, NoRemote, UnknownRemote, UnsupportedRemote, UnsafeCredentials, SyncBusy,
    RemoteMoved where the branch has diverged, PushRejected, and what `RemoteProcess.run` raises.
    """
    store, served = writable(workspace.git), workspace.branch
    if served is None:
        raise DetachedHead("no branch is checked out", fix="Run git switch BRANCH, or name a branch.")
    meant = chosen(workspace)
    durable = workspace.durable and workspace.snapshot().config.fsync
    with (
        turn(store.common_dir),
        durable_objects(durable),
        GitRemotes(store.git_dir, durable=durable) as remotes,
    ):
        mend(store)
        exchanging = Exchanging(workspace, store, remotes, served, meant, access, None)
        source, target = exchanging.peer(meant.url), exchanging.peer(meant.push_url)
        if not _pushed(exchanging, target, branch, DISCUSSION):
            return None
        # One that is refused takes the other back with it, so each is tried by itself.
        _send_branch(exchanging, source, target, branch)
        return _send_words(workspace, exchanging, source, target, durable=durable)


def _send_branch(exchanging: Exchanging, source: Peer, target: Peer, branch: str) -> None:
    error = _pushed(exchanging, target, branch).get(branch)
    if isinstance(error, RemoteMoved):
        left_aside = exchanging.fetch(source).get(branch)
        if left_aside is not None:
            raise left_aside
        if exchanging.stand(branch).state in (State.BEHIND, State.LEVEL):
            return  # others went on with it there, from what ours is
        error.fix = f"Bring both sides together by docyard sync --branch {branch}, then submit again."
    if error is not None:
        raise error


def _send_words(
    workspace: Branch, exchanging: Exchanging, source: Peer, target: Peer, *, durable: bool
) -> WorkspaceError | None:
    error: WorkspaceError | None = None
    for _ in range(_ROUNDS):
        error = _pushed(exchanging, target, DISCUSSION).get(DISCUSSION)
        if not isinstance(error, RemoteMoved):
            return error
        left_aside = exchanging.fetch(source).get(DISCUSSION)
        if left_aside is not None:
            return left_aside
        theirs = exchanging.stand(DISCUSSION).theirs
        if theirs is not None:
            EventLog(exchanging.store, durable=durable).take_in(theirs, author_now(workspace))
    return error


def _pushed(exchanging: Exchanging, target: Peer, *branches: str) -> dict[str, WorkspaceError]:
    """Why the remote did not take branches as they are here; of one that is not here, nothing is said."""
    tips = {branch: exchanging.store.tip(branch) for branch in branches}
    wanted = {branch: tip for branch, tip in tips.items() if tip is not None}
    return exchanging.push(target, wanted) if wanted else {}
