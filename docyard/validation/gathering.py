"""What `docyard validate` looks at: a work tree, Git's index, a commit, or a folder in no repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docyard.exits import CannotError
from workspace.git import GitReader, NotARepository
from workspace.git.files import merge_base
from workspace.validation.listing import of_commit, of_folder, of_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.validation.files import Files


class Gathered(NamedTuple):
    """The files, the folder that their paths are relative to, and where they were read.

    `git` is None where there is no repository; `commit` is set where one was read.
    """

    files: Files
    root: Path
    git: GitReader | None
    commit: str | None
    where: str


def gather(folder: Path, ref: str | None, staged: bool) -> Gathered:
    """The files to look at. Raises CannotError, and what opening and reading a repository raises."""
    try:
        git = GitReader(folder)
    except NotARepository:
        if ref is not None or staged:
            raise
        root = folder.resolve()
        if not root.is_dir():
            raise CannotError("there is no such folder", fix="Name one that is there.") from None
        return Gathered(of_folder(root, None), root, None, None, "the folder")
    root = (git.worktree or git.git_dir).resolve()
    if staged:
        if git.worktree is None:
            raise CannotError("a bare repository has no index", fix="Leave out --staged, or name a --ref.")
        return Gathered(of_index(git), root, git, None, "the index")
    if ref is None and git.worktree is not None:
        return Gathered(of_folder(root, git), root, git, None, "the work tree")
    commit = find_commit(git, "HEAD" if ref is None else ref)
    return Gathered(of_commit(git, commit), root, git, commit, f"commit {commit[:12]}")


def find_commit(git: GitReader, name: str) -> str:
    """The commit of a name. Raises CannotError."""
    found = git.head().commit if name == "HEAD" else git.find_commit(name)
    if found is None:
        shown = name[:100] if name.isprintable() else "the name"
        raise CannotError(
            f"'{shown}' names no branch, tag or commit of the repository",
            fix="`git branch --all` and `git tag` list them; a shallow clone may have to fetch more "
            "(`git fetch --unshallow`).",
        )
    return found


def beginning(git: GitReader, since: str, commit: str | None) -> str:
    """Where a range begins: the commit at which `since` parts from the history of what is looked at."""
    start = find_commit(git, since)
    end = commit or git.head().commit
    return merge_base(git, start, end) or start if end else start


def chosen(gathered: Gathered, folder: Path, names: Sequence[Path]) -> tuple[str, ...]:
    """The documents that are meant: those that some names lead to or stand above, or all.

    Raises CannotError for a name at which there is none.
    """
    documents = gathered.files.documents
    if not names:
        return documents
    wanted: set[str] = set()
    for name in names:
        path = _relative(gathered.root, folder, name)
        found = [document for document in documents if path is not None and _is_below(document, path)]
        if not found:
            shown = str(name)[:200] if str(name).isprintable() else "a path"
            raise CannotError(
                f"there is no document at '{shown}' in {gathered.where}",
                fix="Name a .md file or a folder that holds some; `root` and `exclude` in docyard.toml say "
                "which count.",
            )
        wanted.update(found)
    return tuple(sorted(wanted))


def _relative(root: Path, folder: Path, name: Path) -> str | None:
    """A path as the repository has it; None if it is outside. Links above it are followed if need be."""
    plain = Path(os.path.normpath(folder / name))
    for path in (plain, plain.parent.resolve() / plain.name):
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return None


def _is_below(document: str, path: str) -> bool:
    return path == "." or document == path or document.startswith(f"{path}/")
