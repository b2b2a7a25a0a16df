"""The exchanges of one synchronization, and the local refs that record the state of the remote.

The refs that record the state of a remote are moved one at a time. Meanwhile, a note file contains the name
of the ref.

libgit2 creates a lock file for each ref. The lock of a killed process remains. The note contains the name of
the ref and the bytes to be written, so the next process can identify and remove that lock. A process waits
for a lock of another program, and never removes it.

A fast-forward moves a branch to a fetched commit, and the checkout with it.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from workspace.errors import WorkspaceError
from workspace.git.objects import SUBMODULE_MODE, Signature
from workspace.git.remotes.exchange import Peer, RemoteTooSlow, RemoteUnreachable
from workspace.git.remotes.remote import BranchSelection
from workspace.git.remotes.url import Transport
from workspace.git.repository import DamagedRepository, make_missing_object_error
from workspace.git.trees import TreeChange, WholeEntry, diff_trees
from workspace.publishing.batch import Batch
from workspace.publishing.batch_objects import protect_fetched
from workspace.publishing.checkout import WorktreeBusy
from workspace.publishing.locks import WAIT_FOR_GIT_S, Locked, format_path
from workspace.publishing.publish import publish
from workspace.sync.branches import (
    SYNCED_BRANCH_PATTERN,
    SyncState,
    TrackedCommits,
    compare_commits,
    format_fetched_ref,
    format_lost_ref,
    format_tracking_ref,
    list_branches_to_sync,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Progress
    from workspace.git.remotes.remote import GitRemotes
    from workspace.git.store import GitStore
    from workspace.sync.branches import ConfiguredRemote

_NOTE_PATH = "docyard/sync.moving"
_LOCK_RETRY_PAUSE_S = 0.02
_MAX_UNLOCKED_ATTEMPTS = 5  # the maximum number of failed attempts while no lock file exists


class RefNotMoved(WorkspaceError):
    """An error: a local ref that records a remote's state was not written."""

    code: ClassVar[str] = "REF_NOT_MOVED"

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"the ref `{ref[:200]}` could not be written",
            fix="Run git fetch in the repository; it reports the cause, such as another ref of that name.",
            ref=ref,
        )


class RefMover:
    """The writer of refs of one repository. The caller must have the sync lock.

    The constructor removes the lock of a process that was killed while it moved a ref.
    """

    def __init__(self, remotes: GitRemotes, common_dir: Path) -> None:
        self._remotes = remotes
        self._common_dir = common_dir
        self._note_file = common_dir / _NOTE_PATH
        self._recover()

    def move(self, ref: str, commit: str | None, *, expected: str | None) -> None:
        """Move a ref from its expected commit to `commit`, or remove it if `commit` is None.

        A ref at another commit is not changed.

        Raises Locked if another program does not release its lock in time, RefNotMoved, OSError.
        """
        lock = self._get_lock_path(ref)
        self._note_file.write_text(f"{ref} {commit or ''}\n")
        try:
            deadline, unlocked_attempts = time.monotonic() + WAIT_FOR_GIT_S, 0
            while not self._remotes.set_ref(ref, commit, expected=expected):
                if self._remotes.commit_at(ref) != expected:
                    return
                # The lock is checked once, so that Locked is raised only for a lock that existed.
                is_locked = lock.exists()
                unlocked_attempts += not is_locked
                if unlocked_attempts == _MAX_UNLOCKED_ATTEMPTS:
                    raise RefNotMoved(ref)
                if is_locked and time.monotonic() > deadline:
                    raise Locked(format_path(lock, self._common_dir))
                time.sleep(_LOCK_RETRY_PAUSE_S)
        finally:
            self._note_file.unlink(missing_ok=True)

    def _recover(self) -> None:
        with suppress(OSError, ValueError):  # the note is unreadable, or the lock is missing
            ref, commit = self._note_file.read_text().rstrip("\n").split(" ")
            lock = self._get_lock_path(ref)
            if ref.startswith("refs/") and ".." not in ref:
                deadline = time.monotonic() + WAIT_FOR_GIT_S
                while lock.exists() and time.monotonic() < deadline:
                    time.sleep(_LOCK_RETRY_PAUSE_S)
                if f"{commit}\n".encode().startswith(lock.read_bytes()):
                    lock.unlink()
        self._note_file.unlink(missing_ok=True)

    def _get_lock_path(self, ref: str) -> Path:
        return self._common_dir / f"{ref}.lock"


