"""The files that `docyard validate` and `docyard fix` check.

They come from a work tree, Git's index, a commit, or a folder outside a repository.

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
from docyard.open_workspace import add_path_to_errors
from docyard.terminal.exits import CommandError
from index.pool import process_map
from workspace.git.reader import GitReader
from workspace.git.repository import NotARepository
from workspace.git.store import find_merge_base
from workspace.revisions import resolve_ref
from workspace.validation.files import list_commit, list_folder, list_index

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workspace.history.drift import Drift
    from workspace.validation.files import FileSet
    from workspace.validation.rule import Finding
    from workspace.validation.run import RuleSelection, Validator


class CheckedFiles(NamedTuple):
    """The files to check, the folder `root` that their paths are relative to, and their origin in words.

    `git` is None if the folder is not in a repository; `commit` is set if a commit was read.
    """

    files: FileSet
    root: Path
    git: GitReader | None
    commit: str | None
    origin: str


def collect_checked_files(folder: Path, ref: str | None, staged: bool) -> CheckedFiles:
    """Return the files to check: with `ref` those of a commit, with `staged` those of Git's index.

    Raises CommandError, and the errors of opening and reading a repository.
    """
    try:
        with add_path_to_errors(folder):
            git = GitReader(folder)
    except NotARepository:
        if ref is not None or staged:
            raise
        root = folder.resolve()
        if not root.is_dir():
            raise
        return CheckedFiles(list_folder(root, None), root, None, None, "the folder")
    root = (git.worktree or git.git_dir).resolve()
    if staged:
        if git.worktree is None:
            raise CommandError("a bare repository has no index", fix="Omit --staged, or name a --ref.")
        return CheckedFiles(list_index(git), root, git, None, "the index")
    if ref is None and git.worktree is not None:
        return CheckedFiles(list_folder(root, git), root, git, None, "the work tree")
    commit = find_commit(git, "HEAD" if ref is None else ref)
    return CheckedFiles(list_commit(git, commit), root, git, commit, f"commit {commit[:12]}")


def find_commit(git: GitReader, ref: str) -> str:
    """Return the commit of a ref; a date selects from HEAD's history. Raises the errors of `resolve_ref`."""
    return resolve_ref(git, ref, git.head().commit)


def find_range_start(git: GitReader, since: str, commit: str | None) -> str:
    """Return the merge base of `since` and `commit`, or `since` itself if they have none.

    If `commit` is None, HEAD takes its place.
    """
    start = find_commit(git, since)
    end = commit or git.head().commit
    return find_merge_base(git, start, end) or start if end else start


def find_drifts(
    git: GitReader | None,
    commit: str | None,
    selection: RuleSelection,
    warn: Callable[[str], None] | None = None,
) -> Mapping[str, Sequence[Drift]]:
    """Return the drifts at a commit by document, if the rule is enabled. If it is None, HEAD takes its place.

    `warn` is called with each reason why drifts may be missing.

    Raises CommandError without a repository.
    """
    from workspace.validation.rules.drift import RULE

    if not selection.may_enable(RULE):
        return {}
    if git is None:
        raise CommandError(
            "the rule drift needs the history of a Git repository", fix="Disable it with --off drift."
        )
    from tools.planning.view_drift import describe_gaps
    from workspace.history.drift import DriftFinder
    from workspace.snapshot.snapshot import Snapshot

    report = DriftFinder(git).find(Snapshot(git, commit or git.head().commit))
    if warn:
        for gap in describe_gaps(report):
            warn(f"warning: {gap}")
    drifts: dict[str, list[Drift]] = {}
    for drift in report.drifts:
        drifts.setdefault(drift.path, []).append(drift)
    return drifts


