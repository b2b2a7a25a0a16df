"""The exchanges of one synchronization, and the local refs that record the state of the remote.

The refs that tell what was seen of a remote are moved one at a time, and it is noted which one is.

libgit2 makes a lock for each. A process that is killed in between leaves it, and the note proves whose it
was: a name, and the bytes that were to be written. The lock of another program is waited for, and stays.

A branch is brought to a commit that was fetched, and the person's checkout with it.
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
from workspace.git.repository import DamagedRepository
from workspace.git.trees import TreeChange, WholeEntry, diff_trees
from workspace.publishing.batch import Batch
from workspace.publishing.batch_objects import protect_fetched
from workspace.publishing.checkout import WorktreeBusy
from workspace.publishing.locks import WAIT_FOR_GIT, Locked, format_path
from workspace.publishing.publish import publish
from workspace.sync.branches import (
    PATTERN,
    SyncState,
    TrackedCommits,
    compare_commits,
    fetched_ref,
    list_branches_to_sync,
    lost_ref,
    tracking_ref,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.git.remotes.credentials import Access
    from workspace.git.remotes.exchange import Progress
    from workspace.git.remotes.remote import GitRemotes
    from workspace.git.store import GitStore
    from workspace.sync.branches import Chosen

_NOTE = "docyard/sync.moving"
_PAUSE = 0.02
_ATTEMPTS = 5  # while nothing is seen to hold the lock


class RefNotMoved(WorkspaceError):
    """A local ref that records the state of a remote could not be written, so nothing was synchronized."""

    code: ClassVar[str] = "REF_NOT_MOVED"

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"the ref `{ref[:200]}` could not be written",
            fix="Run git fetch there: it says what stands in the way, such as another ref of that name.",
            ref=ref,
        )


class RefMover:
    """The writer of refs of one repository, for the holder of the sync lock.

    The first thing is to remove the lock that a process left which died in the middle of it.
    """

    def __init__(self, remotes: GitRemotes, common_dir: Path) -> None:
        self._remotes = remotes
        self._common_dir = common_dir
        self._note = common_dir / _NOTE
        self._recover()

    def move(self, ref: str, commit: str | None, *, was: str | None) -> None:
        """Move or remove (None) a ref from its expected commit; a ref that has moved stays as it is.

        Raises Locked where another program holds its lock, and goes on holding it; RefNotMoved, OSError.
        """
        lock = self._lock(ref)
        self._note.write_text(f"{ref} {commit or ''}\n")
        try:
            until, unlocked = time.monotonic() + WAIT_FOR_GIT, 0
            while not self._remotes.set_ref(ref, commit, was=was):
                if self._remotes.commit_at(ref) != was:
                    return
                # Only what is there is told of, however slowly time was given to this process.
                is_held = lock.exists()
                unlocked += not is_held
                if unlocked == _ATTEMPTS:
                    raise RefNotMoved(ref)
                if is_held and time.monotonic() > until:
                    raise Locked(format_path(lock, self._common_dir))
                time.sleep(_PAUSE)
        finally:
            self._note.unlink(missing_ok=True)

    def _recover(self) -> None:
        with suppress(OSError, ValueError):  # of the note; or the lock is gone
            ref, commit = self._note.read_text().rstrip("\n").split(" ")
            lock = self._lock(ref)
            if ref.startswith("refs/") and ".." not in ref:
                until = time.monotonic() + WAIT_FOR_GIT
                while lock.exists() and time.monotonic() < until:
                    time.sleep(_PAUSE)
                if f"{commit}\n".encode().startswith(lock.read_bytes()):
                    lock.unlink()
        self._note.unlink(missing_ok=True)

    def _lock(self, ref: str) -> Path:
        return self._common_dir / f"{ref}.lock"


CHECKED = 1_000
"""Commits that came with a fetch and are looked at; of those before them only what the last one holds."""


class RemoteDamaged(WorkspaceError):
    """A remote sent incomplete data: an object is missing, or is of another kind."""

    code: ClassVar[str] = "REMOTE_DAMAGED"

    def __init__(self, remote: str) -> None:
        super().__init__(
            f"what the remote `{remote}` sent is not whole, so it was left aside",
            fix="Run git fsck in the remote's repository.",
            remote=remote,
        )


def check_whole(git: GitReader, remote: str, commit: str, ours: str | None, seen: set[str]) -> None:
    """Raise RemoteDamaged if objects of a fetched commit that ours does not have are missing.

    Commits of `seen` are not looked at, and those that were are added.
    """
    try:
        base = git.commit(ours).tree if ours is not None else None
        _check_changes(git, diff_trees(git, base, git.commit(commit).tree))
        for parent, tree in islice(_list_tree_pairs(git, commit, seen), CHECKED):
            _check_changes(git, diff_trees(git, parent, tree))
    except DamagedRepository as error:
        raise RemoteDamaged(remote) from error


def _list_tree_pairs(git: GitReader, commit: str, seen: set[str]) -> Iterator[tuple[str | None, str]]:
    """Yield the trees of a commit's first parent and its own, for it and its ancestors down to seen ones."""
    waiting = [commit]
    while waiting:
        id = waiting.pop()
        if id in seen:
            continue
        seen.add(id)
        found = git.commit(id)
        parents = [parent for parent in found.parents if git.has(parent) or not git.is_shallow]
        yield (git.commit(parents[0]).tree if parents else None), found.tree
        waiting += parents


