"""What `docyard validate` looks at: a work tree, Git's index, a commit, or a folder in no repository.

Documents are validated in several processes where that is quicker.

`docyard validate` behind its options: what is looked at, in several processes, and since when.

Work on many documents, done in several processes where that is quicker.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from docyard.cli.addresses import relative
from docyard.terminal.exits import CannotError
from index.pool import process_map
from workspace.git.reader import GitReader
from workspace.git.repository import NotARepository
from workspace.git.store import find_merge_base
from workspace.revisions import resolve_ref
from workspace.validation.files import list_commit, list_folder, list_index

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.validation.files import FileSet
    from workspace.validation.rule import Finding
    from workspace.validation.run import Validator


class Gathered(NamedTuple):
    """The files, the folder that their paths are relative to, and where they were read.

    `git` is None where there is no repository; `commit` is set where one was read.
    """

    files: FileSet
    root: Path
    git: GitReader | None
    commit: str | None
    where: str


def gather(folder: Path, ref: str | None, staged: bool) -> Gathered:
    """Return the files to look at. Raises CannotError, and what opening and reading a repository raises."""
    try:
        git = GitReader(folder)
    except NotARepository:
        if ref is not None or staged:
            raise
        root = folder.resolve()
        if not root.is_dir():
            raise CannotError("there is no such folder", fix="Name one that is there.") from None
        return Gathered(list_folder(root, None), root, None, None, "the folder")
    root = (git.worktree or git.git_dir).resolve()
    if staged:
        if git.worktree is None:
            raise CannotError("a bare repository has no index", fix="Leave out --staged, or name a --ref.")
        return Gathered(list_index(git), root, git, None, "the index")
    if ref is None and git.worktree is not None:
        return Gathered(list_folder(root, git), root, git, None, "the work tree")
    commit = find_commit(git, "HEAD" if ref is None else ref)
    return Gathered(list_commit(git, commit), root, git, commit, f"commit {commit[:12]}")


def find_commit(git: GitReader, name: str) -> str:
    """Return the commit of a ref; its dates are of what is checked out. Raises what `resolve_ref` raises."""
    return resolve_ref(git, name, git.head().commit)


def beginning(git: GitReader, since: str, commit: str | None) -> str:
    """Where a range begins: the commit at which `since` parts from the history of what is looked at."""
    start = find_commit(git, since)
    end = commit or git.head().commit
    return find_merge_base(git, start, end) or start if end else start


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


Progress = Callable[[float, float | None, str | None], None]


Block = tuple[int, int]


"""The first of some neighbouring documents, and the one behind the last."""


T = TypeVar("T")


Work = Callable[[Sequence[str]], Sequence[T]]


"""What is done with some documents; it can be sent to another process, which then reads them by itself."""


ALONE = 600


"""With fewer documents than this, another process takes longer to start than it saves."""


_MOST = 8


_LARGEST_BLOCK = 256


_BLOCKS = 16  # for each process at least, so that none is done long before the others


_COLLECTED = 100_000  # objects that are made between two collections of garbage


def in_blocks(
    work: Work[T],
    paths: Sequence[str],
    doing: str,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[T]:
    """What comes of some documents, block by block, in no order; `doing` is what people are told meanwhile.

    `jobs` is the number of processes; None lets the size decide. Raises what `work` raises.
    """
    count = jobs or _jobs(len(paths))
    # Neighbours lead to the same documents, which a process so reads once.
    size = max(1, min(_LARGEST_BLOCK, len(paths) // (count * _BLOCKS)))
    blocks = iter([(first, min(first + size, len(paths))) for first in range(0, len(paths), size)])
    found: list[T] = []
    done = 0
    others = count if count > 1 else 0
    for block, new in process_map(partial(_worked, work, paths), blocks, others, _collect_rarely):
        found += new
        done += block[1] - block[0]
        if progress:
            progress(done, len(paths), doing)
    return found


def _worked(work: Work[T], paths: Sequence[str], block: Block) -> Sequence[T]:
    return work(paths[slice(*block)])


def _collect_rarely() -> None:
    # Documents hold no cycles, and are kept: the collector would walk them again and again.
    gc.set_threshold(_COLLECTED)


def _jobs(documents: int) -> int:
    if documents < ALONE or multiprocessing.parent_process() is not None:
        return 1
    return min(_MOST, os.cpu_count() or 1)


def findings(
    validator: Validator, paths: Sequence[str], jobs: int | None = None, progress: Progress | None = None
) -> list[Finding]:
    """Return what is found in some documents, in order of paths and places.

    `jobs` is the number of processes; None lets the size decide. Raises UnreadableFile, DamagedRepository.
    """
    found = in_blocks(validator.check, paths, "Validating documents", jobs, progress)
    return sorted(found, key=lambda one: (one.path, one.line, one.column))
