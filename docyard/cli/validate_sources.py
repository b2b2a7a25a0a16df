"""The sources of `docyard validate`: a work tree, Git's index, a commit, or a folder without Git.

Many documents are validated in several processes if that is faster.
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

from docyard.cli.addresses import to_repository_path
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


class Sources(NamedTuple):
    """The files, the folder of their relative paths, and their origin.

    `git` is None without a repository; `commit` is set if a commit was read.
    """

    files: FileSet
    root: Path
    git: GitReader | None
    commit: str | None
    where: str


def collect_sources(folder: Path, ref: str | None, staged: bool) -> Sources:
    """Return the files to check. Raises CannotError, and what opening and reading a repository raises."""
    try:
        git = GitReader(folder)
    except NotARepository:
        if ref is not None or staged:
            raise
        root = folder.resolve()
        if not root.is_dir():
            raise CannotError("there is no such folder", fix="Name one that is there.") from None
        return Sources(list_folder(root, None), root, None, None, "the folder")
    root = (git.worktree or git.git_dir).resolve()
    if staged:
        if git.worktree is None:
            raise CannotError("a bare repository has no index", fix="Leave out --staged, or name a --ref.")
        return Sources(list_index(git), root, git, None, "the index")
    if ref is None and git.worktree is not None:
        return Sources(list_folder(root, git), root, git, None, "the work tree")
    commit = find_commit(git, "HEAD" if ref is None else ref)
    return Sources(list_commit(git, commit), root, git, commit, f"commit {commit[:12]}")


def find_commit(git: GitReader, name: str) -> str:
    """Return the commit of a ref; its dates are those of the check-out. Raises what `resolve_ref` raises."""
    return resolve_ref(git, name, git.head().commit)


def find_range_start(git: GitReader, since: str, commit: str | None) -> str:
    """Return the merge base of `since` and the history of the checked sources."""
    start = find_commit(git, since)
    end = commit or git.head().commit
    return find_merge_base(git, start, end) or start if end else start


def select_documents(gathered: Sources, folder: Path, names: Sequence[Path]) -> tuple[str, ...]:
    """Return the documents at or below the given names; all documents without a name.

    A file that is not a document is skipped: hooks pass every Markdown file. Raises CannotError for a name
    that matches nothing.
    """
    documents = gathered.files.documents
    if not names:
        return documents
    # Resolved once for all names, of which a hook may give thousands.
    folders = tuple(dict.fromkeys((folder, folder.resolve())))
    wanted: set[str] = set()
    for name in names:
        path = to_repository_path(gathered.root, folders, name)
        found = _select_at_path(documents, path) if path is not None else ()
        if not found and path not in gathered.files.paths and path not in gathered.files.opaque:
            shown = str(name)[:200] if str(name).isprintable() else "a path"
            raise CannotError(
                f"there is no document at '{shown}' in {gathered.where}",
                fix="Name a .md file or a folder that holds some; `root` and `exclude` in docyard.toml say "
                "which count, and what Git ignores does not.",
            )
        wanted.update(found)
    return tuple(sorted(wanted))


def _select_at_path(documents: Sequence[str], path: str) -> Sequence[str]:
    """Return the document at a path, or the documents below it, from a sorted list."""
    if path == ".":
        return documents
    first = bisect_left(documents, path)
    if first < len(documents) and documents[first] == path:
        return documents[first : first + 1]
    # "0" follows "/", so these enclose all that begins with the folder.
    return documents[bisect_left(documents, f"{path}/") : bisect_left(documents, f"{path}0")]


Progress = Callable[[float, float | None, str | None], None]
DocumentBlock = tuple[int, int]
"""The first of consecutive documents, and the end of the block."""

T = TypeVar("T")
BlockFunction = Callable[[Sequence[str]], Sequence[T]]
"""A function over some documents; it is sent to another process, which reads them itself."""

MIN_PARALLEL_DOCUMENTS = 600
"""With fewer documents, starting another process takes longer than it saves."""

_MOST = 8
_LARGEST_BLOCK = 256
_BLOCKS = 16  # for each process at least, so that none is done long before the others
_COLLECTED = 100_000  # objects that are made between two collections of garbage


def process_in_blocks(
    work: BlockFunction[T],
    paths: Sequence[str],
    doing: str,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[T]:
    """Yield the result of each block of documents, in any order; `doing` labels the progress.

    `jobs` is the number of processes; None lets the size decide. Raises what `work` raises.
    """
    count = jobs or _jobs(len(paths))
    # Neighbours lead to the same documents, which a process so reads once.
    size = max(1, min(_LARGEST_BLOCK, len(paths) // (count * _BLOCKS)))
    blocks = iter([(first, min(first + size, len(paths))) for first in range(0, len(paths), size)])
    found: list[T] = []
    done = 0
    others = count if count > 1 else 0
    for block, new in process_map(partial(_process_block, work, paths), blocks, others, _collect_rarely):
        found += new
        done += block[1] - block[0]
        if progress:
            progress(done, len(paths), doing)
    return found


def _process_block(work: BlockFunction[T], paths: Sequence[str], block: DocumentBlock) -> Sequence[T]:
    return work(paths[slice(*block)])


def _collect_rarely() -> None:
    # Documents hold no cycles, and are kept: the collector would walk them again and again.
    gc.set_threshold(_COLLECTED)


def _jobs(documents: int) -> int:
    if documents < MIN_PARALLEL_DOCUMENTS or multiprocessing.parent_process() is not None:
        return 1
    return min(_MOST, os.cpu_count() or 1)


def collect_findings(
    validator: Validator, paths: Sequence[str], jobs: int | None = None, progress: Progress | None = None
) -> list[Finding]:
    """Return the findings in some documents, in order of paths and places.

    `jobs` is the number of processes; None lets the size decide. Raises UnreadableFile, DamagedRepository.
    """
    found = process_in_blocks(validator.check, paths, "Validating documents", jobs, progress)
    return sorted(found, key=lambda one: (one.path, one.line, one.column))
