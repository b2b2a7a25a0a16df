"""Which repositories Docyard opens, and why it refuses the others."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from workspace.errors import WorkspaceError
from workspace.git.worktrees import common_dir_of, is_same

# These change how files or configuration are read, in ways that libgit2 follows.
_KNOWN_EXTENSIONS = {"noop", "objectformat", "worktreeconfig", "preciousobjects", "relativeworktrees"}


class NotARepository(WorkspaceError):
    """The path is not inside a Git repository."""

    code: ClassVar[str] = "NOT_A_REPOSITORY"


class UnsupportedRepository(WorkspaceError):
    """A Git repository of a kind that Docyard does not open; `reason` says which."""

    code: ClassVar[str] = "UNSUPPORTED_REPO"

    def __init__(self, reason: str, *, fix: str = "") -> None:
        super().__init__(f"this Git repository is not supported: {reason}", fix=fix, reason=reason)
        self.reason = reason


def not_a_repository(path: Path) -> NotARepository:
    """The error for a path in which no repository was found."""
    if not path.exists():
        return NotARepository("this folder does not exist", fix="Name an existing folder.")
    return NotARepository(
        "this is not a Git repository, nor a folder inside one",
        fix="Run `git init` there, or name a folder inside a repository.",
    )


def unreadable_config() -> UnsupportedRepository:
    """The error for a configuration file that cannot be parsed."""
    return UnsupportedRepository(
        "its configuration cannot be read", fix="Run `git config --list` there and mend what it reports."
    )


def unsupported(settings: Mapping[str, str]) -> UnsupportedRepository | None:
    """Why a repository with this local configuration (lower-case names) cannot be served, if so."""
    if settings.get("extensions.objectformat", "sha1").lower() != "sha1":
        return UnsupportedRepository(
            "it uses SHA-256 object names", fix="Use a repository with SHA-1 object names."
        )
    if settings.get("extensions.refstorage", "files").lower() != "files":
        return UnsupportedRepository(
            "it keeps its refs in a reftable", fix="Run `git refs migrate --ref-format=files` there."
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


def refused(git_dir: Path) -> UnsupportedRepository:
    """Why libgit2 refused a repository whose configuration is one that Docyard serves."""
    if hasattr(os, "geteuid") and git_dir.stat().st_uid != os.geteuid():
        return UnsupportedRepository(
            "it belongs to another user",
            fix="Run Docyard as its owner, or trust it: `git config --global --add safe.directory PATH`.",
        )
    return UnsupportedRepository("it is damaged", fix="Run `git status` and `git fsck` there.")


def foreign(path: Path, git_dir: Path, workdir: str | None) -> UnsupportedRepository | None:
    """Why a repository that was found from `path` reaches for what is not its own, if it does.

    Its files are to be where its `.git` is, or below. A Git directory that the user names itself may have
    them anywhere, as Git allows. What it shares with others (`commondir`) is to list it as a work tree.
    """
    common_dir = common_dir_of(git_dir)
    if not is_same(git_dir, common_dir) and not is_same(git_dir.parent, common_dir / "worktrees"):
        return UnsupportedRepository(
            "its Git folder uses that of another repository",
            fix="Remove the file `commondir` from its Git folder, or name the other repository.",
        )
    home = _home(path, git_dir)
    if workdir is None or home is None:
        return None
    folder = Path(workdir)
    if any(is_same(above, home) for above in (folder, *folder.parents)):
        return None
    return UnsupportedRepository(
        "its files would be in a folder that is not its own (`core.worktree` or a `gitdir` file says so)",
        fix="Take that out with `git config --unset core.worktree`, or name its Git folder itself.",
    )


def _home(path: Path, git_dir: Path) -> Path | None:
    """The folder whose `.git` led to a Git directory; None if that was named itself, under another name."""
    here, inside = path.resolve(), git_dir.resolve()
    if here.is_relative_to(inside):
        return inside.parent if inside.name == ".git" else None
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), None)


def _is_true(value: str) -> bool:
    return value.lower() in ("", "true", "yes", "on", "1")
