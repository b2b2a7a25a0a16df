"""The remote as the repository that several nodes write: each commit is pushed before the clone has it.

The remote's branch decides which commit is next: it is moved only from the commit on which the new one was
planned. A lease says which node writes, so that nodes rarely plan on an old commit. It is not what protects
the branch: a node that was stopped past its lease fails at the check of the lease, or at the branch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from workspace.errors import WorkspaceError
from workspace.git.remotes.exchange import PushNotBegun, RemoteTooSlow, RemoteUnreachable
from workspace.git.remotes.remote import BranchSelection, GitRemotes, PushRejected
from workspace.git.store import GitStore, require_writable, sync_written_objects
from workspace.proposal_ids import DISCUSSION_BRANCH, PROPOSAL_BRANCH_PREFIX
from workspace.publishing.recovery import recover_if_needed
from workspace.publishing.refs import BranchMoved
from workspace.sync.branches import (
    ConfiguredRemote,
    SyncState,
    TrackedCommits,
    format_tracking_ref,
    list_branches_to_sync,
    select_remote,
)
from workspace.sync.exchange import RefMover, RemoteSession, build_peer, fast_forward
from workspace.sync.sync import sync_lock
from workspace.writing.write import DetachedHead

if TYPE_CHECKING:
    from workspace.branch import Branch
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Peer

log = logging.getLogger("docyard")

PUSH_TIMEOUT_S = 6.0
"""The time limit of a push; a lease must last longer, and one second more, in which the process is ended."""


class ResultUnknown(WorkspaceError):
    """An error: it is unknown whether a write was done. `cause` is the first clause of its message.

    Unlike after BUSY, the same call without a key may write twice.
    """

    code: ClassVar[str] = "RESULT_UNKNOWN"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"{cause}, so it is unknown whether the write was done",
            fix="With an idempotency_key, send the same call again, which is safe. Without one, read the "
            "document first.",
        )


class UpstreamDiverged(WorkspaceError):
    """An error: the clone of this node has commits that the shared repository lacks, and the reverse."""

    code: ClassVar[str] = "UPSTREAM_DIVERGED"

    def __init__(self, branch: str, remote: str) -> None:
        super().__init__(
            f"`{branch}` of this node and of the remote `{remote}` have different commits, so this node "
            "cannot write to it",
            fix="Run docyard sync in the clone of this node, which merges both. Do not replace the clone: no "
            "other has its commits.",
            branch=branch,
            remote=remote,
        )


class Lease(Protocol):
    """The right to write, which one node has at a time."""

    def use(self) -> AbstractContextManager[int]:
        """Acquire the lease for a block, which has its fencing token. Blocks of a thread may be nested.

        Raises Busy if another node does not give it back in time, and the errors of its storage.
        """
        ...

    def check(self) -> bool:
        """Return True if this node has the lease, and it lasts for at least 8 seconds.

        Raises the errors of its storage.
        """
        ...


class RemoteUpstream:
    """The remote of a clone as the upstream of its publications (`workspace.git.upstream.Upstream`).

    `access` returns the credentials for each exchange. Its processes for exchanges run until `close`.
    """

    def __init__(self, workspace: Branch, access: Callable[[], Access], lease: Lease) -> None:
        self._workspace = workspace
        self._access = access
        self._lease = lease
        self._store: GitStore = require_writable(workspace.git)
        # A push happens under Docyard's lock, which a fast-forward needs. So a push never waits for a fetch.
        self._follow_lock = threading.Lock()
        self._fetches = _ExchangeProcess(self._store)
        self._pushes = _ExchangeProcess(self._store)
        self._followed_token: int | None = None
        self._follow_count = 0
        self._diverged_branches: frozenset[str] = frozenset()  # of the last fetch of a lease

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lease for a block. A new one begins with a fetch.

        Raises the errors of `Lease.use`, UpstreamDiverged, and the errors of an exchange.
        """
        with self._lease.use() as token:
            if token != self._followed_token:
                with self._follow_lock:
                    if token != self._followed_token:
                        self._follow(pushes_ahead=True)
                        self._followed_token = token
            yield

    def follow(self) -> None:
        """Fetch the branches of the remote, and fast-forward those of this clone.

        A call that waits for the fetch of another call, which began after it, uses its result. Raises the
        errors of an exchange.
        """
        count = self._follow_count
        with self._follow_lock:
            if self._follow_count < count + 2:
                self._follow()

    def follow_to(self, commit: str) -> None:
        """Fetch the branches unless this clone has a commit. Raises the errors of an exchange."""
        with self._follow_lock:
            if not self._store.has_object(commit):
                self._follow()

    def push(self, branch: str, base: str | None, commit: str | None) -> bool:
        """Move the branch of the remote from `base` to `commit`; return False if it is not at `commit`.

        Raises UpstreamDiverged, ResultUnknown, PushRejected, and the errors of an exchange.
        """
        with self._pushes.open(self._is_durable) as remotes:
            remote = select_remote(self._workspace)
            peer = build_peer(self._workspace, remotes, remote.name, remote.push_url, self._access())
            is_held = self._lease.check()
            is_moved = is_held and _push_commit(
                remotes, replace(peer, seconds=PUSH_TIMEOUT_S), branch, base, commit
            )
        if is_moved:
            self._record_push(remotes, remote, branch, commit)
            return True
        self._followed_token = None
        if is_held and branch in self._diverged_branches:
            raise UpstreamDiverged(branch, remote.name)  # no new plan can succeed
        return False

    def close(self) -> None:
        """End the processes for exchanges."""
        for process in (self._fetches, self._pushes):
            process.close()

    @property
    def _is_durable(self) -> bool:
        return self._workspace.durable and self._workspace.snapshot().config.fsync

    def _record_push(
        self, remotes: GitRemotes, remote: ConfiguredRemote, branch: str, commit: str | None
    ) -> None:
        """Move the remote-tracking ref of a pushed branch; the next fetch does it if a lock is not free."""
        ref = format_tracking_ref(remote.name, branch)
        with suppress(WorkspaceError, OSError), sync_lock(self._store.common_dir, 0):
            RefMover(remotes, self._store.common_dir).move(ref, commit, expected=remotes.commit_at(ref))

    def _follow(self, *, pushes_ahead: bool = False) -> None:
        """Fetch, and fast-forward the branches that are behind; others stay.

        With `pushes_ahead`, push the commits that only this clone has, such as the first ones, or those of a
        person. Raises the error of the served branch; the next call repeats the failures of the others.
        """
        workspace, store, durable = self._workspace, self._store, self._is_durable
        branch = workspace.branch
        if branch is None:
            raise DetachedHead("no branch is checked out", fix="Run git switch BRANCH, or name a branch.")
        remote = select_remote(workspace)
        behind: list[tuple[str, TrackedCommits]] = []
        ahead: dict[str, str] = {}
        diverged: list[str] = []
        if pushes_ahead:
            with self._pushes.open(durable) as remotes, suppress(OSError):
                remotes.start()  # it starts while the other process fetches
        with sync_lock(store.common_dir), self._fetches.open(durable) as remotes:
            recover_if_needed(store)
            session = RemoteSession(workspace, store, remotes, branch, remote, self._access(), None)
            errors = session.fetch(session.build_peer(remote.url))
            if branch in errors:
                raise errors[branch]
            names = {*store.branches(), *session.list_seen_commits()}
            for name in (branch, *list_branches_to_sync(names, branch)):
                tracked = session.compare(name)
                if tracked.state is SyncState.BEHIND:
                    behind.append((name, tracked))
                elif tracked.state is SyncState.AHEAD and tracked.ours is not None:
                    ahead[name] = tracked.ours
                elif tracked.state is not SyncState.UP_TO_DATE and pushes_ahead:
                    _check_not_diverged(name, branch, remote.name)
                    diverged.append(name)
            if pushes_ahead:
                self._diverged_branches = frozenset(diverged)
            if ahead and pushes_ahead:
                for error in session.push(session.build_peer(remote.push_url), ahead).values():
                    raise error
        for name, tracked in behind:
            self._fast_forward(name, tracked, durable=durable)
        self._follow_count += 1

    def _fast_forward(self, branch: str, tracked: TrackedCommits, *, durable: bool) -> None:
        """Move a branch to the remote's commit. Raises the error of the served branch."""
        ours, theirs, _ = tracked
        if theirs is None or (ours is None and branch.startswith(PROPOSAL_BRANCH_PREFIX)):
            return  # this proposal is read from its remote-tracking ref
        try:
            # A push of this process may have moved the branch after the comparison.
            with suppress(BranchMoved):
                fast_forward(self._store, branch, ours, theirs, self._workspace.author(), durable=durable)
        except WorkspaceError as error:
            if branch == self._workspace.branch:
                raise
            log.warning("a branch of proposals was not updated from the remote: %s", error)