MAX_CHECKED_COMMITS = 1_000
"""The maximum number of fetched commits that are checked one by one; the last tree is always checked."""


class RemoteDamaged(WorkspaceError):
    """An error: a remote sent incomplete data. An object is missing or has another type."""

    code: ClassVar[str] = "REMOTE_DAMAGED"

    def __init__(self, remote: str) -> None:
        super().__init__(
            f"the remote `{remote}` sent incomplete data, which was not used",
            fix="Run git fsck in the remote's repository.",
            remote=remote,
        )


def check_complete(
    git: GitReader, remote: str, commit: str, complete_commit: str | None, checked_ids: set[str]
) -> None:
    """Raise RemoteDamaged if objects of a fetched commit, or of up to 1,000 ancestors, are missing.

    The objects of `complete_commit` are not checked. Commits of `checked_ids` are skipped; checked commits
    are added to `checked_ids`.
    """
    try:
        base = git.commit(complete_commit).tree if complete_commit is not None else None
        _check_changes(git, diff_trees(git, base, git.commit(commit).tree))
        for parent, tree in islice(_list_tree_pairs(git, commit, checked_ids), MAX_CHECKED_COMMITS):
            _check_changes(git, diff_trees(git, parent, tree))
    except DamagedRepository as error:
        raise RemoteDamaged(remote) from error


def _list_tree_pairs(git: GitReader, commit: str, checked_ids: set[str]) -> Iterator[tuple[str | None, str]]:
    """Yield the first parent's tree and the own tree of a commit and of each unchecked ancestor."""
    stack = [commit]
    while stack:
        id = stack.pop()
        if id in checked_ids:
            continue
        checked_ids.add(id)
        commit_object = git.commit(id)
        parents = [parent for parent in commit_object.parents if git.has_object(parent) or not git.is_shallow]
        yield (git.commit(parents[0]).tree if parents else None), commit_object.tree
        stack += parents


def _check_changes(git: GitReader, changes: Iterator[TreeChange]) -> None:
    for change in changes:
        new_entry = change.new
        if new_entry is not None and new_entry.mode != SUBMODULE_MODE and not git.has_object(new_entry.id):
            raise make_missing_object_error(new_entry.id, "the remote has not sent it")


def fast_forward(
    store: GitStore, branch: str, base: str | None, commit: str, identity: tuple[str, str], *, durable: bool
) -> None:
    """Move a branch and its checkout to a later commit, by a publication.

    The remote has the commit, and is not changed. `identity` is the name and email address for the reflogs.
    Raises the errors of `Publication`, among them
    WorktreeConflict for a file with uncommitted changes, and BranchMoved if another writer moved the branch.
    """
    tree = store.commit(base).tree if base is not None else None
    changes = {
        change.path: WholeEntry(change.new) for change in diff_trees(store, tree, store.commit(commit).tree)
    }
    check_attributes(store, branch, changes, "merge --ff-only @{upstream}")
    author = Signature(*identity, int(time.time()))
    batch = Batch(branch, base, changes, "docyard sync: fast-forward", author, existing_commit=commit)
    publish(store, batch, durable=durable, is_local=True)


class ShallowClone(WorkspaceError):
    """An error: a fetch by libgit2 from a folder would lose the boundary of a shallow clone."""

    code: ClassVar[str] = "SHALLOW_HISTORY"

    def __init__(self) -> None:
        super().__init__(
            "this clone is shallow, and a fetch from a folder would damage it",
            fix="Run git fetch --unshallow, then try again.",
        )


def build_peer(workspace: Branch, remotes: GitRemotes, name: str, url: str, access: Access) -> Peer:
    """Return the peer of an exchange with the remote of a name at a URL.

    Raises UnsupportedRemote, UnsafeCredentials.
    """
    address, git = remotes.resolve_url(url), workspace.git
    settings = workspace.snapshot().config.remote
    return Peer(
        name=name,
        address=address,
        login=access.find_login(address, [git.common_dir, *([git.worktree] if git.worktree else [])]),
        has_agent=access.has_agent,
        ssh_keys=access.ssh_keys,
        answer_seconds=settings.answer_seconds,
        seconds=settings.seconds,
        fetch_bytes=settings.fetch_bytes,
    )


