"""Commits and the paths in their trees, read as bytes: ten thousand of them in a fifth of a second.

Only what a walk needs is parsed: a commit's tree, parents and time, and one entry of each tree on the way to
a path (git-scm "Git Internals", 10.2).
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, NamedTuple

from workspace.git import DamagedRepository

if TYPE_CHECKING:
    from workspace.git import GitReader

_KEPT = 50_000
_COMMIT = re.compile(
    rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author .*\ncommitter .*> (-?\d{1,18}) .*\n"
)
_FOLDER = (b"40000 ",)
_FILES = (b"100644 ", b"100755 ", b"100664 ")
_ID = 20


class Node(NamedTuple):
    """A commit as a walk sees it; `time` is the committer's, in seconds since 1970 UTC."""

    tree: str
    parents: tuple[str, ...]
    time: int


class Graph:
    """The commits of a repository, each parsed once. Safe in several threads.

    `replace` refs and grafts are not looked at: a commit says itself what its parents are.
    """

    def __init__(self, git: GitReader) -> None:
        self._git = git
        self._nodes: dict[str, Node] = {}
        # Folders that many trees share, each with a path below it, and the file there.
        self._folders: dict[tuple[str, bytes], str | None] = {}
        self._lock = threading.Lock()
        self._loose = git.loose_folders()

    def look(self) -> None:
        """Looks which objects are loose: before each walk, because commits are written meanwhile."""
        self._loose = self._git.loose_folders()

    def node(self, id: str) -> Node:
        """A commit by its id. Raises DamagedRepository."""
        found = self._nodes.get(id)
        if found is None:
            found = parse_node(self._git.commit_data(id, self._loose))
            with self._lock:
                if len(self._nodes) >= _KEPT:
                    self._nodes.clear()
                self._nodes[id] = found
        return found

    def time(self, id: str) -> int:
        """A commit's time; 0 for one that cannot be read."""
        try:
            return self.node(id).time
        except DamagedRepository:
            return 0

    @property
    def is_shallow(self) -> bool:
        """Whether the repository holds only the last commits."""
        return self._git.is_shallow

    def blob(self, tree: str, path: str) -> str | None:
        """The regular file at a path below a tree. Raises DamagedRepository."""
        return self._below(tree, path.encode("utf-8", "surrogateescape"))

    def _below(self, tree: str, path: bytes) -> str | None:
        name, slash, rest = path.partition(b"/")
        entry = find_entry(self._git.tree_data(tree, self._loose), name, _FOLDER if slash else _FILES)
        if entry is None or not slash:
            return entry
        key = (entry, rest)
        if key not in self._folders:
            found = self._below(entry, rest)
            with self._lock:
                if len(self._folders) >= _KEPT:
                    self._folders.clear()
                self._folders[key] = found
            return found
        return self._folders[key]


def parse_node(data: bytes) -> Node:
    """A commit's bytes: lines of `tree`, `parent`s, `author` and `committer`, in this order."""
    found = _COMMIT.match(data)
    if found is None:
        raise DamagedRepository("a commit of the history is malformed", fix="Look at it with git fsck.")
    tree, parents, time = found.groups()
    return Node(tree.decode(), tuple(parents.decode().split()[1::2]), int(time))


def find_entry(data: bytes, name: bytes, modes: tuple[bytes, ...]) -> str | None:
    """The id of the entry of a name and one of some modes in a tree's bytes; None if there is none.

    An entry begins where the tree does, or twenty bytes after the NUL that ends the name before it.
    """
    for mode in modes:
        wanted = mode + name + b"\0"
        at = data.find(wanted)
        while at != -1:
            if at == 0 or (at > _ID and data[at - _ID - 1] == 0):
                at += len(wanted)
                return data[at : at + _ID].hex()
            at = data.find(wanted, at + 1)
    return None
