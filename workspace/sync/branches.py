"""The branches to synchronize, their states relative to the remote, and the selection of the remote.

The discussion and the branches of proposals are synchronized with the served branch. States are computed from
local refs and commits. The last functions name the local refs that record the state of a remote.

A lost commit is a commit that a fetch has seen on a remote's branch, and that a force push or a deletion
removed from it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.proposal_ids import DISCUSSION_BRANCH, PROPOSAL_BRANCH_PREFIX, parse_branch_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.branch import Branch
    from workspace.git.reader import GitReader


class SyncState(StrEnum):
    """The state of a branch relative to the remote's branch as last seen."""

    UP_TO_DATE = "level"
    BEHIND = "behind"
    AHEAD = "ahead"
    DIVERGED = "diverged"
    FORCE_PUSHED = "rewound"
    """The remote removed commits that our branch still has; a push would restore these commits."""


class TrackedCommits(NamedTuple):
    """The local and the last seen remote commit of a branch (None if missing), and its state."""

    ours: str | None
    theirs: str | None
    state: SyncState


def compare_commits(
    git: GitReader, ours: str | None, theirs: str | None, lost_commit: str | None
) -> SyncState:
    """Return the state of two commits; `lost_commit` is a lost commit of the remote's branch, or None.

    Raises ShallowHistory, DamagedRepository.
    """
    if is_lost_commit_preserved(git, ours, theirs, lost_commit):
        return SyncState.FORCE_PUSHED
    if ours == theirs:
        return SyncState.UP_TO_DATE
    if ours is None or theirs is None:
        return SyncState.BEHIND if ours is None else SyncState.AHEAD
    bases = git.merge_bases(ours, theirs)
    states_by_bases: dict[tuple[str, ...], SyncState] = {
        (ours,): SyncState.BEHIND,
        (theirs,): SyncState.AHEAD,
    }
    return states_by_bases.get(bases, SyncState.DIVERGED)


def is_lost_commit_preserved(
    git: GitReader, ours: str | None, theirs: str | None, lost_commit: str | None
) -> bool:
    """Return True if our branch still has a lost commit that the remote has not restored."""
    if lost_commit is None or ours is None or not git.is_descendant(ours, lost_commit):
        return False
    return theirs is None or not git.is_descendant(theirs, lost_commit)


SYNCED_BRANCH_PATTERN = f"{DISCUSSION_BRANCH}|{PROPOSAL_BRANCH_PREFIX}[0-9a-z]{{8}}(?:-[^/]*)?"
"""A regular expression that matches the branches of the discussion and of proposals."""


class SyncedBranch(NamedTuple):
    """A branch other than the served branch, after a synchronization.

    `is_on_remote` is True if the remote has the branch; `commit` is None if this repository lacks the branch.
    `actions` are the performed actions: "followed" (a fast-forward to the remote's branch), "merged",
    "pushed". `conflicts` are the paths that both sides changed, and `error` is the reason why the branch was
    not synchronized. `is_contained` is True if the served branch contains all commits of the branch. Then
    nothing is lost if the remote deleted the branch.
    """

    branch: str
    state: SyncState
    commit: str | None
    is_on_remote: bool
    actions: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    error: WorkspaceError | None = None
    is_contained: bool = False

    @property
    def is_discussion(self) -> bool:
        """Return True for the branch of the discussion."""
        return self.branch == DISCUSSION_BRANCH

    @property
    def needs_resolution(self) -> bool:
        """Return True if a person must resolve the difference from the remote's branch."""
        if self.error is None and self.is_contained and not self.is_on_remote:
            return False
        return self.error is not None or self.state in (SyncState.DIVERGED, SyncState.FORCE_PUSHED)


def list_branches_to_sync(branches: Iterable[str], served_branch: str) -> tuple[str, ...]:
    """Return the branches to synchronize: the discussion first, then by name."""
    return tuple(
        sorted(
            {branch for branch in branches if branch != served_branch and _is_synced(branch)},
            key=lambda branch: (branch != DISCUSSION_BRANCH, branch),
        )
    )


def _is_synced(branch: str) -> bool:
    return branch == DISCUSSION_BRANCH or (parse_branch_id(branch) is not None and branch.count("/") == 1)


class NoRemote(WorkspaceError):
    """An error: the repository has no remote, or several without a default. `remotes` are their names."""

    code: ClassVar[str] = "NO_REMOTE"

    def __init__(self, remotes: tuple[str, ...]) -> None:
        if remotes:
            message = "the repository has several remotes and no default"
            fix = "Name a remote, or set remote.name in docyard.toml."
        else:
            message, fix = "the repository has no remote", "Run git remote add origin URL."
        super().__init__(message, fix=fix, remotes=list(remotes))


class UnknownRemote(WorkspaceError):
    """An error: the repository has no remote of this name. `remotes` are the most similar names."""

    code: ClassVar[str] = "REMOTE_NOT_FOUND"

    def __init__(self, name: str, known_remotes: tuple[str, ...]) -> None:
        candidates = find_nearest(name, known_remotes)
        super().__init__(
            f"the repository has no remote {name[:100]!a}",
            fix=f"Did you mean '{candidates[0]}'?" if candidates else "Run git remote add NAME URL.",
            remotes=list(candidates),
        )


class ConfiguredRemote(NamedTuple):
    """A remote in Git's settings: its name, and its URLs for fetch and push."""

    name: str
    url: str
    push_url: str


def select_remote(workspace: Branch, name: str | None = None) -> ConfiguredRemote:
    """Return the remote of a name, or the default remote.

    The default is `remote.name` of docyard.toml, else the branch's remote (`branch.<name>.remote`), else
    `origin`, else the only remote. Raises NoRemote, UnknownRemote, InvalidConfig.
    """
    git = workspace.git
    remotes = git.remotes()
    remote_name = name or workspace.snapshot().config.remote.name
    if remote_name is None:
        branch_remote = git.config(f"branch.{workspace.branch}.remote")
        remote_name = branch_remote if branch_remote in remotes else "origin" if "origin" in remotes else None
    if remote_name is None:
        if len(remotes) != 1:
            raise NoRemote(tuple(remotes))
        (remote_name,) = remotes
    if remote_name not in remotes:
        raise UnknownRemote(remote_name, tuple(remotes))
    url = remotes[remote_name]
    return ConfiguredRemote(remote_name, url, git.config(f"remote.{remote_name}.pushurl") or url)


def format_tracking_ref(remote: str, branch: str) -> str:
    """Return the remote-tracking ref of a branch, which contains its last seen commit.

    For an empty branch, return the common prefix of these refs. The functions below do the same.
    """
    return f"refs/remotes/{remote}/{branch}"


def format_fetched_ref(remote: str, branch: str) -> str:
    """Return the temporary ref to which a fetch writes a branch."""
    return f"refs/docyard/fetched/{remote}/{branch}"


def format_lost_ref(remote: str, branch: str) -> str:
    """Return the ref of the lost commit of a remote's branch."""
    return f"refs/docyard/lost/{remote}/{branch}"
