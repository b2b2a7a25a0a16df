"""Checks of the repository: who commits, what is checked out, its locks and its settings."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from docyard.checkup.documents import Progress, check_documents
from docyard.checkup.finding import Finding, Severity
from docyard.checkup.worktree import check_worktree
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.publishing.leftovers import Leftovers
    from workspace.workspace import Workspace

AREA = "repository"

_STALE_LOCK = 60.0  # seconds; no git command holds a lock for as long as that


def refusal(error: WorkspaceError) -> Finding:
    """The finding for a repository that cannot be opened."""
    return Finding(Severity.ERROR, AREA, error.message, error.fix)


def check_repository(workspace: Workspace, progress: Progress | None = None) -> Iterator[Finding]:
    """What is wrong with the repository, its work trees, its settings and its documents. Changes nothing."""
    yield from _identity(workspace)
    if workspace.branch is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "HEAD is detached: documents can be read, and nothing can be written",
            "git switch BRANCH, or serve one with `docyard serve --branch BRANCH`",
        )
    from workspace.publishing.leftovers import leftovers

    left = leftovers(workspace.git.common_dir)
    yield from _leftovers(left)
    yield from _locks(workspace, left)
    snapshot = workspace.snapshot()
    if snapshot.commit is None:
        yield Finding(Severity.NOTE, AREA, "there is no commit yet; the first document makes one")
        return
    try:
        settings = snapshot.config
    except WorkspaceError as error:
        yield refusal(error)
        return
    if settings.signing != "off" and workspace.git.config_flag("commit.gpgsign"):
        yield Finding(
            Severity.WARNING,
            AREA,
            "the repository asks for signed commits, which docyard does not make, so it will not write",
            'Put signing = "off" into docyard.toml if unsigned commits are acceptable here.',
        )
    yield from check_documents(snapshot, progress)
    if workspace.branch is not None:
        for worktree in workspace.git.worktrees_of(workspace.branch):
            yield from check_worktree(worktree, snapshot)


def _identity(workspace: Workspace) -> Iterator[Finding]:
    if workspace.git.identity() is None:
        name, email = workspace.author()
        yield Finding(
            Severity.WARNING,
            AREA,
            f"Git knows no name for you, so commits will be by {name} <{email}>",
            'git config --global user.name "Your Name" && git config --global user.email you@example.com',
        )


def _leftovers(left: Leftovers) -> Iterator[Finding]:
    cure = f'cd "$(git rev-parse --git-common-dir)" && rm -r {" ".join([*left.locks, *left.folders])}'
    if left.locks:
        yield Finding(
            Severity.ERROR,
            AREA,
            "a docyard died in the middle of a commit, and its locks keep everyone from writing: "
            + ", ".join(left.locks),
            f"{cure}; then git status: what it shows of the agent's work was not committed",
        )
    elif left.folders:
        count = "a private folder" if len(left.folders) == 1 else f"{len(left.folders)} private folders"
        yield Finding(
            Severity.NOTE,
            AREA,
            f"a docyard died in the middle of a commit and left {count}; no harm was done",
            cure,
        )


def _locks(workspace: Workspace, left: Leftovers) -> Iterator[Finding]:
    common, own = workspace.git.common_dir, workspace.git.git_dir
    locks = [own / "index.lock", own / "HEAD.lock", common / "config.lock", common / "packed-refs.lock"]
    if workspace.branch is not None:
        locks.append(common / "refs" / "heads" / f"{workspace.branch}.lock")
    for lock in locks:
        try:
            age = time.time() - lock.stat().st_mtime
        except OSError:
            continue
        ours = lock.is_relative_to(common) and lock.relative_to(common).as_posix() in left.locks
        if age > _STALE_LOCK and not ours:
            name = lock.relative_to(own if lock.is_relative_to(own) else common).as_posix()
            yield Finding(
                Severity.ERROR,
                AREA,
                f"the lock {name} in the Git folder is {age / 60:.0f} minutes old; its program may have died",
                f'If no git program is running here: rm "$(git rev-parse --git-path {name})"',
            )
