"""Whether what is served is still there: the repository, its work tree, its branch."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError
from workspace.nearest import nearest

if TYPE_CHECKING:
    from workspace.git.reader import GitReader


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
    close = nearest(branch, branches)
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
    return BranchNotFound(message, fix=fix, branches=nearest(branch, git.branches()))
