"""The ref of a branch as a file: its path, conflicts with other refs, and the compare-and-swap that moves it.

The module also writes the reflogs of a branch and of the HEADs that point to it (gitrepository-layout,
"logs").
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git.objects import Signature
from workspace.git.reader import GitReader
from workspace.git.worktrees import find_git_dirs_on_branch
from workspace.publishing.locks import LinkedLock
from workspace.publishing.staging_folder import (
    StagingFolder,
    is_below_link,
    remove_empty_folders,
    sync_to_disk,
)

_MAX_ATTEMPTS = 5


class BranchMoved(WorkspaceError):
    """An error: a branch that has moved from the base of the batch; `tip` is its current commit."""

    code: ClassVar[str] = "BRANCH_MOVED"

    def __init__(self, tip: str | None) -> None:
        super().__init__("another writer moved the branch", fix="Read the branch again and repeat.", tip=tip)
        self.tip = tip


class UpstreamMoved(BranchMoved):
    """An error: another node has moved the branch of the shared repository, or may write now."""


class InvalidBranch(WorkspaceError):
    """An error: a branch name that Git does not accept (git-check-ref-format)."""

    code: ClassVar[str] = "INVALID_BRANCH"

    def __init__(self, branch: str) -> None:
        super().__init__(
            "Git does not accept this name for a branch", fix="Use a name such as `main`.", branch=branch
        )


class RefConflict(WorkspaceError):
    """An error: a branch that cannot be written because of another branch, a symbolic ref or a link."""

    code: ClassVar[str] = "REF_CONFLICT"

    def __init__(self, branch: str, other: str, reason: str) -> None:
        super().__init__(
            f"the branch `{branch}` cannot be written: {reason}",
            fix="Choose another branch.",
            branch=branch,
            other=other,
        )


class BranchRef:
    """The file of one branch's ref, and its lock."""

    def __init__(self, git: GitReader, branch: str, staging_folder: StagingFolder) -> None:
        self._git = git
        self._branch = branch
        self._staging_folder = staging_folder
        self._root = git.common_dir / "refs" / "heads"
        self._path = self._root / branch
        self._lock = LinkedLock(staging_folder.lock_token, self._path, git.common_dir)

    def acquire(self) -> None:
        """Acquire the ref's lock, then remove the empty folders of a deleted branch at its path.

        Raises RefConflict, Locked, OSError.
        """
        check_ref_path(self._git, self._branch)
        for attempt in range(_MAX_ATTEMPTS):
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._lock.acquire()
                break
            except (FileNotFoundError, FileExistsError):
                # `git pack-refs` removes folders that it has emptied.
                if attempt == _MAX_ATTEMPTS - 1:
                    raise
        if self._path.is_dir():
            remove_empty_folders(self._path)

    def release(self) -> bool:
        """Release the lock, and remove empty folders above the ref; return False if the release failed."""
        is_released = self._lock.release()
        folder = self._path.parent
        with contextlib.suppress(OSError):
            while folder != self._root:
                folder.rmdir()
                folder = folder.parent
        return is_released

    def prepare(self, commit: str, file_name: str) -> None:
        """Write the finished ref to a file of this name in the staging folder."""
        self._staging_folder.write(file_name, f"{commit}\n".encode(), old_file=self._path)

    def move(self, file_name: str) -> None:
        """Rename the finished ref to its path: the commit point. After an error, read the branch again."""
        self._staging_folder.install(file_name, self._path)
        if self._staging_folder.durable:
            self.sync()

    def is_packed(self) -> bool:
        """Return True if `packed-refs` has the ref, perhaps at an earlier commit than the ref's file."""
        try:
            packed_refs = (self._git.common_dir / "packed-refs").read_bytes()
        except FileNotFoundError:
            return False
        return f" refs/heads/{self._branch}\n".encode() in packed_refs

    def remove(self) -> bool:
        """Remove the ref's file, under its lock; return False if there is none."""
        try:
            self._path.unlink()
        except FileNotFoundError:
            return False
        if self._staging_folder.durable:
            self.sync()
        return True

    def sync(self) -> None:
        """Sync the ref's name to the disk."""
        folder = self._path.parent
        while folder != self._root.parent:
            if folder.is_dir():  # Git removes the empty folders of packed refs.
                sync_to_disk(folder)
            folder = folder.parent


def check_tip(git: GitReader, branch: str, base: str | None) -> None:
    """Raise BranchMoved if the branch is not at the base of the batch: the comparison before the swap."""
    tip = git.tip(branch)
    if tip != base:
        raise BranchMoved(tip)


