"""Checks of a work tree that has the served branch checked out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity, count, some
from workspace.git import DamagedRepository, GitStore, IndexFile
from workspace.git.worktrees import operation

if TYPE_CHECKING:
    from workspace.git.worktrees import Worktree
    from workspace.snapshot.snapshot import Snapshot

AREA = "repository"


def check_worktree(worktree: Worktree, snapshot: Snapshot) -> Iterator[Finding]:
    """What keeps a commit from being followed by the files of a work tree that has its branch checked out."""
    from workspace.git.objects import FILE_MODE
    from workspace.publishing.batch import FileChange
    from workspace.publishing.files import WorkFiles

    if not worktree.path.is_dir():
        yield Finding(
            Severity.ERROR,
            AREA,
            "the work tree that has the branch checked out is missing",
            "git worktree prune",
        )
        return
    # A Git directory that stands apart does not know its work tree, whose attributes count.
    git = GitStore(worktree.path if (worktree.path / ".git").exists() else worktree.git_dir)
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
            index = IndexFile.read(worktree.git_dir / "index")
        except DamagedRepository as error:
            yield Finding(Severity.ERROR, AREA, f"{error.message}, so nothing can be written", error.fix)
            return
        if index.conflicted:
            yield Finding(
                Severity.ERROR,
                AREA,
                "files are unmerged, and nothing can be written until they are resolved",
                "git status names them; mend each, then git add it",
            )
    files = WorkFiles(git, worktree.path)
    changed: list[str] = []
    filtered: list[str] = []
    flagged: list[str] = []
    for path in snapshot.documents:
        if git.foreign_filter(path):
            filtered.append(path)
            continue
        entry = snapshot.entry(path)
        staged = index.entry(path) if index is not None else None
        if staged is not None and (staged.skip_worktree or staged.intent_to_add):
            flagged.append(path)
            continue
        same = entry is not None and staged is not None and staged.id == entry.id
        if not same or not files.unchanged(FileChange(path, entry, None, entry.mode if entry else FILE_MODE)):
            changed.append(path)
    if changed:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{count(changed, 'document has', 'documents have')} changes that are not committed, "
            f"and cannot be written meanwhile: {some(changed)}",
            "git status, then commit or stash them",
        )
    if flagged:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{count(flagged, 'document is', 'documents are')} marked in Git's index (skip-worktree or "
            f"intent-to-add), and cannot be written: {some(flagged)}",
            "git update-index --no-skip-worktree FILE, or git add FILE",
        )
    if filtered:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{count(filtered, 'document has', 'documents have')} a filter or an encoding that only Git can "
            f"apply, and cannot be written: {some(filtered)}",
            "Take it out of .gitattributes.",
        )
