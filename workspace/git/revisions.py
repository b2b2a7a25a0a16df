"""Revisions: the names that people give commits (gitrevisions(7))."""

from __future__ import annotations

import re

import pygit2

_SHORT_ID = re.compile("[0-9a-fA-F]{4,40}")
# No ref's name holds these (git-check-ref-format). What holds a colon searches messages, or names a file.
_COUNTED = re.compile(r"[^:~^]*[~^@][^:]*")


def object_named(repo: pygit2.Repository, name: str) -> str | None:
    """The id of what a branch, a tag, a ref or the beginning of an id names; None if that is nothing.

    What is counted from one (`HEAD~2`, `main^`, `@{upstream}`, `main@{1}`) is found, too.
    """
    try:
        # libgit2 takes no name at all for HEAD.
        return str(repo.lookup_reference_dwim(name or "/").resolve().target)
    except (KeyError, ValueError, pygit2.GitError):
        pass
    try:
        if _SHORT_ID.fullmatch(name):
            return str(repo.expand_id(name))
        return str(repo.revparse_single(name).id) if _COUNTED.fullmatch(name) else None
    except (KeyError, ValueError, pygit2.GitError):
        return None
