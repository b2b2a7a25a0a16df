"""A branch of a repository: its commits to read, and what its writers share."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, TypeVar

from workspace.errors import WorkspaceError
from workspace.git.objects import Head
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.lru_cache import LRUCache
from workspace.nearest import find_nearest
from workspace.publishing.locks import WriterLock
from workspace.snapshot.snapshot import DocumentCache, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from workspace.git.reader import GitReader
    from workspace.git.trees import WholeEntry
    from workspace.links.inbound import Inbound
    from workspace.publishing.recovery import RecoveryResult

    Guard = Callable[[Snapshot, Mapping[str, bytes | WholeEntry | None]], None]

T = TypeVar("T")

FALLBACK_AUTHOR = ("Docyard", "docyard@localhost")
_DATES = 100  # each of which is looked for along the history
_OTHERS = 64  # branches in addition to the served one whose objects are cached


class BranchNotFound(WorkspaceError):
    """The repository has no branch of this name, or no longer. `branches` are the nearest that it has."""

    code = "BRANCH_NOT_FOUND"


class RepositoryGone(WorkspaceError):
    """The repository, or the linked work tree of it that is served, is not where it was opened."""

    code = "REPOSITORY_GONE"


def check_named(git: GitReader, branch: str) -> None:
    """Raise BranchNotFound unless a branch has a commit, or is checked out and is about to have one."""
    if branch != git.head().branch and git.tip(branch) is None:
        raise not_found(git, branch)


def check_branch(git: GitReader, branch: str) -> None:
    """Raise BranchNotFound unless a branch has a commit, or RepositoryGone."""
    if git.tip(branch) is None:
        check_there(git)
        raise not_found(git, branch)


def not_found(git: GitReader, branch: str) -> BranchNotFound:
    """Return the error for a branch that has no commit, with the nearest names."""
    branches = git.branches()
    if branch in branches:
        return BranchNotFound(
            f"'{branch}' is only another name (a symbolic ref) for a branch",
            fix="Name the branch that it leads to.",
        )
    close = find_nearest(branch, branches)
    fix = f"Did you mean '{close[0]}'?" if close else "Make it with git branch first."
    return BranchNotFound(f"no branch '{branch}'", fix=fix, branches=close)


def check_there(git: GitReader) -> None:
    """Raise RepositoryGone where the Git folders have no HEAD, which Git always has there."""
    if not os.path.lexists(git.common_dir / "HEAD"):
        raise RepositoryGone(
            "the repository is gone: its Git folder was moved, unmounted or deleted",
            fix="Bring it back to its place and send the same call again, or restart the server where it "
            "is now.",
        )
    if not os.path.lexists(git.git_dir / "HEAD"):
        raise RepositoryGone(
            "the linked work tree that is served is gone: it was removed from the repository",
            fix="Make it again with git worktree add, or restart the server in another work tree.",
        )


def deleted(git: GitReader, branch: str, *, is_named: bool, is_served: bool = True) -> BranchNotFound:
    """The error for a branch that had a commit when it was seen last: named, checked out, or not served."""
    if not is_served:
        state = "had a commit"
        fix = "Name another branch, or make it again with git branch."
    elif is_named:
        state = "is served"
        fix = "Restart the server with the --branch that is meant, or make it again with git branch."
    else:
        state = "is checked out"
        fix = "Switch to the one that is meant with git switch, or make a first commit with git commit."
    message = f"the branch '{branch}', which {state}, was deleted or renamed"
    return BranchNotFound(message, fix=fix, branches=find_nearest(branch, git.branches()))


class Branch:
    """A branch of a repository: the one that was named, else whichever is checked out.

    Safe in several threads. Each of `guards`, by its name, is asked in a writer's turn, in addition to the
    policy, about changes on top of a commit.
    """

    def __init__(self, git: GitReader, *, branch: str | None = None, durable: bool = True) -> None:
        self.git = git
        self.durable = durable
        self._named = branch
        self.turn = WriterLock()  # of this process; `Workspace.write` takes it by itself
        self._cache = DocumentCache()
        self._latest: Snapshot | None = None
        self._lock = threading.Lock()
        self._shared: dict[type, object] = {}
        self._inbound: Inbound | None = None
        self._origin: Self | None = None  # see `on`
        self._others: LRUCache[str, Self] = LRUCache(_OTHERS)
        self.guards: dict[str, Guard] = {}
        self.dated: LRUCache[tuple[str, int], str] = LRUCache(_DATES)  # see `revisions.resolve_ref`
        self._born: set[str] = set()  # the branches that were seen to have a commit

    @property
    def branch(self) -> str | None:
        """The served branch; unless it was named, a `git switch` changes it. None on a detached HEAD."""
        return self._named if self._named is not None else self.git.head().branch

    @property
    def read_only(self) -> bool:
        """Return True if nothing can be written through this object."""
        return not isinstance(self.git, GitStore)

    @property
    def name(self) -> str:
        """The name of the repository's folder."""
        home = self.git.worktree or self.git.common_dir
        return home.name.removesuffix(".git") or home.parent.name

    def tip(self, branch: str | None = None) -> str | None:
        """The commit of the served branch, or of the one that is named, as it is now; None before the first.

        Raises RepositoryGone, and BranchNotFound for a branch that had a commit when it was seen last.
        """
        wanted = branch or self._named
        try:
            head = self.git.head() if wanted is None else Head(wanted, self.git.tip(wanted))
        except DamagedRepository:
            check_there(self.git)
            raise
        if head.commit is not None:
            if head.branch is not None:
                self._born.add(head.branch)
            return head.commit
        check_there(self.git)
        if head.branch is not None and head.branch in self._born:
            is_served = self._origin is None
            raise deleted(self.git, head.branch, is_named=head.branch == self._named, is_served=is_served)
        return None

    def snapshot(self, commit: str | None = None) -> Snapshot:
        """Return a commit to read: the tip of the served branch unless one is named."""
        wanted = commit or self.tip()
        with self._lock:
            if self._latest is None or self._latest.commit != wanted:
                latest = Snapshot(self.git, wanted, self._cache, self._latest)
                if commit is not None:
                    return latest
                self._latest = latest
            return self._latest

    def exists(self, commit: str) -> bool:
        """Return True if a commit is still in the repository."""
        return self.git.has(commit)

    def author(self) -> tuple[str, str]:
        """Name and address that commits carry: Git's configured identity, else Docyard's own."""
        return self.git.identity() or FALLBACK_AUTHOR

    @property
    def served(self) -> Self:
        """The branch that was opened: this one, or that of which `on` made it."""
        return self._origin or self

    def on(self, branch: str) -> Self:
        """Return another branch of the repository, with the same caches and turn. Raises BranchNotFound."""
        origin = self.served
        check_branch(self.git, branch)
        with origin._lock:  # so that it is one object for all threads
            other = origin._others.get(branch, origin._beside, branch)
        other.tip()
        return other

    def _beside(self, branch: str) -> Self:
        other = type(self)(self.git, branch=branch, durable=self.durable)
        other._cache, other._latest, other._shared = self._cache, self._latest, self._shared
        other.turn, other._origin = self.turn, self
        return other

    def shared(self, kind: type[T], make: Callable[[], T]) -> T:
        """Return the one object of a class that all branches of the repository share, made for the first."""
        found = self._shared.get(kind)
        if found is None:
            found = self._shared.setdefault(kind, make())
        assert isinstance(found, kind)
        return found

    def recover(self) -> RecoveryResult | None:
        """Mend what a writer that died in the middle of a commit left; each write does so first, too.

        None where this workspace writes nothing. Raises Locked, CannotWrite.
        """
        from workspace.publishing.recovery import recover

        return recover(self.git) if isinstance(self.git, GitStore) else None

    def restore_pruned(self) -> bool:
        """Write the objects again that `git prune` removed of the branches; return True if some came back.

        This is for a call that met a missing object. A read-only workspace restores nothing.
        """
        from workspace.publishing.recovery import restore_all_pruned

        return isinstance(self.git, GitStore) and restore_all_pruned(self.git)

    @property
    def inbound(self) -> Inbound:
        """What tells which documents may link to a path: a look at all of them, unless another is set."""
        served = self.served
        if served._inbound is None:
            from workspace.links.inbound import ScannedInbound

            served._inbound = ScannedInbound()
        return served._inbound

    @inbound.setter
    def inbound(self, inbound: Inbound) -> None:
        self.served._inbound = inbound
