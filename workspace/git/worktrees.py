"""The work trees of a repository and their branches, read from Git's files (gitrepository-layout)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError

_HEADS = "refs/heads/"

MAX_SYMBOLIC_DEPTH = 5
"""The maximum number of symbolic refs that Git follows in a chain."""

# The same files as in wt-status.c of Git.
_OPERATION_FILES = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or `git am`",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or a revert",
    "BISECT_LOG": "a bisection",
}


class ForeignWorktree(WorkspaceError):
    """An error: a Git directory names a folder as its work tree that belongs to another repository."""

    code: ClassVar[str] = "UNSUPPORTED_REPO"

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"the work tree `{folder.name}` does not belong to this repository: its `.git` leads elsewhere",
            fix="Run `git worktree repair` in the right folder, or `git worktree remove` if there is none.",
        )


@dataclass(frozen=True, slots=True)
class Worktree:
    """A work tree: its folder, which may be missing, and its own Git directory."""

    path: Path
    git_dir: Path


def find_worktrees(branch: str, common_dir: Path, main_folder: Path | None) -> tuple[Worktree, ...]:
    """Return the work trees in which a branch is checked out, or is being rebased or bisected.

    `main_folder` is the main work tree's folder, if there is one. Linked work trees whose folder is missing
    are ignored, unless they are locked (git-worktree, "prunable").

    Raises:
        ForeignWorktree: a folder belongs to another repository.
    """
    candidates = (
        find_worktree(git_dir, common_dir, main_folder)
        for git_dir in list_git_dirs(common_dir)
        if _uses_branch(git_dir, branch, common_dir)
    )
    return tuple(worktree for worktree in candidates if worktree is not None)


def find_worktree(git_dir: Path, common_dir: Path, main_folder: Path | None) -> Worktree | None:
    """Return the work tree of a Git directory, on any branch; None if the work tree does not exist.

    Raises:
        ForeignWorktree: the folder belongs to another repository.
    """
    if git_dir == common_dir:
        if (
            main_folder is not None
            and main_folder.is_dir()
            and not _is_main_worktree(main_folder, common_dir)
        ):
            raise ForeignWorktree(main_folder)
        return Worktree(main_folder, common_dir) if main_folder is not None else None
    pointer = read_line(git_dir / "gitdir")
    dot_git = git_dir / pointer
    if pointer and dot_git.exists() and not _is_pointer_to(dot_git, git_dir):
        raise ForeignWorktree(dot_git.parent)
    if pointer and (dot_git.exists() or (git_dir / "locked").exists()):
        return Worktree(dot_git.parent, git_dir)
    return None


def find_git_dirs_on_branch(branch: str, common_dir: Path) -> tuple[Path, ...]:
    """Return the Git directories, also of a bare repository, whose HEAD points to a branch."""
    return tuple(
        git_dir for git_dir in list_git_dirs(common_dir) if _is_on_branch(git_dir, branch, common_dir)
    )


def list_git_dirs(common_dir: Path) -> tuple[Path, ...]:
    """Return the Git directories of all work trees: the common one, and one for each linked work tree."""
    try:
        return common_dir, *sorted((common_dir / "worktrees").iterdir())
    except (FileNotFoundError, NotADirectoryError):  # Git removes the folder with the last linked work tree
        return (common_dir,)


def find_unfinished_operation(git_dir: Path) -> str | None:
    """Return the unfinished Git operation of a work tree, such as "a merge", or None."""
    return next((name for file, name in _OPERATION_FILES.items() if (git_dir / file).exists()), None)


def find_common_dir(git_dir: Path) -> Path:
    """Return the Git directory that all work trees share; for the main work tree, `git_dir` itself."""
    pointer = read_line(git_dir / "commondir")
    return (git_dir / pointer).resolve() if pointer else git_dir


def read_line(path: Path) -> str:
    """Return the text of a one-line file without surrounding spaces; empty if there is no such file."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape").strip()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return ""


def is_same_path(left: Path, right: Path) -> bool:
    """Return True if two paths lead to one file or folder."""
    try:
        return left.samefile(right)
    except OSError:
        return False


def _is_main_worktree(main_folder: Path, common_dir: Path) -> bool:
    """Return True if a folder is the main work tree of a Git directory, which may be outside the folder."""
    dot_git = main_folder / ".git"
    if dot_git.exists():
        return _is_pointer_to(dot_git, common_dir)
    return common_dir.name != ".git" or is_same_path(main_folder, common_dir.parent)


def _is_pointer_to(dot_git: Path, git_dir: Path) -> bool:
    """Return True if a `.git`, a folder or a file with a pointer, leads to a Git directory."""
    if dot_git.is_dir():
        return is_same_path(dot_git, git_dir)
    pointer = read_line(dot_git)
    return pointer.startswith("gitdir:") and is_same_path(
        dot_git.parent / pointer.removeprefix("gitdir:").strip(), git_dir
    )


def _is_on_branch(git_dir: Path, branch: str, common_dir: Path) -> bool:
    """Return True if HEAD is a symbolic ref to a branch, directly or through other symbolic refs."""
    head = git_dir / "HEAD"
    # Older versions of Git write HEAD as a symbolic link, and so does `core.preferSymlinkRefs`.
    line = f"ref: {os.readlink(head)}" if head.is_symlink() else read_line(head)
    for _ in range(MAX_SYMBOLIC_DEPTH):
        name = line.removeprefix("ref:").strip()
        if name == line or not name.startswith(_HEADS):
            return False
        if name == _HEADS + branch:
            return True
        line = read_line(common_dir / name)
    return False


def _uses_branch(git_dir: Path, branch: str, common_dir: Path) -> bool:
    """Return True if a work tree is on a branch, or will be on it after a rebase or bisection."""
    if _is_on_branch(git_dir, branch, common_dir):
        return True
    rebased_refs = (
        read_line(git_dir / name) for name in ("rebase-merge/head-name", "rebase-apply/head-name")
    )
    return _HEADS + branch in rebased_refs or read_line(git_dir / "BISECT_START") == branch
