"""Checks of the repository: who commits, what is checked out, its locks and its settings.

Checks of what the repository itself asks Git to run or to read. Docyard runs none of it.

Checks of a work tree that has the served branch checked out.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from docyard.doctor.documents import Progress, check_documents
from docyard.doctor.finding import FIX_COMMAND, Finding, Severity, format_count, format_some
from docyard.doctor.storage import check_storage
from workspace.errors import WorkspaceError
from workspace.git.index_file import IndexFile
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.git.worktrees import find_unfinished_operation
from workspace.publishing.journal import NAME as JOURNAL

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.git.worktrees import Worktree
    from workspace.publishing.recovery import Leftovers
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

    Writable = Callable[[], Workspace]  # opens the workspace anew, for writing

# git-config(1): values of these are commands, or lead to some. Names are in lower case, `*` stands for any.
_PROGRAMS = re.compile(
    r"core\.(hookspath|sshcommand|editor|pager|gitproxy|askpass|alternaterefscommand)|sequence\.editor"
    r"|diff\.(external|.+\.command|.+\.textconv)|filter\..+\.(clean|smudge|process)|merge\..+\.driver"
    r"|gpg\.(.+\.)?program|gpg\.ssh\.defaultkeycommand|credential\.(.+\.)?helper|pager\..+"
    r"|interactive\.difffilter|(merge|diff)tool\..+\.cmd|(gui|man|web|browser)\..+\.cmd"
    r"|uploadpack\.packobjectshook|remote\..+\.(uploadpack|receivepack|vcs)|sendemail\..*cmd|trailer\..+\.(cmd|command)"
)

_READS = re.compile(r"include\.path|includeif\..+\.path|core\.(attributesfile|excludesfile|worktree)")
_BOOLEANS = ("", "true", "false", "yes", "no", "on", "off", "0", "1")
_SECTION = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*?))?\s*$")


def check_settings(common_dir: Path, git_dir: Path) -> Iterator[Finding]:
    """Yield settings and hooks that a person should know before running git here."""
    settings = [
        setting
        for file in (common_dir / "config", git_dir / "config.worktree")
        for setting in parse_settings(_text(file))
    ]
    programs = [name for name, value in settings if _runs(name, value)]
    if programs:
        yield Finding(
            Severity.NOTE,
            AREA,
            "settings in the repository name programs, which Git would run and docyard does not: "
            + format_some(list(dict.fromkeys(programs))),
            "git config --show-origin --get-all NAME shows one; see that you trust it",
        )
    reads = [name for name, _ in settings if _READS.fullmatch(name)]
    if reads:
        yield Finding(
            Severity.NOTE,
            AREA,
            "settings in the repository lead to other files or folders: "
            + format_some(list(dict.fromkeys(reads))),
            "git config --show-origin --get-all NAME shows one; see that you trust it",
        )
    hooks = _hooks(common_dir / "hooks")
    if hooks:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"hooks are installed, and docyard's commits do not run them: {format_some(hooks)}",
            "Check its commits where they arrive: on the server, or in CI.",
        )


def parse_settings(text: str) -> Iterator[tuple[str, str]]:
    """Return names (in lower case but for the middle part) and values of a configuration file.

    Includes are not followed: only this file counts. Of a continued line the first part is returned.
    """
    section = ""
    for line in text.splitlines():
        found = _SECTION.match(line)
        if found is not None:
            section = found[1].lower() + (f".{found[2]}" if found[2] is not None else "")
            line = line[found.end() :]
        setting = _SETTING.match(line)
        if setting is not None and section:
            yield f"{section}.{setting[1].lower()}", (setting[2] or "").strip('"')


def _runs(name: str, value: str) -> bool:
    if name == "core.fsmonitor":
        return value.lower() not in _BOOLEANS
    if name.startswith("alias."):
        return value.startswith("!")
    return _PROGRAMS.fullmatch(name.lower()) is not None


def _hooks(folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if "." not in name and os.access(folder / name, os.X_OK)]


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace") if file.is_file() else ""
    except OSError:
        return ""


def check_worktree(worktree: Worktree, snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what prevents a commit from updating the files of a work tree with its branch."""
    from workspace.git.objects import FILE_MODE
    from workspace.publishing.batch import FileChange
    from workspace.publishing.checkout import WorkFiles

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
    unfinished = find_unfinished_operation(worktree.git_dir)
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
        if index.is_conflicted:
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
        if git.has_foreign_filter(path):
            filtered.append(path)
            continue
        entry = snapshot.entry(path)
        staged = index.entry(path) if index is not None else None
        if staged is not None and (staged.skip_worktree or staged.intent_to_add):
            flagged.append(path)
            continue
        same = entry is not None and staged is not None and staged.id == entry.id
        if not same or not files.is_unchanged(
            FileChange(path, entry, None, entry.mode if entry else FILE_MODE)
        ):
            changed.append(path)
    if changed:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(changed, 'document has', 'documents have')} changes that are not committed, "
            f"and cannot be written meanwhile: {format_some(changed)}",
            "git status, then commit or stash them",
        )
    if flagged:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(flagged, 'document is', 'documents are')} marked in Git's index "
            "(skip-worktree or "
            f"intent-to-add), and cannot be written: {format_some(flagged)}",
            "git update-index --no-skip-worktree FILE, or git add FILE",
        )
    if filtered:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(filtered, 'document has', 'documents have')} a filter or an encoding "
            "that only Git can "
            f"apply, and cannot be written: {format_some(filtered)}",
            "Take it out of .gitattributes.",
        )


AREA = "repository"
_STALE_LOCK = 60.0  # seconds; no git command holds a lock for as long as that


def build_unreadable_finding(error: WorkspaceError, *, ends_it: bool = False) -> Finding:
    """Return the finding for a repository, or a part of it, that cannot be read."""
    return Finding(Severity.ERROR, AREA, error.message, error.fix, ends_it=ends_it)


def check_repository(
    workspace: Workspace, writable: Writable, progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield what is wrong with the repository, its work trees, its settings and its documents.

    Changes nothing.
    """
    from workspace.publishing.recovery import find_leftovers

    left = find_leftovers(workspace.git.common_dir)
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
        yield build_unreadable_finding(error)
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
            FIX_COMMAND,
            mend,
        )
    elif any((common_dir / folder / JOURNAL).exists() for folder in left.folders):
        yield Finding(
            Severity.ERROR,
            AREA,
            "a docyard died in the middle of a commit, and someone removed its locks: files may hold what "
            "was not committed",
            FIX_COMMAND,
            mend,
        )
    elif left.folders:
        count = "a private folder" if len(left.folders) == 1 else f"{len(left.folders)} private folders"
        yield Finding(
            Severity.NOTE,
            AREA,
            f"a docyard died in the middle of a commit and left {count}; no harm was done",
            FIX_COMMAND,
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
    """Yield old locks of other programs, without removing them: a slow program may hold them."""
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
    """Yield Git's locks in the Git folder, those of work trees included, by their names in it."""
    for pattern in ("*.lock", "worktrees/*/*.lock", "refs/**/*.lock", "objects/*.lock"):
        for lock in sorted(common_dir.glob(pattern)):
            yield lock.relative_to(common_dir).as_posix(), lock


def _ago(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 60 * 48 else f"{minutes / 60 / 24:.0f} days"
