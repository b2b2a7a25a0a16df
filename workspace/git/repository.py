"""A repository is found and opened, refused with the reason, or made."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pygit2
from pygit2.enums import ObjectType

from workspace.errors import WorkspaceError
from workspace.git import opening
from workspace.git.worktrees import common_dir_of

# libgit2 keeps no folder of a hundred files by itself, and a commit looks up each of its paths many times.
pygit2.settings.cache_object_limit(ObjectType.TREE, 1 << 20)
pygit2.settings.cache_max_size(16 << 20)


class DamagedRepository(WorkspaceError):
    """An object or a ref that ought to be in the repository is missing or broken."""

    code: ClassVar[str] = "DAMAGED_REPO"

    def __init__(
        self, message: str, *, fix: str = "Run `git fsck` in the repository.", **details: Any
    ) -> None:
        super().__init__(message, fix=fix, **details)


def missing(id: str) -> DamagedRepository:
    """The error for an object that is not there, or is not what its place asks for."""
    return DamagedRepository("an object of the repository is missing or broken", id=id)


@contextmanager
def writing() -> Iterator[None]:
    """Turn libgit2's failures to write into OSError, with the system's reason where libgit2 tells it."""
    try:
        yield
    except (OSError, pygit2.GitError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        # Its messages end with the system's words, and hold paths before them.
        told = next((code for code in errno.errorcode if str(error).endswith(os.strerror(code))), errno.EIO)
        raise OSError(told, os.strerror(told)) from error


def open_repository(path: Path) -> pygit2.Repository:
    """Open the repository that a folder belongs to. Raises NotARepository, UnsupportedRepository."""
    try:
        found = pygit2.discover_repository(str(path))
    except (KeyError, ValueError, pygit2.GitError):
        found = None
    if not found:
        raise opening.not_a_repository(path)
    git_dir = Path(found)
    settings: dict[str, str] = {}
    try:
        for file in (common_dir_of(git_dir) / "config", git_dir / "config.worktree"):
            if file.exists():
                settings |= {entry.name: entry.value or "" for entry in pygit2.Config(str(file))}
    except (ValueError, OSError, pygit2.GitError):
        raise opening.unreadable_config() from None
    refusal = opening.unsupported(settings)
    if refusal is not None:
        raise refusal
    try:
        # Not `found`: a Git directory that stands apart does not know its work tree.
        repo = pygit2.Repository(str(path))
    except (OSError, pygit2.GitError):
        raise opening.refused(git_dir) from None
    refusal = opening.foreign(path, git_dir, repo.workdir)
    if refusal is not None:
        raise refusal
    return repo


def initialise(path: Path, branch: str | None = None) -> None:
    """Make a repository in a folder, which is made too. Nothing is committed; no template or hook is copied.

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
