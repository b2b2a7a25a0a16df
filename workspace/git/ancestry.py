"""Commits and the paths in their trees, read as bytes: ten thousand of them in a fifth of a second.

Only what a walk needs is parsed: a commit's tree, parents and time, and one entry of each tree on the way to
a path (git-scm "Git Internals", 10.2).
"""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from workspace.git.reader import GitReader

_KEPT = 50_000
_HEAD = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author ")
_TIME = re.compile(rb"\ncommitter .*> (-?\d{1,18}) ")
_FOLDER = (b"40000",)
_FILES = (b"100644", b"100755", b"100664")
_ID = 20

Route = tuple[tuple[bytes, ...], ...]
"""A path, part by part: how an entry of its name begins, in each mode that it may have."""


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
        # Trees, each with a path that leads through it at some depth, and the file there.
        self._found: dict[tuple[str, str, int], str | None] = {}
        self._lock = threading.Lock()
        self._loose = git.loose_folders()
        self._table = git.commit_graph

    def look(self) -> None:
        """Looks which objects are loose: before each walk, because commits are written meanwhile."""
        self._loose = self._git.loose_folders()

    def node(self, id: str) -> Node:
        """A commit by its id. Raises DamagedRepository."""
        found = self._nodes.get(id)
        if found is None:
            found = self._read(id)
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
        return self._below(tree, path, route_of(path), 0)

    def _read(self, id: str) -> Node:
        row = self._table.find(id) if self._table is not None else None
        if row is not None:
            return Node(*row)
        return parse_node(self._git.commit_data(id, self._loose))

    def _below(self, tree: str, path: str, route: Route, depth: int) -> str | None:
        key = (tree, path, depth)
        if key in self._found:
            return self._found[key]
        found = find_entry(self._git.tree_data(tree, self._loose), route[depth])
        if found is not None and depth + 1 < len(route):
            found = self._below(found, path, route, depth + 1)
        with self._lock:
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[key] = found
        return found


@lru_cache(maxsize=256)
def route_of(path: str) -> Route:
    """A path as it is looked for in trees."""
    names = path.encode("utf-8", "surrogateescape").split(b"/")
    kinds = [*[_FOLDER] * (len(names) - 1), _FILES]
    return tuple(
        tuple(mode + b" " + name + b"\0" for mode in modes) for name, modes in zip(names, kinds, strict=True)
    )


def parse_node(data: bytes) -> Node:
    """A commit's bytes: lines of `tree`, `parent`s, `author` and `committer`, in this order."""
    head = _HEAD.match(data)
    time = _TIME.search(data, head.end()) if head else None
    if head is None or time is None:
        raise DamagedRepository("a commit of the history is malformed", fix="Look at it with git fsck.")
    tree, parents = head.groups()
    return Node(tree.decode(), tuple(parents.decode().split()[1::2]), int(time[1]))


def find_entry(data: bytes, beginnings: tuple[bytes, ...]) -> str | None:
    """The id of the entry of a tree that has one of some modes and names; None if there is none.

    An entry begins where the tree does, or twenty bytes after the NUL that ends the name before it.
    """
    for wanted in beginnings:
        at = data.find(wanted)
        while at != -1:
            if at == 0 or (at > _ID and data[at - _ID - 1] == 0):
                at += len(wanted)
                return data[at : at + _ID].hex()
            at = data.find(wanted, at + 1)
    return None
