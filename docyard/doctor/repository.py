"""Checks of the repository: its author, its work trees, its locks, its settings and its hooks.

Docyard runs no program that the settings or hooks of the repository name.
"""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from docyard import environment
from docyard.doctor.documents import Progress, check_documents
from docyard.doctor.finding import (
    FIX_COMMAND,
    MAX_LISTED_ITEMS,
    Finding,
    Severity,
    format_count,
    format_list,
)
from docyard.doctor.settings import check_uncommitted_settings, describe_mistakes
from docyard.doctor.skills import check_skills
from docyard.doctor.storage import check_storage
from workspace.config.config import DOCUMENT_SUFFIXES
from workspace.config.toml import CONFIG_PATH, read_bytes
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git.index_file import IndexFile
from workspace.git.repository import DamagedRepository
from workspace.git.store import GitStore
from workspace.git.worktrees import find_unfinished_operation
from workspace.publishing.journal import JOURNAL_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from workspace.git.worktrees import Worktree
    from workspace.publishing.recovery import Leftovers
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

    OpenWritable = Callable[[], Workspace]  # opens the workspace again, for writing

# git-config(1): settings whose values are commands, or refer to commands. Names are in lower case.
_PROGRAM_SETTINGS = re.compile(
    r"core\.(hookspath|sshcommand|editor|pager|gitproxy|askpass|alternaterefscommand)|sequence\.editor"
    r"|diff\.(external|.+\.command|.+\.textconv)|filter\..+\.(clean|smudge|process)|merge\..+\.driver"
    r"|gpg\.(.+\.)?program|gpg\.ssh\.defaultkeycommand|credential\.(.+\.)?helper|pager\..+"
    r"|interactive\.difffilter|(merge|diff)tool\..+\.cmd|(gui|man|web|browser)\..+\.cmd"
    r"|uploadpack\.packobjectshook|remote\..+\.(uploadpack|receivepack|vcs)|sendemail\..*cmd|trailer\..+\.(cmd|command)"
)

