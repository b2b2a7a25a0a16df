"""Finding, opening and creating a repository, and the reasons for refusing one."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pygit2
from pygit2.enums import ObjectType

from workspace.errors import WorkspaceError
from workspace.git.worktrees import find_common_dir, is_same_path

# These change how files or configuration are read, in ways that libgit2 follows.
_KNOWN_EXTENSIONS = {"noop", "objectformat", "worktreeconfig", "preciousobjects", "relativeworktrees"}


class NotARepository(WorkspaceError):
    """The path is not inside a Git repository."""

    code: ClassVar[str] = "NOT_A_REPOSITORY"


class UnsupportedRepository(WorkspaceError):
    """A Git repository of a kind that Docyard does not open; `reason` names it."""

    code: ClassVar[str] = "UNSUPPORTED_REPO"

    def __init__(self, reason: str, *, fix: str = "") -> None:
        super().__init__(f"this Git repository is not supported: {reason}", fix=fix, reason=reason)
        self.reason = reason


def not_a_repository_error(path: Path) -> NotARepository:
    """Return the error for a path without a repository."""
    if not path.exists():
        return NotARepository("this folder does not exist", fix="Name an existing folder.")
    return NotARepository(
        "this is not a Git repository, nor a folder inside one",
        fix="Run `git init` there, or name a folder inside a repository.",
    )


def unreadable_config_error() -> UnsupportedRepository:
    """Return the error for a configuration file that cannot be parsed."""
    return UnsupportedRepository(
        "its configuration cannot be read", fix="Run `git config --list` there and fix the reported errors."
    )


def describe_unsupported_settings(settings: Mapping[str, str]) -> UnsupportedRepository | None:
    """Return the reason why a repository with this local configuration (lower-case names) is unsupported."""
    if settings.get("extensions.objectformat", "sha1").lower() != "sha1":
        return UnsupportedRepository(
            "it uses SHA-256 object names", fix="Use a repository with SHA-1 object names."
        )
    if settings.get("extensions.refstorage", "files").lower() != "files":
        return UnsupportedRepository(
            "it stores its refs in a reftable", fix="Run `git refs migrate --ref-format=files` there."
        )
    partial = "extensions.partialclone" in settings or any(
        name.startswith("remote.") and name.endswith(".promisor") and _is_true(value)
        for name, value in settings.items()
    )
    if partial:
        return UnsupportedRepository(
            "it is a partial clone, and some of its objects are elsewhere",
            fix="Clone it again without `--filter`.",
        )
    for name in settings:
        extension = name.removeprefix("extensions.")
        if extension != name and extension not in _KNOWN_EXTENSIONS:
            return UnsupportedRepository(f"it uses the extension `{extension}`", fix="Clone it without it.")
    return None


def describe_refusal(git_dir: Path) -> UnsupportedRepository:
    """Return why libgit2 refused a repository whose configuration is one that Docyard serves."""
    if hasattr(os, "geteuid") and git_dir.stat().st_uid != os.geteuid():
        return UnsupportedRepository(
            "it belongs to another user",
            fix="Run Docyard as its owner, or trust it: `git config --global --add safe.directory PATH`.",
        )
    return UnsupportedRepository("it is damaged", fix="Run `git status` and `git fsck` there.")


def describe_foreign_repository(
    path: Path, git_dir: Path, workdir: str | None
) -> UnsupportedRepository | None:
    """Return why a repository that was found from `path` refers to files of another one, if it does.

    Its files are to be where its `.git` is, or below. A Git directory that the user names itself may have
    them anywhere, as Git allows. What it shares with others (`commondir`) is to list it as a work tree.
    """
    common_dir = find_common_dir(git_dir)
    if not is_same_path(git_dir, common_dir) and not is_same_path(git_dir.parent, common_dir / "worktrees"):
        return UnsupportedRepository(
            "its Git folder uses that of another repository",
            fix="Remove the file `commondir` from its Git folder, or name the other repository.",
        )
    home = _find_home(path, git_dir)
    if workdir is None or home is None:
        return None
    folder = Path(workdir)
    if any(is_same_path(above, home) for above in (folder, *folder.parents)):
        return None
    return UnsupportedRepository(
        "its files would be in a folder of another repository, set by `core.worktree` or a `gitdir` file",
        fix="Run `git config --unset core.worktree`, or name the Git folder itself.",
    )


def _find_home(path: Path, git_dir: Path) -> Path | None:
    """Return the folder whose `.git` led to a Git directory; None if it was named itself by another name."""
    here, inside = path.resolve(), git_dir.resolve()
    if here.is_relative_to(inside):
        return inside.parent if inside.name == ".git" else None
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)


def _is_true(value: str) -> bool:
    return value.lower() in ("", "true", "yes", "on", "1")


# By default, libgit2 caches no tree of a hundred files, and a commit looks up each of its paths many times.
pygit2.settings.cache_object_limit(ObjectType.TREE, 1 << 20)


pygit2.settings.cache_max_size(16 << 20)


class DamagedRepository(WorkspaceError):
    """An object or a ref of the repository is missing or broken."""

    code: ClassVar[str] = "DAMAGED_REPO"

    def __init__(
        self, message: str, *, fix: str = "Run `git fsck` in the repository.", **details: Any
    ) -> None:
        super().__init__(message, fix=fix, **details)


def missing_object_error(id: str) -> DamagedRepository:
    """Return the error for a missing object, or one of an unexpected kind."""
    return DamagedRepository("an object of the repository is missing or broken", id=id)


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
        found = pygit2.discover_repository(str(path))
    except (KeyError, ValueError, pygit2.GitError):
        found = None
    if not found:
        raise not_a_repository_error(path)
    git_dir = Path(found)
    settings: dict[str, str] = {}
    try:
        for file in (find_common_dir(git_dir) / "config", git_dir / "config.worktree"):
            if file.exists():
                settings |= {entry.name: entry.value or "" for entry in pygit2.Config(str(file))}
    except (ValueError, OSError, pygit2.GitError):
        raise unreadable_config_error() from None
    refusal = describe_unsupported_settings(settings)
    if refusal is not None:
        raise refusal
    try:
        # Not `found`: a separate Git directory does not know its work tree.
        repo = pygit2.Repository(str(path))
    except (OSError, pygit2.GitError):
        raise describe_refusal(git_dir) from None
    refusal = describe_foreign_repository(path, git_dir, repo.workdir)
    if refusal is not None:
        raise refusal
    return repo


def initialise(path: Path, branch: str | None = None) -> None:
    """Create a repository in a folder, and the folder. Nothing is committed; no template or hook is copied.

    Its branch is the one given, else the user's `init.defaultBranch`, else `main`. Errors: OSError if the
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