def select_documents(
    checked_files: CheckedFiles, folder: Path, requested_paths: Sequence[Path]
) -> tuple[str, ...]:
    """Return the documents at or below the requested paths; all documents if there are none.

    A file that is not a document is skipped: hooks pass every Markdown file. Raises CommandError for a path
    that matches nothing.
    """
    documents = checked_files.files.documents
    if not requested_paths:
        return documents
    # The folder is resolved once, because a hook may pass thousands of paths.
    folders = tuple(dict.fromkeys((folder, folder.resolve())))
    selected_paths: set[str] = set()
    for requested_path in requested_paths:
        path = to_repository_path(checked_files.root, folders, requested_path)
        matches = _select_at_path(documents, path) if path is not None else ()
        if (
            not matches
            and path not in checked_files.files.paths
            and path not in checked_files.files.opaque_paths
        ):
            label = str(requested_path)[:200] if str(requested_path).isprintable() else "a path"
            raise CommandError(
                f"there is no document at '{label}' in {checked_files.origin}",
                fix="Name a .md file or a folder with .md files that Git does not ignore and that `root` and "
                "`exclude` in docyard.toml include.",
            )
        selected_paths.update(matches)
    return tuple(sorted(selected_paths))


def _select_at_path(documents: Sequence[str], path: str) -> Sequence[str]:
    """Return the document at a path, or the documents below it, from a sorted list."""
    if path == ".":
        return documents
    first = bisect_left(documents, path)
    if first < len(documents) and documents[first] == path:
        return documents[first : first + 1]
    # "0" is the character after "/", so the two positions enclose all paths in the folder.
    return documents[bisect_left(documents, f"{path}/") : bisect_left(documents, f"{path}0")]


ReportProgress = Callable[[float, float | None, str | None], None]
DocumentBlock = tuple[int, int]
"""The positions [first, end) of consecutive documents."""

T = TypeVar("T")
BlockFunction = Callable[[Sequence[str]], Sequence[T]]
"""A function that reads and processes the documents at some paths. It may run in another process."""

MIN_PARALLEL_DOCUMENTS = 600
"""The number of documents from which several processes are faster than one."""

_MAX_PROCESSES = 8
_MAX_BLOCK_SIZE = 256
_MIN_BLOCKS_PER_PROCESS = 16  # small blocks let all processes end at about the same time
_GC_THRESHOLD = 100_000  # new objects between two garbage collections


def process_in_blocks(
    work: BlockFunction[T],
    paths: Sequence[str],
    label: str,
    jobs: int | None = None,
    progress: ReportProgress | None = None,
) -> list[T]:
    """Return the results of all blocks of documents, in any order. `label` names the work for `progress`.

    `jobs` is the number of processes; None derives it from the number of documents. Raises the errors of
    `work`.
    """
    process_count = jobs or _choose_process_count(len(paths))
    # Neighbouring documents link to the same documents, which one process then reads once.
    block_size = max(1, min(_MAX_BLOCK_SIZE, len(paths) // (process_count * _MIN_BLOCKS_PER_PROCESS)))
    blocks = iter(
        [(first, min(first + block_size, len(paths))) for first in range(0, len(paths), block_size)]
    )
    results: list[T] = []
    finished_count = 0
    processes = process_count if process_count > 1 else 0
    for block, block_results in process_map(
        partial(_process_block, work, paths), blocks, processes, _reduce_garbage_collection
    ):
        results += block_results
        finished_count += block[1] - block[0]
        if progress:
            progress(finished_count, len(paths), label)
    return results


def _process_block(work: BlockFunction[T], paths: Sequence[str], block: DocumentBlock) -> Sequence[T]:
    return work(paths[slice(*block)])


def _reduce_garbage_collection() -> None:
    # Documents have no reference cycles and stay in memory, so frequent collections waste time.
    gc.set_threshold(_GC_THRESHOLD)


def _choose_process_count(document_count: int) -> int:
    if document_count < MIN_PARALLEL_DOCUMENTS or multiprocessing.parent_process() is not None:
        return 1
    return min(_MAX_PROCESSES, os.cpu_count() or 1)


def collect_findings(
    validator: Validator,
    paths: Sequence[str],
    jobs: int | None = None,
    progress: ReportProgress | None = None,
) -> list[Finding]:
    """Return the findings in some documents, in order of paths and positions.

    `jobs` is the number of processes; None derives it from the number of documents. Raises UnreadableFile
    and DamagedRepository.
    """
    findings = process_in_blocks(validator.check, paths, "Validating documents", jobs, progress)
    return sorted(findings, key=lambda finding: (finding.path, finding.line, finding.column))