@dataclass
class RemoteSession:
    """The exchanges of the synchronized branches with a remote, under the sync lock."""

    workspace: Branch
    store: GitStore
    remotes: GitRemotes
    branch: str
    remote: ConfiguredRemote
    access: Access
    progress: Progress | None
    ref_mover: RefMover = field(init=False)

    def __post_init__(self) -> None:
        self.ref_mover = RefMover(self.remotes, self.store.common_dir)

    def build_peer(self, url: str) -> Peer:
        """Return the peer of an exchange with the remote at a URL.

        Raises UnsupportedRemote, UnsafeCredentials.
        """
        return build_peer(self.workspace, self.remotes, self.remote.name, url, self.access)

    def list_seen_commits(self) -> Mapping[str, str]:
        """Return the last seen commit of each branch; for a branch without one, its lost commit."""
        lost_commits = self.remotes.refs(format_lost_ref(self.remote.name, ""))
        return lost_commits | self.remotes.refs(format_tracking_ref(self.remote.name, ""))

    def compare(self, branch: str) -> TrackedCommits:
        """Return the commits of a branch, here and on the remote, and its state.

        The ref of a lost commit is removed if the commit is no longer lost. Raises ShallowHistory,
        DamagedRepository, and the errors of `RefMover.move`.
        """
        ours = self.workspace.tip(branch) if branch == self.branch else self.store.tip(branch)
        theirs = self.remotes.commit_at(format_tracking_ref(self.remote.name, branch))
        lost_ref_name = format_lost_ref(self.remote.name, branch)
        lost_commit = self.remotes.commit_at(lost_ref_name)
        state = compare_commits(self.store, ours, theirs, lost_commit)
        if lost_commit is not None and state is not SyncState.FORCE_PUSHED:
            # The remote has the commit again, or our branch dropped it too.
            self.ref_mover.move(lost_ref_name, None, expected=lost_commit)
        return TrackedCommits(ours, theirs, state)

    def fetch(self, peer: Peer) -> dict[str, WorkspaceError]:
        """Fetch all synchronized branches; return the errors of the branches that failed, by branch.

        Raises ShallowClone, and the errors of `RemoteProcess.run`; the remote-tracking refs are then
        unchanged.
        """
        if self.store.is_shallow and peer.address.transport is Transport.FILE:
            raise ShallowClone
        prefix = format_fetched_ref(peer.name, "")
        known_tips = self.remotes.refs(format_tracking_ref(peer.name, ""))
        errors: dict[str, WorkspaceError] = {}
        self._remove_temporary_refs(prefix)
        try:
            branches = self.remotes.fetch(
                peer,
                BranchSelection((self.branch,), SYNCED_BRANCH_PATTERN, known_tips),
                prefix,
                self.progress,
            )
            tips = self.remotes.refs(prefix)
            self._protect(tips, known_tips)
            checked_ids = {*known_tips.values(), *([tip] if (tip := self.store.tip(self.branch)) else [])}
            for branch in (self.branch, *list_branches_to_sync({*known_tips, *branches}, self.branch)):
                try:
                    self._record_tip(
                        peer,
                        branch,
                        tips.get(branch, branches.get(branch)),
                        known_tips.get(branch),
                        checked_ids,
                    )
                except WorkspaceError as error:
                    errors[branch] = error
        finally:
            self._remove_temporary_refs(prefix)
        return errors

    def _protect(self, tips: Mapping[str, str], known_tips: Mapping[str, str]) -> None:
        """Protect fetched objects from a `git gc` that may have read the refs before the fetch."""
        served_tip = self.store.tip(self.branch)
        bases = {tip: known_tips.get(branch) or served_tip for branch, tip in tips.items()}
        # Already pruned objects make the fetched commit incomplete, and the next synchronization fetches
        # them again.
        with suppress(WorkspaceError, OSError):
            protect_fetched(self.store, {tip: base for tip, base in bases.items() if base not in (None, tip)})

    def _record_tip(
        self, peer: Peer, branch: str, theirs: str | None, old_tip: str | None, checked_ids: set[str]
    ) -> None:
        """Move the remote-tracking ref of a branch, and record the old tip if the remote has lost it.

        Commits of `checked_ids` are complete. Raises RemoteDamaged, and the errors of `RefMover.move`.
        """
        if theirs == old_tip:
            return
        if theirs is not None:
            check_complete(self.store, peer.name, theirs, old_tip or self.store.tip(self.branch), checked_ids)
        tracking_ref_name = format_tracking_ref(peer.name, branch)
        if old_tip is not None:
            self._record_lost_commit(format_lost_ref(peer.name, branch), old_tip, theirs)
        self.ref_mover.move(tracking_ref_name, theirs, expected=old_tip)

    def _record_lost_commit(self, ref: str, old_tip: str, theirs: str | None) -> None:
        if theirs is not None and self.store.is_descendant(theirs, old_tip):
            return
        recorded_commit = self.remotes.commit_at(ref)
        if recorded_commit is None or not self.store.is_descendant(recorded_commit, old_tip):
            self.ref_mover.move(ref, old_tip, expected=recorded_commit)

    def _remove_temporary_refs(self, prefix: str) -> None:
        """Remove the temporary refs, and their locks of killed processes.

        The process with the sync lock is the only writer of these refs. libgit2 ignores an existing lock of
        FETCH_HEAD, and Git creates none.
        """
        (self.store.git_dir / "FETCH_HEAD.lock").unlink(missing_ok=True)
        for lock in (self.store.common_dir / prefix).rglob("*.lock"):
            lock.unlink(missing_ok=True)
        for branch, commit in self.remotes.refs(prefix).items():
            self.ref_mover.move(prefix + branch, None, expected=commit)

    def push(self, peer: Peer, commits: Mapping[str, str]) -> dict[str, WorkspaceError]:
        """Push commits to branches in one exchange; return the errors of rejected branches, by branch.

        The result includes pushed branches whose remote-tracking ref could not be written. Raises the errors
        of `RemoteProcess.run`.
        """
        try:
            push_errors = self.remotes.push(peer, commits, self.progress)
        except (RemoteUnreachable, RemoteTooSlow):
            # The push may have succeeded despite the error, so the remote's branches are listed.
            pushed_commits = self._list_pushed(peer, commits)
            tracking_errors = self._write_tracking_refs(peer, pushed_commits)
            if pushed_commits != commits:
                raise
            return tracking_errors
        tracking_errors = self._write_tracking_refs(
            peer, {branch: id for branch, id in commits.items() if branch not in push_errors}
        )
        return {**push_errors, **tracking_errors}

    def _list_pushed(self, peer: Peer, commits: Mapping[str, str]) -> dict[str, str]:
        with suppress(RemoteUnreachable, RemoteTooSlow):
            remote_tips = self.remotes.list_branches(peer, BranchSelection(tuple(commits)))
            return {branch: id for branch, id in commits.items() if remote_tips.get(branch) == id}
        return {}

    def _write_tracking_refs(
        self, peer: Peer, pushed_commits: Mapping[str, str]
    ) -> dict[str, WorkspaceError]:
        errors: dict[str, WorkspaceError] = {}
        for branch, commit in pushed_commits.items():
            ref = format_tracking_ref(peer.name, branch)
            try:
                self.ref_mover.move(ref, commit, expected=self.remotes.commit_at(ref))
            except WorkspaceError as error:
                errors[branch] = error
        return errors


def check_attributes(git: GitReader, branch: str, paths: Collection[str], command: str) -> None:
    """Raise WorktreeBusy if a `.gitattributes` file of a checked-out branch changes.

    `command` is the Git command of the error's fix.

    libgit2 would check out the other files by the rules that the work tree has before the update.
    """
    attributes_path = next((path for path in paths if path.rpartition("/")[2] == ".gitattributes"), None)
    if attributes_path is not None and git.worktrees_of(branch):
        raise WorktreeBusy(
            f"`{attributes_path}` changes, and with it the checkout of other files",
            fix=f"Run git {command} in the work tree.",
        )
