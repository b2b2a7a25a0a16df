"""What `docyard validate` looks at: a work tree, Git's index, a commit, or a folder in no repository."""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docyard.cli.addresses import relative
from docyard.terminal.exits import CannotError
from workspace.git import GitReader, NotARepository
from workspace.git.files import merge_base
from workspace.revisions import resolve_ref
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
    """The commit of a ref; its dates are of what is checked out. Raises what `resolve_ref` raises."""
    return resolve_ref(git, name, git.head().commit)


def beginning(git: GitReader, since: str, commit: str | None) -> str:
    """Where a range begins: the commit at which `since` parts from the history of what is looked at."""
    start = find_commit(git, since)
    end = commit or git.head().commit
    return merge_base(git, start, end) or start if end else start


def chosen(gathered: Gathered, folder: Path, names: Sequence[Path]) -> tuple[str, ...]:
    """The documents that are meant: those that some names lead to or stand above; all if none are named.

    A file that is no document is passed over: hooks name every Markdown file that they see. Raises
    CannotError for a name at which there is nothing.
    """
    documents = gathered.files.documents
    if not names:
        return documents
    # Resolved once for all names, of which a hook may give thousands.
    folders = tuple(dict.fromkeys((folder, folder.resolve())))
    wanted: set[str] = set()
    for name in names:
        path = relative(gathered.root, folders, name)
        found = _at(documents, path) if path is not None else ()
        if not found and path not in gathered.files.paths and path not in gathered.files.opaque:
            shown = str(name)[:200] if str(name).isprintable() else "a path"
            raise CannotError(
                f"there is no document at '{shown}' in {gathered.where}",
                fix="Name a .md file or a folder that holds some; `root` and `exclude` in docyard.toml say "
                "which count, and what Git ignores does not.",
            )
        wanted.update(found)
    return tuple(sorted(wanted))


def _at(documents: Sequence[str], path: str) -> Sequence[str]:
    """Of sorted documents the one at a path, or those below it."""
    if path == ".":
        return documents
    first = bisect_left(documents, path)
    if first < len(documents) and documents[first] == path:
        return documents[first : first + 1]
    # "0" follows "/", so these enclose all that begins with the folder.
    return documents[bisect_left(documents, f"{path}/") : bisect_left(documents, f"{path}0")]