_FILE_SETTINGS = re.compile(r"include\.path|includeif\..+\.path|core\.(attributesfile|excludesfile|worktree)")
_BOOLEAN_VALUES = ("", "true", "false", "yes", "no", "on", "off", "0", "1")
_SECTION_LINE = re.compile(r'\s*\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_SETTING_LINE = re.compile(r"\s*([A-Za-z][\w-]*)\s*(?:=\s*(.*?))?\s*$")


def check_settings(common_dir: Path, git_dir: Path) -> Iterator[Finding]:
    """Yield settings and hooks that a user should check before git is run in the repository."""
    settings = [
        setting
        for file in (common_dir / "config", git_dir / "config.worktree")
        for setting in parse_settings(_read_config(file))
    ]
    program_settings = [name for name, value in settings if _names_program(name, value)]
    if program_settings:
        yield Finding(
            Severity.NOTE,
            AREA,
            "settings in the repository name programs, which Git would run but docyard does not: "
            + format_list(list(dict.fromkeys(program_settings))),
            "git config --show-origin --get-all NAME shows a setting; check that you trust it",
        )
    file_settings = [name for name, _ in settings if _FILE_SETTINGS.fullmatch(name)]
    if file_settings:
        yield Finding(
            Severity.NOTE,
            AREA,
            "settings in the repository refer to other files or folders: "
            + format_list(list(dict.fromkeys(file_settings))),
            "git config --show-origin --get-all NAME shows a setting; check that you trust it",
        )
    hooks = _list_hooks(common_dir / "hooks")
    if hooks:
        yield Finding(
            Severity.NOTE,
            AREA,
            f"hooks are installed, but docyard's commits do not run them: {format_list(hooks)}",
            "Run the same checks after a push: on the server, or in CI.",
        )


def parse_settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield names (in lower case except the middle part) and values of a Git configuration file.

    Included files are not read. For a continued line, the first part of the value is returned.
    """
    section = ""
    for line in text.splitlines():
        heading = _SECTION_LINE.match(line)
        if heading is not None:
            section = heading[1].lower() + (f".{heading[2]}" if heading[2] is not None else "")
            line = line[heading.end() :]
        setting = _SETTING_LINE.match(line)
        if setting is not None and section:
            yield f"{section}.{setting[1].lower()}", (setting[2] or "").strip('"')


def _names_program(name: str, value: str) -> bool:
    if name == "core.fsmonitor":
        return value.lower() not in _BOOLEAN_VALUES
    if name.startswith("alias."):
        return value.startswith("!")
    return _PROGRAM_SETTINGS.fullmatch(name.lower()) is not None


def _list_hooks(folder: Path) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if "." not in name and os.access(folder / name, os.X_OK)]


def _read_config(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace") if file.is_file() else ""
    except OSError:
        return ""


def check_worktree(worktree: Worktree, snapshot: Snapshot) -> Iterator[Finding]:
    """Yield the obstacles that prevent a commit from updating the files of a work tree."""
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
    # A separate Git directory does not name its work tree, whose attributes apply.
    git = GitStore(worktree.path if (worktree.path / ".git").exists() else worktree.git_dir)
    unfinished_operation = find_unfinished_operation(worktree.git_dir)
    if unfinished_operation is not None:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"{unfinished_operation} is in progress, and nothing can be written until it ends",
            "git status shows the commands that finish or abort it",
        )
    if git.config_flag("core.sparseCheckout"):
        yield Finding(
            Severity.ERROR,
            AREA,
            "the work tree is a sparse checkout, which docyard does not write to",
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
                "git status lists them; resolve each, then git add it",
            )
    files = WorkFiles(git, worktree.path)
    changed_paths: list[str] = []
    filtered_paths: list[str] = []
    flagged_paths: list[str] = []
    for path in snapshot.documents:
        if git.has_foreign_filter(path):
            filtered_paths.append(path)
            continue
        entry = snapshot.entry(path)
        staged_entry = index.entry(path) if index is not None else None
        if staged_entry is not None and (staged_entry.skip_worktree or staged_entry.intent_to_add):
            flagged_paths.append(path)
            continue
        is_staged_unchanged = entry is not None and staged_entry is not None and staged_entry.id == entry.id
        if not is_staged_unchanged or not files.is_unchanged(
            FileChange(path, entry, None, entry.mode if entry else FILE_MODE)
        ):
            changed_paths.append(path)
    if changed_paths:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(changed_paths, 'document has', 'documents have')} uncommitted changes, "
            f"and cannot be written until they are committed: {format_list(changed_paths)}",
            "git status, then commit or stash them",
        )
    if flagged_paths:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(flagged_paths, 'document is', 'documents are')} marked in Git's index "
            "(skip-worktree or "
            f"intent-to-add), and cannot be written: {format_list(flagged_paths)}",
            "git update-index --no-skip-worktree FILE, or git add FILE",
        )
    if filtered_paths:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(filtered_paths, 'document has', 'documents have')} a filter or an encoding "
            f"that only Git can apply, and cannot be written: {format_list(filtered_paths)}",
            "Remove the filter or the encoding from .gitattributes.",
        )


AREA = "repository"
_STALE_LOCK_S = 60.0  # git commands hold a lock for a shorter time


def build_unreadable_finding(error: WorkspaceError, *, is_fatal: bool = False) -> Finding:
    """Return the finding for a repository, or a part of it, that cannot be read."""
    return Finding(Severity.ERROR, AREA, error.message, error.fix, is_fatal=is_fatal)


def check_repository(
    workspace: Workspace, open_writable: OpenWritable, progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield the problems of the repository, its work trees, its settings and its documents.

    Changes nothing.
    """
    from workspace.publishing.recovery import find_leftovers

    leftovers = find_leftovers(workspace.git.common_dir)
    yield from _check_leftovers(workspace.git.common_dir, leftovers, open_writable)
    yield from _check_locks(workspace.git.common_dir, leftovers)
    yield from check_settings(workspace.git.common_dir, workspace.git.git_dir)
    yield from check_storage(workspace.git)
    yield from check_identity(workspace)
    if workspace.branch is None:
        yield Finding(
            Severity.WARNING,
            AREA,
            "HEAD is detached: documents can be read, but not written",
            "git switch BRANCH, or serve a branch with `docyard serve --branch BRANCH`",
        )
    snapshot = workspace.snapshot()
    if snapshot.commit is None:
        yield Finding(Severity.NOTE, AREA, "there is no commit yet; the first document creates one")
        return
    try:
        settings = snapshot.config
    except DamagedRepository:
        raise
    except InvalidConfig as error:
        entry = snapshot.entry(CONFIG_PATH)
        yield from describe_mistakes(error, read_bytes(workspace.git, entry.id) if entry is not None else b"")
        yield from check_uncommitted_settings(workspace)
        return
    except WorkspaceError as error:
        yield build_unreadable_finding(error)
        return
    if settings.signing != "off" and workspace.git.config_flag("commit.gpgsign"):
        yield Finding(
            Severity.WARNING,
            AREA,
            "the repository requires signed commits, which docyard cannot create, so it does not write",
            'Set signing = "off" in docyard.toml if unsigned commits are acceptable.',
        )
    yield from check_documents(snapshot, open_writable, progress)
    yield from check_skills(workspace)
    if workspace.branch is None:
        return
    worktrees = workspace.git.worktrees_of(workspace.branch)
    if len(worktrees) > 1:
        yield Finding(
            Severity.ERROR,
            AREA,
            f"{len(worktrees)} work trees have the branch checked out, so nothing can be written",
            "git worktree list; then switch all but one to another branch with git switch",
        )
    for worktree in worktrees:
        yield from check_worktree(worktree, snapshot)
    yield from check_new_documents(workspace)
    yield from check_uncommitted_settings(workspace)


def check_new_documents(
    workspace: Workspace, is_selected: Callable[[str], bool] = lambda path: True
) -> Iterator[Finding]:
    """Yield a finding for selected documents that are not committed, with the command that commits them."""
    root, documents = workspace.git.worktree, workspace.snapshot().documents
    new_paths = [
        path for path in workspace.list_uncommitted_documents() if path not in documents and is_selected(path)
    ]
    if root is not None and new_paths:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"{format_count(new_paths, 'Markdown file is', 'Markdown files are')} not committed, and only "
            f"committed files are served: {format_list(new_paths)}",
            _build_commit_command(root, new_paths, workspace.snapshot().config.root),
        )


