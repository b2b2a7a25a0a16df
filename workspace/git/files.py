"""What Git knows of a work tree's files: which are staged or ignored; and where two histories part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pygit2

from workspace.git.objects import Entry
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from workspace.git.reader import GitReader


def staged(git: GitReader) -> dict[str, Entry]:
    """The entries of Git's index by path; of one that is in conflict, the last version.

    Raises DamagedRepository if the index cannot be read.
    """
    with git._lock:
        try:
            index = git._repo.index
            index.read(False)
            return {
                entry.path: Entry(entry.path.rpartition("/")[2], str(entry.id), int(entry.mode))
                for entry in index
            }
        except (OSError, ValueError, pygit2.GitError):
            raise DamagedRepository(
                "Git's index cannot be read", fix="`git status` says why; `git reset` makes it anew."
            ) from None


def is_ignored(git: GitReader, path: str) -> bool:
    """Whether Git ignores a path that it does not track; that of a folder ends with a slash (gitignore)."""
    with git._lock:
        try:
            return git._repo.path_is_ignored(path)
        except (ValueError, pygit2.GitError):  # a name that no pattern can be held against
            return False


def merge_base(git: GitReader, one: str, other: str) -> str | None:
    """The best common ancestor of two commits (git-merge-base); None if their histories have none."""
    with git._lock:
        try:
            found = git._repo.merge_base(one, other)
        except (KeyError, ValueError, pygit2.GitError):
            return None
    return str(found) if found else None
