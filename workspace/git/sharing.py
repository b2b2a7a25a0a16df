"""The sharing of a repository with its group: the setting `core.sharedRepository`."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

import pygit2

_GROUP_WORDS = ("group", "true", "yes", "on", "1")
_EVERYBODY_WORDS = ("all", "world", "everybody", "2")
_OCTAL = re.compile("[0-7]+")
_GROUP_READ_WRITE_MODE = 0o060


def is_group_shared(common_dir: Path) -> bool:
    """Return True if Git lets the group of a repository read and write it.

    The values are those of git-config, "core.sharedRepository": a word, or octal permissions. The result is
    False if the group may only read, or if Git refuses the value.
    """
    try:
        status = os.stat(common_dir / "config")
    except OSError:
        return False
    return _is_group_shared_cached(common_dir, (status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=64)
def _is_group_shared_cached(common_dir: Path, stamp: tuple[int, int, int]) -> bool:
    """Return the cached result of `is_group_shared`.

    `stamp` is the inode, size and modification time of the configuration file.
    """
    return grants_group_access(_read_setting(common_dir))


def grants_group_access(value: str | None) -> bool:
    """Return True if a value of the setting lets the group read and write; None means no setting."""
    if value is None:
        return False
    word = value.lower()
    if word in _GROUP_WORDS or word in _EVERYBODY_WORDS:
        return True
    if not _OCTAL.fullmatch(word):
        return False
    mode = int(word, 8)
    return mode & 0o600 == 0o600 and mode & _GROUP_READ_WRITE_MODE == _GROUP_READ_WRITE_MODE


def _read_setting(common_dir: Path) -> str | None:
    try:
        value = pygit2.Repository(str(common_dir)).config["core.sharedRepository"]
    except (KeyError, ValueError, pygit2.GitError):
        return None
    # A name without a value is true (git-config, "boolean"); pygit2 returns None for it.
    return "true" if value is None else str(value)