def _check_changes(git: GitReader, differences: Iterator[TreeChange]) -> None:
    for change in differences:
        new = change.new
        if new is not None and new.mode != SUBMODULE_MODE and not git.has(new.id):
            raise DamagedRepository("an object of the repository is missing or broken", id=new.id)


def fast_forward(
    store: GitStore, branch: str, base: str | None, commit: str, who: tuple[str, str], *, durable: bool
) -> None:
    """Move a branch from one commit to a later one, and its checkout with it, by a publication.

    `who` is the name and the address that the reflogs hold. Raises what `Publication` and its `publish`
    raise: WorktreeConflict for a file with changes that are not committed, BranchMoved if another was first.
    """
    tree = store.commit(base).tree if base is not None else None
    taken = {
        change.path: WholeEntry(change.new) for change in diff_trees(store, tree, store.commit(commit).tree)
    }
    check_attributes(store, branch, taken, "merge --ff-only @{upstream}")
    author = Signature(*who, int(time.time()))
    batch = Batch(branch, base, taken, "docyard sync: fast-forward", author, commit=commit)
    publish(store, batch, durable=durable)


class ShallowHere(WorkspaceError):
    """The clone is shallow, and a fetch by libgit2 from a folder would lose its boundary."""

    code: ClassVar[str] = "SHALLOW_HISTORY"

    def __init__(self) -> None:
        super().__init__(
            "this clone is shallow, and such a one cannot fetch from a folder without being damaged",
            fix="Fetch the rest with git fetch --unshallow, then try again.",
        )