def check_ref_path(git: GitReader, branch: str) -> None:
    """Raise RefConflict for a symbolic ref or link at the branch's path, and a branch above or below it."""
    path = git.common_dir / "refs" / "heads" / branch
    if path.is_symlink() or is_below_link(path, git.common_dir):
        raise RefConflict(
            branch, branch, "the file of the ref is a symbolic link, or is below a symbolic link"
        )
    if git.tip(branch) is not None:
        return
    if path.is_file() and path.read_bytes().startswith(b"ref:"):
        raise RefConflict(branch, branch, "the branch is a symbolic ref")
    for other in git.branches():
        if other.startswith(branch + "/") or branch.startswith(other + "/"):
            raise RefConflict(branch, other, f"the branch `{other}` exists, and Git cannot store both names")


_NULL_ID = "0" * 40


@dataclass(frozen=True, slots=True)
class Reflog:
    """A reflog; `creates_missing` is True if a missing file must be created."""

    path: Path
    creates_missing: bool


def find_reflogs(git: GitReader, branch: str, *, is_bare: bool) -> tuple[Reflog, ...]:
    """Return the reflogs that record an update of the branch, according to `core.logAllRefUpdates`."""
    setting = git.config("core.logAllRefUpdates")
    if setting is None:
        creates_missing = not is_bare
    else:
        creates_missing = setting.lower() == "always" or git.config_flag("core.logAllRefUpdates")
    paths = [git.common_dir / "logs" / "refs" / "heads" / branch]
    paths += [git_dir / "logs" / "HEAD" for git_dir in find_git_dirs_on_branch(branch, git.common_dir)]
    # A symbolic link could lead to a file outside the repository, so linked logs are skipped.
    return tuple(
        Reflog(path, creates_missing)
        for path in paths
        if not path.is_symlink() and not is_below_link(path, git.common_dir)
    )


def append_to_reflogs(
    logs: Iterable[Reflog], old: str | None, new: str, author: Signature, message: str
) -> bool:
    """Append a move; return False if a log could not be written, which does not undo the move."""
    line = _format_line(old, new, author, message)
    return _apply_to_each(logs, lambda log: _append_line(log, line))


def complete_reflogs(
    logs: Iterable[Reflog], old: str | None, new: str, author: Signature, message: str
) -> bool:
    """Append a move to each log that does not end with it; return False if a log could not be written."""
    line = _format_line(old, new, author, message)
    return _apply_to_each(logs, lambda log: _append_if_missing(log, line, new))


def remove_reflog(git: GitReader, branch: str) -> None:
    """Remove the reflog of a branch, and its empty folders. Raises OSError."""
    root = git.common_dir / "logs" / "refs" / "heads"
    path = root / branch
    if path.is_symlink() or is_below_link(path, git.common_dir):
        return
    path.unlink(missing_ok=True)
    with suppress(OSError):
        for folder in path.relative_to(root).parents[:-1]:
            (root / folder).rmdir()


def _apply_to_each(logs: Iterable[Reflog], write: Callable[[Reflog], None]) -> bool:
    is_complete = True
    for log in logs:
        try:
            write(log)
        except FileNotFoundError:  # the log is missing, and must not be created
            continue
        except OSError:
            is_complete = False
    return is_complete


def _append_if_missing(log: Reflog, line: bytes, new: str) -> None:
    text = log.path.read_bytes() if log.path.exists() else b""
    complete_lines, newline, partial_line = text.rpartition(b"\n")
    if partial_line:
        os.truncate(log.path, len(complete_lines + newline))
    if complete_lines.rpartition(b"\n")[2].split(b" ")[1:2] != [new.encode()]:
        _append_line(log, line)


def _format_line(old: str | None, new: str, author: Signature, message: str) -> bytes:
    action = "commit" if old else "commit (initial)"
    subject = message.strip().partition("\n")[0].strip()
    return f"{old or _NULL_ID} {new} {author.format_line()}\t{action}: {subject}\n".encode("utf-8", "replace")


def _append_line(log: Reflog, line: bytes) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    if log.creates_missing:
        log.path.parent.mkdir(parents=True, exist_ok=True)
        if log.path.is_dir():
            # Git also removes the empty folders of a deleted branch with a longer name.
            remove_empty_folders(log.path)
        flags |= os.O_CREAT
    descriptor = os.open(log.path, flags, 0o666)
    try:
        size = os.fstat(descriptor).st_size
        if os.write(descriptor, line) < len(line):
            # The disk is full. The partial line is removed, because the next line would continue it.
            os.ftruncate(descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)
