"""Checks of the repository and of the documents at its served commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from docyard.checkup.finding import Finding, Severity
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from workspace.snapshot import Snapshot
    from workspace.workspace import Workspace
    from workspace.worktrees import Worktree

AREA = "repository"

Progress = Callable[[float, float | None, str | None], None]

_SHOWN = 10
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
    yield from _locks(workspace)
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
    yield from _types(snapshot)
    yield from _documents(snapshot, progress)
    if workspace.branch is not None:
        for worktree in workspace.git.worktrees_of(workspace.branch):
            yield from _worktree(workspace, worktree, snapshot)


def _identity(workspace: Workspace) -> Iterator[Finding]:
    if workspace.git.identity() is None:
        name, email = workspace.author()
        yield Finding(
            Severity.WARNING,
            AREA,
            f"Git knows no name for you, so commits will be by {name} <{email}>",
            'git config --global user.name "Your Name" && git config --global user.email you@example.com',
        )


def _locks(workspace: Workspace) -> Iterator[Finding]:
    common, own = workspace.git.common_dir, workspace.git.git_dir
    locks = [own / "index.lock", own / "HEAD.lock", common / "config.lock", common / "packed-refs.lock"]
    if workspace.branch is not None:
        locks.append(common / "refs" / "heads" / f"{workspace.branch}.lock")
    for lock in locks:
        try:
            age = time.time() - lock.stat().st_mtime
        except OSError:
            continue
        if age > _STALE_LOCK:
            name = lock.relative_to(own if lock.is_relative_to(own) else common).as_posix()
            yield Finding(
                Severity.ERROR,
                AREA,
                f"the lock {name} in the Git folder is {age / 60:.0f} minutes old; its program may have died",
                f'If no git program is running here: rm "$(git rev-parse --git-path {name})"',
            )


def _types(snapshot: Snapshot) -> Iterator[Finding]:
    from workspace.types import BrokenType, document_types

    for found in document_types(snapshot).values():
        if isinstance(found, BrokenType):
            yield Finding(Severity.ERROR, AREA, found.message, found.fix)


def _documents(snapshot: Snapshot, progress: Progress | None) -> Iterator[Finding]:
    foreign: list[str] = []
    large: list[str] = []
    limit = snapshot.config.limits.document_bytes
    for done, (path, blob) in enumerate(snapshot.documents.items()):
        if progress is not None and done % 50 == 0:
            progress(done, len(snapshot.documents), "Reading documents")
        if snapshot.git.blob_size(blob) > limit:
            large.append(path)
            continue
        try:
            snapshot.git.blob(blob).decode()
        except UnicodeDecodeError:
            foreign.append(path)
    if foreign:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{_count(foreign, 'document is', 'documents are')} not UTF-8: {_some(foreign)}",
            "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW && mv NEW FILE, and commit it",
        )
    if large:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{_count(large, 'document is', 'documents are')} over {limit:,} bytes: {_some(large)}",
            "Split them, or raise [limits] document_bytes in docyard.toml.",
        )


def _worktree(workspace: Workspace, worktree: Worktree, snapshot: Snapshot) -> Iterator[Finding]:
    from workspace.git import DamagedRepository, GitStore, IndexFile
    from workspace.publishing.batch import FileChange
    from workspace.publishing.files import WorkFiles
    from workspace.worktrees import operation

    if not worktree.path.is_dir():
        yield Finding(
            Severity.ERROR,
            AREA,
            "the work tree that has the branch checked out is missing",
            "git worktree prune",
        )
        return
    git = GitStore(worktree.path)
    unfinished = operation(worktree.git_dir)
    if unfinished is not None:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"{unfinished} is in progress, and nothing can be written until it is done",
            "git status says how to finish or abort it",
        )
    if git.config_flag("core.sparseCheckout"):
        yield Finding(
            Severity.ERROR,
            AREA,
            "this is a sparse checkout, which is not written",
            "git sparse-checkout disable",
        )
    index = None
    if (worktree.git_dir / "index").exists():
        try:
            index = IndexFile(worktree.git_dir / "index")
        except DamagedRepository:
            yield Finding(
                Severity.ERROR,
                AREA,
                "Git's index is split or cannot be read, so nothing can be written",
                "git update-index --no-split-index",
            )
            return
    files = WorkFiles(git, worktree.path)
    changed = []
    for path in snapshot.documents:
        entry = snapshot.entry(path)
        staged = index.entry(path) if index is not None else None
        same = entry is not None and staged is not None and staged.id == entry.id
        if not same or not files.unchanged(FileChange(path, entry, None)):
            changed.append(path)
    if changed:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{_count(changed, 'document has', 'documents have')} changes that are not committed, "
            f"and cannot be written meanwhile: {_some(changed)}",
            "git status, then commit or stash them",
        )


def _count(paths: list[str], one: str, many: str) -> str:
    return f"{len(paths):,} {one if len(paths) == 1 else many}"


def _some(paths: Iterable[str]) -> str:
    listed = list(paths)
    more = len(listed) - _SHOWN
    return ", ".join(listed[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