@dataclass
class RemoteSession:
    """The exchanges of the synchronized branches with a remote, while the sync lock is held."""

    workspace: Branch
    store: GitStore
    remotes: GitRemotes
    branch: str
    meant: Chosen
    access: Access
    progress: Progress | None
    moving: RefMover = field(init=False)

    def __post_init__(self) -> None:
        self.moving = RefMover(self.remotes, self.store.common_dir)

    def peer(self, url: str) -> Peer:
        """Return the remote as an exchange knows it. Raises UnsupportedRemote, UnsafeCredentials."""
        address = self.remotes.address(url)
        outside = [self.store.common_dir, *([self.store.worktree] if self.store.worktree else [])]
        settings = self.workspace.snapshot().config.remote
        return Peer(
            name=self.meant.name,
            address=address,
            login=self.access.login(address, outside),
            has_agent=self.access.has_agent,
            ssh_keys=self.access.ssh_keys,
            answer_seconds=settings.answer_seconds,
            seconds=settings.seconds,
            fetch_bytes=settings.fetch_bytes,
        )

    def seen(self) -> Mapping[str, str]:
        """Return the last seen commits of the remote's branches, and lost ones, by branch."""
        lost = self.remotes.refs(lost_ref(self.meant.name, ""))
        return lost | self.remotes.refs(tracking_ref(self.meant.name, ""))

    def stand(self, branch: str) -> TrackedCommits:
        """Return the state of a branch relative to the remote's. Raises ShallowHistory, DamagedRepository."""
        ours = self.workspace.tip(branch) if branch == self.branch else self.store.tip(branch)
        theirs = self.remotes.commit_at(tracking_ref(self.meant.name, branch))
        name = lost_ref(self.meant.name, branch)
        lost = self.remotes.commit_at(name)
        state = compare_commits(self.store, ours, theirs, lost)
        if lost is not None and state is not SyncState.REWOUND:
            # It is back there, or ours has given it up too.
            self.moving.move(name, None, was=lost)
        return TrackedCommits(ours, theirs, state)

    def fetch(self, peer: Peer) -> dict[str, WorkspaceError]:
        """Fetch all synchronized branches; return those that were left out, and why.

        Raises ShallowHere, and what `RemoteProcess.run` raises; the refs then tell what they told before.
        """
        if self.store.is_shallow and peer.address.transport is Transport.FILE:
            raise ShallowHere
        into = fetched_ref(peer.name, "")
        known = self.remotes.refs(tracking_ref(peer.name, ""))
        refused: dict[str, WorkspaceError] = {}
        self._free(into)
        try:
            found = self.remotes.fetch(
                peer, BranchSelection((self.branch,), PATTERN, known), into, self.progress
            )
            tips = self.remotes.refs(into)
            self._keep(tips, known)
            seen = {*known.values(), *([tip] if (tip := self.store.tip(self.branch)) else [])}
            for branch in (self.branch, *list_branches_to_sync({*known, *found}, self.branch)):
                try:
                    self._note(peer, branch, tips.get(branch, found.get(branch)), known.get(branch), seen)
                except WorkspaceError as error:
                    refused[branch] = error
        finally:
            self._free(into)
        return refused

    def _keep(self, tips: Mapping[str, str], known: Mapping[str, str]) -> None:
        """Protect fetched objects from a `git gc` that may have read the refs before the fetch."""
        served = self.store.tip(self.branch)
        bases = {tip: known.get(branch) or served for branch, tip in tips.items()}
        # What was pruned already is refused as not whole, and fetched again by the next synchronisation.
        with suppress(WorkspaceError, OSError):
            protect_fetched(self.store, {tip: base for tip, base in bases.items() if base not in (None, tip)})

    def _note(self, peer: Peer, branch: str, theirs: str | None, before: str | None, seen: set[str]) -> None:
        """Move the remote-tracking ref of a branch. `seen` are commits known whole. Raises RemoteDamaged."""
        if theirs == before:
            return
        if theirs is not None:
            check_whole(self.store, peer.name, theirs, before or self.store.tip(self.branch), seen)
        tracking = tracking_ref(peer.name, branch)
        if before is not None:
            self._remember_loss(lost_ref(peer.name, branch), before, theirs)
        self.moving.move(tracking, theirs, was=before)

    def _remember_loss(self, name: str, before: str, theirs: str | None) -> None:
        if theirs is not None and self.store.is_descendant(theirs, before):
            return
        kept = self.remotes.commit_at(name)
        if kept is None or not self.store.is_descendant(kept, before):
            self.moving.move(name, before, was=kept)

    def _free(self, into: str) -> None:
        """Remove the temporary refs. Only the lock's holder writes them: locks on them are of dead processes.

        libgit2 takes the lock of FETCH_HEAD whether or not it is held, and Git itself makes none.
        """
        (self.store.git_dir / "FETCH_HEAD.lock").unlink(missing_ok=True)
        for lock in (self.store.common_dir / into).rglob("*.lock"):
            lock.unlink(missing_ok=True)
        for branch, commit in self.remotes.refs(into).items():
            self.moving.move(into + branch, None, was=commit)

    def push(self, peer: Peer, wanted: Mapping[str, str]) -> dict[str, WorkspaceError]:
        """Push commits to branches in one exchange, and return why some were not taken, by branch.

        One that was taken, of which that could not be noted here, is among them. Raises what
        `RemoteProcess.run` raises.
        """
        try:
            refused = self.remotes.push(peer, wanted, self.progress)
        except (RemoteUnreachable, RemoteTooSlow):
            # An error is no proof that it did not arrive: the remote is asked.
            arrived = self._arrived(peer, wanted)
            untold = self._track(peer, arrived)
            if arrived != wanted:
                raise
            return untold
        untold = self._track(peer, {branch: id for branch, id in wanted.items() if branch not in refused})
        return {**refused, **untold}

    def _arrived(self, peer: Peer, wanted: Mapping[str, str]) -> dict[str, str]:
        with suppress(RemoteUnreachable, RemoteTooSlow):
            there = self.remotes.list_branches(peer, BranchSelection(tuple(wanted)))
            return {branch: id for branch, id in wanted.items() if there.get(branch) == id}
        return {}

    def _track(self, peer: Peer, pushed: Mapping[str, str]) -> dict[str, WorkspaceError]:
        refused: dict[str, WorkspaceError] = {}
        for branch, commit in pushed.items():
            ref = tracking_ref(peer.name, branch)
            try:
                self.moving.move(ref, commit, was=self.remotes.commit_at(ref))
            except WorkspaceError as error:
                refused[branch] = error
        return refused


def check_attributes(git: GitReader, branch: str, paths: Collection[str], command: str) -> None:
    """Raise WorktreeBusy if checkout rules change under a checkout of the branch.

    libgit2 would check the other files out by the rules that stand in the work tree now.
    """
    rules = next((path for path in paths if path.rpartition("/")[2] == ".gitattributes"), None)
    if rules is not None and git.worktrees_of(branch):
        raise WorktreeBusy(
            f"`{rules}` changes, and with it how files are checked out", fix=f"Run git {command} there."
        )
