"""The branches that are synchronized with the served one: the discussion, and those of proposals.

How a branch stands to the one of its name in a remote, told from refs and commits that are here.

Which remote is meant: the one that is named, in the settings or by Git, or the only one.

The refs of ours that tell of remotes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest
from workspace.proposal_ids import BRANCH, BRANCHES, parse_branch_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from workspace.branch import Branch
    from workspace.errors import WorkspaceError
    from workspace.git.reader import GitReader


class SyncState(StrEnum):
    """The state of a branch relative to the remote's, after the synchronization."""

    LEVEL = "level"
    BEHIND = "behind"
    AHEAD = "ahead"
    DIVERGED = "diverged"
    REWOUND = "rewound"
    """The remote has no longer what it had, and ours still does: a push would bring it back."""


class TrackedCommits(NamedTuple):
    """The commits of a branch, here and in the remote as last seen (None: missing), and its state."""

    ours: str | None
    theirs: str | None
    state: SyncState


def compare_commits(git: GitReader, ours: str | None, theirs: str | None, lost: str | None) -> SyncState:
    """Return the state of two commits; `lost` is one that the remote had, and was seen to have no longer.

    Raises ShallowHistory, DamagedRepository.
    """
    if is_lost(git, ours, theirs, lost):
        return SyncState.REWOUND
    if ours == theirs:
        return SyncState.LEVEL
    if ours is None or theirs is None:
        return SyncState.BEHIND if ours is None else SyncState.AHEAD
    bases = git.merge_bases(ours, theirs)
    one_sided: dict[tuple[str, ...], SyncState] = {(ours,): SyncState.BEHIND, (theirs,): SyncState.AHEAD}
    return one_sided.get(bases, SyncState.DIVERGED)


def is_lost(git: GitReader, ours: str | None, theirs: str | None, lost: str | None) -> bool:
    """Return True if ours still has a commit that the remote lost, and that was not given up since."""
    if lost is None or ours is None or not git.is_descendant(ours, lost):
        return False
    return theirs is None or not git.is_descendant(theirs, lost)


DISCUSSION = BRANCH
PATTERN = f"{DISCUSSION}|{BRANCHES}[0-9a-z]{{8}}(?:-[^/]*)?"
"""Fits the names of branches that may be of the discussion or of a proposal."""


class SyncedBranch(NamedTuple):
    """A branch other than the served one, after a synchronization.

    `is_there` says whether the remote has it, `commit` is None where this repository has not. `done` tells
    what was done: "followed", "merged", "pushed", some of them, or nothing. `conflicts` are the paths that
    were changed on both sides, `error` is what stood in the way.
    `is_landed` says that the served branch has all of it, so that nothing is missed where it was deleted.
    """

    branch: str
    state: SyncState
    commit: str | None
    is_there: bool
    done: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    error: WorkspaceError | None = None
    is_landed: bool = False

    @property
    def is_discussion(self) -> bool:
        """Return True for the branch of the discussion."""
        return self.branch == DISCUSSION

    @property
    def needs_someone(self) -> bool:
        """Return True if the branch stays apart from the remote's until a person decides."""
        if self.error is None and self.is_landed and not self.is_there:
            return False
        return self.error is not None or self.state in (SyncState.DIVERGED, SyncState.REWOUND)


def list_branches_to_sync(branches: Iterable[str], served: str) -> tuple[str, ...]:
    """Return the branches that are synchronized: the discussion first, then by name."""
    return tuple(
        sorted(
            {branch for branch in branches if branch != served and _is_synced(branch)},
            key=lambda branch: (branch != DISCUSSION, branch),
        )
    )


def _is_synced(branch: str) -> bool:
    return branch == DISCUSSION or (parse_branch_id(branch) is not None and branch.count("/") == 1)


class NoRemote(WorkspaceError):
    """The repository has no remote, or several without a default; `remotes` are their names."""

    code: ClassVar[str] = "NO_REMOTE"

    def __init__(self, remotes: tuple[str, ...]) -> None:
        if remotes:
            message = "the repository has several remotes, and it is not said which is meant"
            fix = "Name one, or set remote.name in docyard.toml."
        else:
            message, fix = "the repository has no remote", "Add one by git remote add origin URL."
        super().__init__(message, fix=fix, remotes=list(remotes))


class UnknownRemote(WorkspaceError):
    """The repository has no remote of this name; `remotes` are the nearest names."""

    code: ClassVar[str] = "REMOTE_NOT_FOUND"

    def __init__(self, name: str, remotes: tuple[str, ...]) -> None:
        close = find_nearest(name, remotes)
        super().__init__(
            f"the repository has no remote {name[:100]!a}",
            fix=f"Did you mean '{close[0]}'?" if close else "Add it by git remote add.",
            remotes=list(close),
        )


class Chosen(NamedTuple):
    """A remote of Git's settings: the URLs for fetch and push."""

    name: str
    url: str
    push_url: str


def chosen(workspace: Branch, name: str | None = None) -> Chosen:
    """Return the remote of a name, or the default one.

    The one that is named; else that of `remote.name` in docyard.toml; else the branch's own
    (`branch.<name>.remote`); else `origin`; else the only one. Raises NoRemote, UnknownRemote, InvalidConfig.
    """
    git = workspace.git
    remotes = git.remotes()
    wanted = name or workspace.snapshot().config.remote.name
    if wanted is None:
        own = git.config(f"branch.{workspace.branch}.remote")
        wanted = own if own in remotes else "origin" if "origin" in remotes else None
    if wanted is None:
        if len(remotes) != 1:
            raise NoRemote(tuple(remotes))
        (wanted,) = remotes
    if wanted not in remotes:
        raise UnknownRemote(wanted, tuple(remotes))
    url = remotes[wanted]
    return Chosen(wanted, url, git.config(f"remote.{wanted}.pushurl") or url)


def tracking_ref(remote: str, branch: str) -> str:
    """Return the remote-tracking ref of a branch, which holds its last seen commit.

    Without a branch, what the names of all of them begin with; so it is with the others.
    """
    return f"refs/remotes/{remote}/{branch}"


def fetched_ref(remote: str, branch: str) -> str:
    """Return the temporary ref to which a fetch brings a branch."""
    return f"refs/docyard/fetched/{remote}/{branch}"


def lost_ref(remote: str, branch: str) -> str:
    """Return the ref that holds the commit which a remote's branch has lost."""
    return f"refs/docyard/lost/{remote}/{branch}"
