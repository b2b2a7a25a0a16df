"""Names of objects: branches, tags, other refs, and the beginnings of ids (gitrevisions(7))."""

from __future__ import annotations

import re
from typing import ClassVar

import pygit2

from workspace.errors import WorkspaceError

_ID = re.compile("[0-9a-fA-F]{4,40}")
_FULL = 40
_SHORT_OF = ("refs/heads/", "refs/tags/", "refs/remotes/")


class AmbiguousId(WorkspaceError):
    """The beginning of an id with which several objects begin."""

    code: ClassVar[str] = "AMBIGUOUS_ID"


def object_named(repo: pygit2.Repository, name: str) -> str | None:
    """The id of what a name stands for; None if that is nothing. Raises AmbiguousId.

    A ref comes before the beginning of an id, and a whole id before a ref, as in Git.
    """
    if len(name) == _FULL and _ID.fullmatch(name):
        return name.lower() if name.lower() in repo.odb else None
    try:
        # libgit2 takes no name at all for HEAD.
        return str(repo.lookup_reference_dwim(name or "/").resolve().target)
    except (KeyError, ValueError, pygit2.GitError):
        pass
    if not _ID.fullmatch(name):
        return None
    try:
        return str(repo.expand_id(name))
    except pygit2.AmbiguousError:
        raise AmbiguousId(
            f"'{name}' is the beginning of several ids", fix="Give more characters of the id."
        ) from None
    except (KeyError, ValueError, pygit2.GitError):
        return None


def short_names(repo: pygit2.Repository) -> tuple[str, ...]:
    """The names of branches, tags and remote branches, as people write them; sorted."""
    names = (name.decode("utf-8", "surrogateescape") for name in repo.raw_listall_references())
    return tuple(
        sorted({name.removeprefix(start) for name in names for start in _SHORT_OF if name.startswith(start)})
    )