class _ExchangeProcess:
    """A process for exchanges, which runs one at a time."""

    def __init__(self, store: GitStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._remotes: GitRemotes | None = None
        self._is_durable = False

    @contextmanager
    def open(self, durable: bool) -> Iterator[GitRemotes]:
        """Yield the remotes, which use the process of the last exchange."""
        with self._lock, sync_written_objects(durable):
            if self._remotes is None or self._is_durable != durable:
                self._end()
                self._remotes, self._is_durable = GitRemotes(self._store.git_dir, durable=durable), durable
            yield self._remotes

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._remotes is not None:
            self._remotes.close()
            self._remotes = None


def _push_commit(remotes: GitRemotes, peer: Peer, branch: str, base: str | None, commit: str | None) -> bool:
    """Push a commit to a branch at `base`; return False if the branch has moved."""
    try:
        failure: WorkspaceError | None = remotes.push(peer, {branch: commit}, expected={branch: base}).get(
            branch
        )
    except PushNotBegun:
        raise
    except (RemoteUnreachable, RemoteTooSlow) as error:
        failure = error
    if failure is None:
        return True
    # The push may have succeeded before its connection broke, and each server words a lost race in its own
    # way. So the branch is read.
    try:
        tip = remotes.list_branches(peer, BranchSelection((branch,))).get(branch)
    except WorkspaceError as error:
        if isinstance(failure, PushRejected):
            raise failure from error
        raise ResultUnknown(f"the connection to the remote `{peer.name}` broke during the push") from error
    if tip == base != commit:
        raise failure
    return tip == commit


def _check_not_diverged(branch: str, served_branch: str, remote: str) -> None:
    """Raise UpstreamDiverged for a branch that every write needs."""
    if branch in (served_branch, DISCUSSION_BRANCH):
        raise UpstreamDiverged(branch, remote)