def _build_commit_command(root: Path, paths: Sequence[str], documents_folder: str) -> str:
    """Return the shell command that commits files; many files are named by patterns."""
    is_current = root.resolve() == environment.get_current_directory().resolve()
    git = "git" if is_current else f"git -C {shlex.quote(str(root))}"
    if len(paths) > MAX_LISTED_ITEMS:
        suffixes = [suffix for suffix in DOCUMENT_SUFFIXES if any(path.endswith(suffix) for path in paths)]
        paths = [f"{documents_folder}/*{suffix}".lstrip("/") for suffix in suffixes]
    return f'{git} add -- {shlex.join(paths)} && {git} commit -m "Add documents"'


def check_identity(workspace: Workspace) -> Iterator[Finding]:
    """Yield a finding if Git's configuration names no author, with the commands that set one."""
    if workspace.git.identity() is None:
        name, email = workspace.author()
        yield Finding(
            Severity.WARNING,
            AREA,
            f"Git's user.name and user.email are not set, so the author of commits is {name} <{email}>",
            'git config --global user.name "Your Name" && git config --global user.email you@example.com',
        )


def _check_leftovers(
    common_dir: Path, leftovers: Leftovers, open_writable: OpenWritable
) -> Iterator[Finding]:
    recover = partial(_recover, open_writable)
    if leftovers.locks:
        yield Finding(
            Severity.ERROR,
            AREA,
            "a docyard process died during a commit, and its locks block all writes: "
            + ", ".join(leftovers.locks),
            FIX_COMMAND,
            recover,
        )
    elif any((common_dir / folder / JOURNAL_NAME).exists() for folder in leftovers.folders):
        yield Finding(
            Severity.ERROR,
            AREA,
            "a docyard process died during a commit, and its locks were removed: files may contain "
            "uncommitted text",
            FIX_COMMAND,
            recover,
        )
    elif leftovers.folders:
        folders_text = "one folder" if len(leftovers.folders) == 1 else f"{len(leftovers.folders)} folders"
        yield Finding(
            Severity.NOTE,
            AREA,
            f"a docyard process died during a commit and left {folders_text} of staged files; nothing is "
            "damaged",
            FIX_COMMAND,
            recover,
        )


def _recover(open_writable: OpenWritable) -> str:
    recovery = open_writable().recover()
    rolled_back_count, completed_count = (
        (recovery.rolled_back_count, recovery.rolled_forward_count) if recovery else (0, 0)
    )
    actions = [f"{_format_commit_count(rolled_back_count)} rolled back"] if rolled_back_count else []
    actions += [f"{_format_commit_count(completed_count)} completed"] if completed_count else []
    return f"recovered from a crash: {' and '.join(actions) or 'no commit was incomplete'}"


def _format_commit_count(number: int) -> str:
    return "1 commit was" if number == 1 else f"{number} commits were"


def _check_locks(common_dir: Path, leftovers: Leftovers) -> Iterator[Finding]:
    """Yield old locks of other programs. They are not removed, because a slow program may still hold them."""
    for name, lock in _list_lock_files(common_dir):
        try:
            age_s = time.time() - lock.stat().st_mtime
        except OSError:
            continue
        if age_s > _STALE_LOCK_S and name not in leftovers.locks:
            yield Finding(
                Severity.ERROR,
                AREA,
                f"the lock {name} in the Git folder is {_format_age(age_s)} old; its program may have died",
                f'If no git program is running here: rm "$(git rev-parse --git-common-dir)/{name}"',
            )


def _list_lock_files(common_dir: Path) -> Iterator[tuple[str, Path]]:
    """Yield each lock of Git in the Git folder: its path relative to that folder, and its path.

    Locks of work trees and refs are included.
    """
    for pattern in ("*.lock", "worktrees/*/*.lock", "refs/**/*.lock", "objects/*.lock"):
        for lock in sorted(common_dir.glob(pattern)):
            yield lock.relative_to(common_dir).as_posix(), lock


def _format_age(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 120:
        return f"{minutes:.0f} minutes"
    return f"{minutes / 60:.0f} hours" if minutes < 60 * 48 else f"{minutes / 60 / 24:.0f} days"
