"""The opening and creation of a repository, and the reasons why a repository is not opened."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pygit2
from pygit2.enums import ObjectType

from workspace.errors import WorkspaceError
from workspace.git.worktrees import find_common_dir, is_same_path

# libgit2 supports these extensions, or they do not change how Docyard reads files and settings.
_KNOWN_EXTENSIONS = {"noop", "objectformat", "worktreeconfig", "preciousobjects", "relativeworktrees"}


class NotARepository(WorkspaceError):
    """An error: a path that is not inside a Git repository."""

    code: ClassVar[str] = "NOT_A_REPOSITORY"


class UnsupportedRepository(WorkspaceError):
    """An error: a Git repository that Docyard does not open; `reason` states why."""

    code: ClassVar[str] = "UNSUPPORTED_REPO"

    def __init__(self, reason: str, *, fix: str = "") -> None:
        super().__init__(f"this Git repository is not supported: {reason}", fix=fix, reason=reason)
        self.reason = reason


class RepositoryMissing(WorkspaceError):
    """An error: the repository, or its served linked work tree, is no longer at the path of its opening."""

    code: ClassVar[str] = "REPOSITORY_GONE"


def check_repository_exists(git_dir: Path, common_dir: Path) -> None:
    """Raise RepositoryMissing if a Git folder has no HEAD file, which Git always has."""
    if not os.path.lexists(common_dir / "HEAD"):
        raise RepositoryMissing(
            "the repository is missing: its Git folder was moved, unmounted or deleted",
            fix="Move it back and send the same call again, or restart the server at its new path.",
        )
    if not os.path.lexists(git_dir / "HEAD"):
        raise RepositoryMissing(
            "the served linked work tree is missing: it was removed from the repository",
            fix="Create it again with git worktree add, or restart the server in another work tree.",
        )


def make_not_a_repository_error(path: Path) -> NotARepository:
    """Return the error for a path without a repository."""
    if not path.exists():
        return NotARepository("the folder does not exist", fix="Name an existing folder.")
    if not path.is_dir():
        return NotARepository("the path is not a folder", fix="Name a folder inside a repository.")
    return NotARepository(
        "the folder is not a Git repository, nor inside one",
        fix="Run `docyard init` there, or name a folder inside a repository.",
    )


def make_unreadable_config_error() -> UnsupportedRepository:
    """Return the error for a configuration file that cannot be parsed."""
    return UnsupportedRepository(
        "its configuration cannot be read", fix="Run `git config --list` there and fix the reported errors."
    )


def find_settings_error(settings: Mapping[str, str]) -> UnsupportedRepository | None:
    """Return the error for a repository with an unsupported setting, or None; the names are in lower case."""
    if settings.get("extensions.objectformat", "sha1").lower() != "sha1":
        return UnsupportedRepository(
            "it uses SHA-256 object names", fix="Use a repository with SHA-1 object names."
        )
    if settings.get("extensions.refstorage", "files").lower() != "files":
        return UnsupportedRepository(
            "it stores its refs in a reftable", fix="Run `git refs migrate --ref-format=files` there."
        )
    is_partial_clone = "extensions.partialclone" in settings or any(
        name.startswith("remote.") and name.endswith(".promisor") and _is_true(value)
        for name, value in settings.items()
    )
    if is_partial_clone:
        return UnsupportedRepository(
            "it is a partial clone, and some of its objects are only on the remote",
            fix="Clone the repository again without `--filter`.",
        )
    for name in settings:
        extension = name.removeprefix("extensions.")
        if extension != name and extension not in _KNOWN_EXTENSIONS:
            return UnsupportedRepository(
                f"it uses the extension `{extension}`", fix="Clone the repository without the extension."
            )
    return None


def make_refused_repository_error(git_dir: Path) -> UnsupportedRepository:
    """Return the error for a repository that libgit2 refused, although its configuration is supported."""
    if hasattr(os, "geteuid") and git_dir.stat().st_uid != os.geteuid():
        return UnsupportedRepository(
            "it belongs to another user",
            fix="Run Docyard as the owner of the folder, or run "
            "`git config --global --add safe.directory PATH`.",
        )
    return UnsupportedRepository("it is damaged", fix="Run `git status` and `git fsck` there.")


def find_foreign_repository_error(
    path: Path, git_dir: Path, workdir: str | None
) -> UnsupportedRepository | None:
    """Return the error for a repository at `path` that refers to files of another repository, or None.

    The work tree must be the folder that contains `.git`, or be below it. If the user names the Git
    directory itself, the work tree may be anywhere, as Git allows. If `commondir` names another repository,
    that repository must list the Git directory as one of its work trees.
    """
    common_dir = find_common_dir(git_dir)
    if not is_same_path(git_dir, common_dir) and not is_same_path(git_dir.parent, common_dir / "worktrees"):
        return UnsupportedRepository(
            "its Git folder uses that of another repository",
            fix="Remove the file `commondir` from its Git folder, or name the other repository.",
        )
    dot_git_parent = _find_dot_git_parent(path, git_dir)
    if workdir is None or dot_git_parent is None:
        return None
    folder = Path(workdir)
    if any(is_same_path(parent, dot_git_parent) for parent in (folder, *folder.parents)):
        return None
    return UnsupportedRepository(
        "its files would be in a folder of another repository, set by `core.worktree` or a `gitdir` file",
        fix="Run `git config --unset core.worktree`, or name the Git folder itself.",
    )


def _find_dot_git_parent(path: Path, git_dir: Path) -> Path | None:
    """Return the folder whose `.git` leads to a Git directory; None if the directory has another name."""
    start, resolved_dir = path.resolve(), git_dir.resolve()
    if start.is_relative_to(resolved_dir):
        return resolved_dir.parent if resolved_dir.name == ".git" else None
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def _is_true(value: str) -> bool:
    return value.lower() in ("", "true", "yes", "on", "1")


# By default, libgit2 caches no tree of a hundred files, and a commit looks up each of its paths many times.
pygit2.settings.cache_object_limit(ObjectType.TREE, 1 << 20)


pygit2.settings.cache_max_size(16 << 20)

MAX_OPEN_PACKS = 128
"""The packs that libgit2 has open at once, of all repositories; it opens a closed one again when needed."""

# Without a limit, each pack that was ever read stays open. Each fetch adds a pack, and a process may usually
# open about a thousand files. Beyond that, libgit2 reports objects as missing.
pygit2.settings.mwindow_file_limit = MAX_OPEN_PACKS

_MAX_REASON_LENGTH = 200
_QUOTED_PATH = re.compile(r"'[^']{0,4096}'")
_ID_IN_PARENTHESES = re.compile(r" ?\([0-9a-f]{40}\)")


class DamagedRepository(WorkspaceError):
    """An error: a missing or broken object or ref of the repository."""

    code: ClassVar[str] = "DAMAGED_REPO"

    def __init__(
        self, message: str, *, fix: str = "Run `git fsck` in the repository.", **details: Any
    ) -> None:
        super().__init__(message, fix=fix, **details)


def make_missing_object_error(id: str, reason: str) -> DamagedRepository:
    """Return the error for an object that is missing, broken or of an unexpected kind."""
    return DamagedRepository(f"an object of the repository is missing or broken: {id[:12]} ({reason})", id=id)


def describe_cause(error: Exception) -> str:
    """Return the message of libgit2 for an object that cannot be read, without its id and without paths."""
    if isinstance(error, KeyError):  # pygit2 replaces the message by the id
        return "it is in no file and in no pack"
    text = str(error.args[0]) if error.args else type(error).__name__
    text = _ID_IN_PARENTHESES.sub("", _QUOTED_PATH.sub("a file", text[: 4 * _MAX_REASON_LENGTH]))
    return " ".join(text.split())[:_MAX_REASON_LENGTH]


@contextmanager
def translate_write_errors() -> Iterator[None]:
    """Raise libgit2's failures to write as OSError, with the system's reason where libgit2 reports it."""
    try:
        yield
    except (OSError, pygit2.GitError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        # libgit2's messages end with the system's message, after paths.
        number = next((code for code in errno.errorcode if str(error).endswith(os.strerror(code))), errno.EIO)
        raise OSError(number, os.strerror(number)) from error


def open_repository(path: Path) -> pygit2.Repository:
    """Open the repository that a folder belongs to. Raises NotARepository, UnsupportedRepository."""
    try:
        git_dir_path = pygit2.discover_repository(str(path))
    except (KeyError, ValueError, pygit2.GitError):
        git_dir_path = None
    if not git_dir_path:
        raise make_not_a_repository_error(path)
    git_dir = Path(git_dir_path)
    settings: dict[str, str] = {}
    try:
        for file in (find_common_dir(git_dir) / "config", git_dir / "config.worktree"):
            if file.exists():
                settings |= {entry.name: entry.value or "" for entry in pygit2.Config(str(file))}
    except (ValueError, OSError, pygit2.GitError):
        raise make_unreadable_config_error() from None
    error = find_settings_error(settings)
    if error is not None:
        raise error
    try:
        # Not `git_dir`: a separate Git directory does not record its work tree.
        repo = pygit2.Repository(str(path))
    except (OSError, pygit2.GitError):
        raise make_refused_repository_error(git_dir) from None
    error = find_foreign_repository_error(path, git_dir, repo.workdir)
    if error is not None:
        raise error
    return repo


def create_repository(path: Path, branch: str | None = None) -> None:
    """Create a repository in a folder, which is created if missing, without a commit, template or hook.

    HEAD points to `branch`, else to the user's `init.defaultBranch`, else to `main`. Raises OSError if the
    folder cannot be written.
    """
    if branch is None:
        try:
            branch = pygit2.Config.get_global_config()["init.defaultBranch"]
        except (KeyError, OSError, pygit2.GitError):
            branch = "main"
    path.mkdir(parents=True, exist_ok=True)
    try:
        pygit2.init_repository(str(path), initial_head=branch)
    except (ValueError, pygit2.GitError) as error:
        raise OSError(str(error)) from error
