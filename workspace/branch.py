"""A branch of a repository: its commits to read, and the objects that its writers share."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from workspace.config.toml import CONFIG_PATH
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git.objects import Head
from workspace.git.repository import DamagedRepository, check_repository_exists
from workspace.git.store import GitStore, hold_upstream
from workspace.lru_cache import LRUCache
from workspace.nearest import find_nearest
from workspace.publishing.locks import WriterLock
from workspace.snapshot.snapshot import DocumentCache, Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Self

    from workspace.git.reader import GitReader
    from workspace.git.trees import WholeEntry
    from workspace.links.inbound_links import InboundLinkFinder
    from workspace.policy.tokens import Tokens, TokenSource
    from workspace.publishing.recovery import RecoveryResult

    Guard = Callable[[Snapshot, Mapping[str, bytes | WholeEntry | None]], None]

T = TypeVar("T")

FALLBACK_AUTHOR = ("Docyard", "docyard@localhost")
_MAX_CACHED_DATES = 100  # each resolved date needs a walk through the history
_MAX_CACHED_BRANCHES = 64  # the served branch is not counted


class BranchNotFound(WorkspaceError):
    """An error: the repository has no branch of this name. `branches` are the most similar names."""

    code = "BRANCH_NOT_FOUND"


def check_branch_name(git: GitReader, branch: str) -> None:
    """Raise BranchNotFound unless a branch has a commit, or is checked out and unborn."""
    if branch != git.head().branch and git.tip(branch) is None:
        raise make_branch_not_found_error(git, branch)


def check_branch(git: GitReader, branch: str) -> None:
    """Raise BranchNotFound unless a branch has a commit; RepositoryMissing if its repository is missing."""
    if git.tip(branch) is None:
        check_repository_exists(git.git_dir, git.common_dir)
        raise make_branch_not_found_error(git, branch)


def make_branch_not_found_error(git: GitReader, branch: str) -> BranchNotFound:
    """Return the error for a branch without a commit, with the most similar names."""
    branches = git.branches()
    if branch in branches:
        return BranchNotFound(
            f"'{branch}' is another name (a symbolic ref) for a branch",
            fix="Use the name of that branch.",
        )
    nearest_names = find_nearest(branch, branches)
    fix = f"Did you mean '{nearest_names[0]}'?" if nearest_names else "Create it with git branch first."
    return BranchNotFound(f"no branch '{branch}'", fix=fix, branches=nearest_names)


def make_deleted_branch_error(
    git: GitReader, branch: str, *, is_named: bool, is_served: bool = True
) -> BranchNotFound:
    """Return the error for a deleted branch: the served branch (named, or checked out), or another branch."""
    if not is_served:
        state = "had a commit"
        fix = "Name another branch, or create it again with git branch."
    elif is_named:
        state = "is served"
        fix = "Restart the server with another --branch, or create the branch again with git branch."
    else:
        state = "is checked out"
        fix = "Switch to another branch with git switch, or make a first commit with git commit."
    message = f"the branch '{branch}', which {state}, was deleted or renamed"
    return BranchNotFound(message, fix=fix, branches=find_nearest(branch, git.branches()))


class Branch:
    """A branch of a repository: the named branch, else the checked-out branch.

    Thread-safe. `guards` are functions by name. Before changes are committed, each guard checks them in
    addition to the policy; it may raise an error to refuse them.
    """

    def __init__(self, git: GitReader, *, branch: str | None = None, durable: bool = True) -> None:
        self.git = git
        self.durable = durable
        self._branch_name = branch
        # `Workspace.write` acquires the lock itself.
        self.writer_lock = WriterLock(lambda: hold_upstream(self.git))
        self._cache = DocumentCache()
        self._latest: Snapshot | None = None
        self._lock = threading.Lock()
        self._shared: dict[type, object] = {}
        self._inbound_links: InboundLinkFinder | None = None
        self._token_source: TokenSource | None = None
        self._served_branch: Self | None = None  # see `for_branch`
        self._other_branches: LRUCache[str, Self] = LRUCache(_MAX_CACHED_BRANCHES)
        self.guards: dict[str, Guard] = {}
        self.commits_by_date: LRUCache[tuple[str, int], str] = LRUCache(
            _MAX_CACHED_DATES
        )  # see `revisions.resolve_ref`
        self._seen_branches: set[str] = set()  # branches that had a commit

    @property
    def branch(self) -> str | None:
        """The served branch; None on a detached HEAD. Unless it was named, a `git switch` changes it."""
        return self._branch_name if self._branch_name is not None else self.git.head().branch

    @property
    def read_only(self) -> bool:
        """Return True if nothing can be written through this object."""
        return not isinstance(self.git, GitStore)

    @property
    def repository_name(self) -> str:
        """The name of the repository's folder."""
        folder = self.git.worktree or self.git.common_dir
        return folder.name.removesuffix(".git") or folder.parent.name

    def tip(self, branch: str | None = None) -> str | None:
        """Return the current commit of the served branch, or of `branch`; None before the first commit.

        Raises RepositoryMissing, and BranchNotFound for a branch that had a commit before.
        """
        branch_name = branch or self._branch_name
        try:
            head = self.git.head() if branch_name is None else Head(branch_name, self.git.tip(branch_name))
        except DamagedRepository:
            check_repository_exists(self.git.git_dir, self.git.common_dir)
            raise
        if head.commit is not None:
            if head.branch is not None:
                self._seen_branches.add(head.branch)
            return head.commit
        check_repository_exists(self.git.git_dir, self.git.common_dir)
        if head.branch is not None and head.branch in self._seen_branches:
            is_served = self._served_branch is None
            raise make_deleted_branch_error(
                self.git, head.branch, is_named=head.branch == self._branch_name, is_served=is_served
            )
        return None

    def snapshot(self, commit: str | None = None) -> Snapshot:
        """Return the snapshot of a commit: the tip of the served branch unless `commit` is given."""
        commit_id = commit or self.tip()
        with self._lock:
            if self._latest is None or self._latest.commit != commit_id:
                latest = self._create_snapshot(commit_id, self._latest)
                if commit is not None:
                    return latest
                self._latest = latest
            return self._latest

    def _create_snapshot(self, commit: str | None, previous: Snapshot | None) -> Snapshot:
        return Snapshot(self.git, commit, self._cache, previous)

    def describe_uncommitted_settings(self) -> str | None:
        """Return a sentence about settings in the work tree that do not apply, because they are uncommitted.

        Return None if there are none, or if another branch is checked out.
        """
        if self.git.head().branch != self.branch or not self.git.is_uncommitted(CONFIG_PATH):
            return None
        if self.snapshot().entry(CONFIG_PATH) is None:
            return f"{CONFIG_PATH} is not committed, and does not apply"
        return f"{CONFIG_PATH} has changes that are not committed; the committed one applies"

    def check_settings(self) -> None:
        """Raise InvalidConfig if the settings at the tip are invalid."""
        try:
            snapshot = self.snapshot()
            if snapshot.has_config:
                snapshot.config  # noqa: B018
        except InvalidConfig:
            raise
        except WorkspaceError:  # each call that reads the damaged part raises this error
            return

    def list_uncommitted_documents(self) -> list[str]:
        """Return the paths of documents whose files differ from the tip, without ignored files, sorted.

        The result is empty in a bare repository, and if another branch is checked out.
        """
        if self.git.head().branch != self.branch:
            return []
        config = self.snapshot().config
        return [path for path in self.git.list_uncommitted() if config.is_document(path)]

    def has_commit(self, commit: str) -> bool:
        """Return True if a commit is still in the repository."""
        return self.git.has_object(commit)

    def author(self) -> tuple[str, str]:
        """Return the name and email address of the author: Git's configured identity, else Docyard's own."""
        return self.git.identity() or FALLBACK_AUTHOR

    @property
    def served_branch(self) -> Self:
        """The branch that was opened: this branch, or the branch whose `for_branch` created this branch."""
        return self._served_branch or self

    def for_branch(self, branch: str) -> Self:
        """Return another branch of the repository, with the same caches and lock. Raises BranchNotFound."""
        origin = self.served_branch
        check_branch(self.git, branch)
        with origin._lock:  # so that all threads get the same object
            other = origin._other_branches.get(branch, origin._create_branch, branch)
        other.tip()
        return other

    def _create_branch(self, branch: str) -> Self:
        other = type(self)(self.git, branch=branch, durable=self.durable)
        other._cache, other._latest, other._shared = self._cache, self._latest, self._shared
        other.writer_lock, other._served_branch = self.writer_lock, self
        return other

    def shared(self, kind: type[T], make: Callable[[], T]) -> T:
        """Return the object of a class that all branches of the repository share; create it on first use."""
        instance = self._shared.get(kind)
        if instance is None:
            instance = self._shared.setdefault(kind, make())
        assert isinstance(instance, kind)
        return instance

    def recover(self) -> RecoveryResult | None:
        """Recover from a writer that was killed during a commit, as each write does first.

        Return None in a read-only workspace. Raises Locked, CannotWrite.
        """
        from workspace.publishing.recovery import recover

        return recover(self.git) if isinstance(self.git, GitStore) else None

    def restore_pruned(self) -> bool:
        """Write pruned objects again; return True if the failed read should be repeated.

        Call this after a read of a missing object. A read-only workspace restores no object.
        """
        from workspace.publishing.recovery import restore_all_pruned

        return isinstance(self.git, GitStore) and restore_all_pruned(self.git)

    @property
    def tokens(self) -> Tokens:
        """The tokens of people: in a file of the repository, unless nodes share them."""
        from workspace.policy.tokens import Tokens

        return Tokens(self.git.common_dir, self.served_branch._token_source)

    def share_tokens(self, source: TokenSource) -> None:
        """Use the tokens that nodes share."""
        self.served_branch._token_source = source

    @property
    def inbound_links(self) -> InboundLinkFinder:
        """The lookup of documents that may link to a path; a scan of all documents unless another is set."""
        served = self.served_branch
        if served._inbound_links is None:
            from workspace.links.inbound_links import InboundLinkScanner

            served._inbound_links = InboundLinkScanner()
        return served._inbound_links

    @inbound_links.setter
    def inbound_links(self, inbound_links: InboundLinkFinder) -> None:
        self.served_branch._inbound_links = inbound_links
