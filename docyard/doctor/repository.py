"""Checks of the repository: who commits, what is checked out, its locks and its settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from docyard.doctor.documents import Progress, check_documents
from docyard.doctor.finding import MEND, Finding, Severity
from docyard.doctor.settings import check_settings
from docyard.doctor.storage import check_storage
from docyard.doctor.worktree import check_worktree
from workspace.errors import WorkspaceError
from workspace.git import DamagedRepository
from workspace.publishing.journal import NAME as JOURNAL

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.publishing.leftovers import Leftovers
    from workspace.workspace import Workspace

    Writable = Callable[[], Workspace]  # opens the workspace anew, for writing

AREA = "repository"

_STALE_LOCK = 60.0  # seconds; no git command holds a lock for as long as that


def refusal(error: WorkspaceError, *, ends_it: bool = False) -> Finding:
    """The finding for a repository, or a part of it, that cannot be read."""
    return Finding(Severity.ERROR, AREA, error.message, error.fix, ends_it=ends_it)


def check_repository(
    workspace: Workspace, writable: Writable, progress: Progress | None = None
) -> Iterator[Finding]:
    """What is wrong with the repository, its work trees, its settings and its documents. Changes nothing."""
    from workspace.publishing.leftovers import leftovers

    left = leftovers(workspace.git.common_dir)
    yield from _leftovers(workspace.git.common_dir, left, writable)
    yield from _locks(workspace.git.common_dir, left)
    yield from check_settings(workspace.git.common_dir, workspace.git.git_dir)
    yield from check_storage(workspace.git)
    yield from _identity(workspace)
    if workspace.branch is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "HEAD is detached: documents can be read, and nothing can be written",
            "git switch BRANCH, or serve one with `docyard serve --branch BRANCH`",
        )
    snapshot = workspace.snapshot()
    if snapshot.commit is None:
        yield Finding(Severity.NOTE, AREA, "there is no commit yet; the first document makes one")
        return
    try:
        settings = snapshot.config
    except DamagedRepository:
        raise
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
    yield from check_documents(snapshot, writable, progress)
    if workspace.branch is None:
        return
    worktrees = workspace.git.worktrees_of(workspace.branch)
    if len(worktrees) > 1:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"{len(worktrees)} work trees stand on the branch, and nothing can be written meanwhile",
            "git worktree list; then git switch all but one to another branch",
        )
    for worktree in worktrees:
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


def _leftovers(common_dir: Path, left: Leftovers, writable: Writable) -> Iterator[Finding]:
    mend = partial(_recover, writable)
    if left.locks:
        yield Finding(
            Severity.ERROR,
            AREA,
            "a docyard died in the middle of a commit, and its locks keep everyone from writing: "
            + ", ".join(left.locks),
            MEND,
            mend,
        )
    elif any((common_dir / folder / JOURNAL).exists() for folder in left.folders):
        yield Finding(
            Severity.ERROR,
            AREA,
            "a docyard died in the middle of a commit, and someone removed its locks: files may hold what "
            "was not committed",
            MEND,
            mend,
        )
    elif left.folders:
        count = "a private folder" if len(left.folders) == 1 else f"{len(left.folders)} private folders"
        yield Finding(
            Severity.NOTE,
            AREA,
            f"a docyard died in the middle of a commit and left {count}; no harm was done",
            MEND,
            mend,
        )


def _recover(writable: Writable) -> str:
    recovered = writable().recover()
    rolled_back, completed = (recovered.rolled_back, recovered.rolled_forward) if recovered else (0, 0)
    done = [f"{_commits(rolled_back)} taken back"] if rolled_back else []
    done += [f"{_commits(completed)} completed"] if completed else []
    return f"recovered from a crash: {' and '.join(done) or 'no commit had been cut short'}"


def _commits(number: int) -> str:
    return "1 commit was" if number == 1 else f"{number} commits were"


def _locks(common_dir: Path, left: Leftovers) -> Iterator[Finding]:
    """Old locks of other programs. They are only named: a program that is merely slow may hold them."""
    for name, lock in _lock_files(common_dir):
        try:
            age = time.time() - lock.stat().st_mtime
        except OSError:
            continue
        if age > _STALE_LOCK and name not in left.locks:
            yield Finding(
                Severity.ERROR,
                AREA,
                f"the lock {name} in the Git folder is {_ago(age)} old; its program may have died",
                f'If no git program is running here: rm "$(git rev-parse --git-common-dir)/{name}"',
            )


def _lock_files(common_dir: Path) -> Iterator[tuple[str, Path]]:
    """Git's locks in the Git folder, those of work trees included, by their names in it."""
    for pattern in ("*.lock", "worktrees/*/*.lock", "refs/**/*.lock", "objects/*.lock"):
        for lock in sorted(common_dir.glob(pattern)):
            yield lock.relative_to(common_dir).as_posix(), lock


def _ago(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 60 * 48 else f"{minutes / 60 / 24:.0f} days"
