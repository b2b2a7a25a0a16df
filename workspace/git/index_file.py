"""A private copy of Git's index (gitformat-index): read, changed entry by entry, and written."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import FileMode
from pygit2.ffi import C, ffi

from workspace.git.repository import DamagedRepository, writing


class SplitIndex(DamagedRepository):
    """Git's index is split over two files (git-update-index, "Split index"), which libgit2 does not read."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What Git's index holds of one path."""

    id: str
    mode: int
    intent_to_add: bool
    skip_worktree: bool


# A mixed reset builds the index from HEAD and leaves the files alone.
_REBUILD = 'mv "$(git rev-parse --git-path index)" broken-index && git reset'


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


class _Index(pygit2.Index):
    # pygit2 frees this also when it could not be opened.
    _index = ffi.NULL


class IndexFile:
    """A private copy of Git's index; entries that are not touched are written back as they were.

    Raises:
        SplitIndex: the rest of it is in another file.
        DamagedRepository: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._index = _Index(str(path))
        except (OSError, pygit2.GitError):
            # The extensions' names stand at the end, each before its own data.
            if b"link" in _bytes(path):
                raise SplitIndex("Git's index is split", fix="git update-index --no-split-index") from None
            raise DamagedRepository("Git's index cannot be read", fix=_REBUILD) from None

    def __len__(self) -> int:
        return len(self._index)

    @property
    def conflicted(self) -> bool:
        """Whether a path is unmerged."""
        return self._index.conflicts is not None

    def entry(self, path: str) -> IndexEntry | None:
        """The entry of a path, or None."""
        try:
            found = self._index[path]
        except KeyError:
            return None
        # pygit2's own entries leave the flags out (index-format, "16-bit flags", version 3).
        flags = C.git_index_get_bypath(self._index._index, os.fsencode(path), 0).flags_extended
        return IndexEntry(str(found.id), int(found.mode), bool(flags & 1 << 13), bool(flags & 1 << 14))

    def put(self, path: str, id: str, mode: int) -> None:
        """Set a path's blob; Git compares the file itself at its next look, since no times are set."""
        self._index.add(pygit2.IndexEntry(path, pygit2.Oid(hex=id), FileMode(mode)))

    def remove(self, path: str) -> None:
        """Take a path out."""
        self._index.remove(path)

    def write(self) -> None:
        """Write the file, under another name first."""
        with writing():
            self._index.write()
