"""Commits and tree entries parsed from bytes, and walks over commits.

Only what a walk needs is parsed: a commit's tree, parents and time, and one entry of each tree on the way to
a path (git-scm "Git Internals", 10.2). So ten thousand commits take a fifth of a second.
"""

from __future__ import annotations

import heapq
import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set

SLACK = 24 * 60 * 60
"""The seconds by which a commit may be older than its parent."""

ASTRAY = 50
"""The number of consecutive commits older than `SLACK` that a walk still follows."""

_CACHED = 50_000
_HEAD = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author ")
_TIME = re.compile(rb"\ncommitter .*> (-?\d{1,18}) ")
_FOLDER = (b"40000",)
_FILES = (b"100644", b"100755", b"100664")
_ID = 20

Route = tuple[tuple[bytes, ...], ...]
"""A path, part by part: the first bytes of an entry with its name, for each possible mode."""


class Node(NamedTuple):
    """A commit as a walk sees it; `time` is the committer's, in seconds since 1970 UTC."""

    id: str
    tree: str
    parents: tuple[str, ...]
    time: int


class _Linked(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def parents(self) -> tuple[str, ...]: ...


C = TypeVar("C", bound=_Linked)


class Objects(Protocol):
    """The objects of a repository, as `GitReader` reads them."""

    @property
    def is_shallow(self) -> bool: ...
    def loose_folders(self) -> frozenset[str]: ...
    def commit_data(self, id: str, loose: frozenset[str]) -> bytes: ...
    def tree_data(self, id: str, loose: frozenset[str]) -> bytes: ...


def walk_first_parents(
    read: Callable[[str], C], boundary: Callable[[], Collection[str]], tip: str, *, most: int | None = None
) -> Iterator[C]:
    """Yield a commit and its first-parent history, newest first, as `read` returns each of them.

    The history ends where a shallow clone does: at a commit of `boundary`. Raises DamagedRepository for any
    other commit that cannot be read.
    """
    count, child, id = 0, "", tip
    while most is None or count < most:
        try:
            commit = read(id)
        except DamagedRepository:
            if child in boundary():
                return
            raise
        yield commit
        if not commit.parents:
            return
        count, child, id = count + 1, id, commit.parents[0]


class Graph:
    """The commits of a repository, each parsed once. Safe in several threads.

    `replace` refs and grafts are ignored: only the commit itself defines its parents.
    """

    def __init__(self, git: Objects) -> None:
        self._git = git
        self._nodes: LRUCache[str, Node] = LRUCache(_CACHED)
        # Blob ids by tree, path, and the depth of the tree within the path.
        self._blobs: LRUCache[tuple[str, str, int], str | None] = LRUCache(_CACHED)
        self._loose = git.loose_folders()

    def refresh(self) -> None:
        """Read the names of loose folders again.

        Each walk needs this call first, because writers may have added commits.
        """
        self._loose = self._git.loose_folders()

    def node(self, id: str) -> Node:
        """Return a commit by its id. Raises DamagedRepository."""
        return self._nodes.get(id, self._read, id)

    def parents(self, id: str) -> tuple[str, ...]:
        """Return a commit's parents; empty if the commit cannot be read, as at a shallow boundary."""
        try:
            return self.node(id).parents
        except DamagedRepository:
            return ()

    def first_parents(self, tip: str, *, most: int, since: int | None = None) -> list[Node]:
        """Return a commit and its first-parent history, newest first, as far back as it can be read.

        The history ends after more than 50 consecutive commits that are older than a day before `since`.
        """
        nodes: list[Node] = []
        old = 0
        with suppress(DamagedRepository):
            for node in walk_first_parents(self.node, frozenset, tip, most=most):
                old = old + 1 if since is not None and node.time < since - SLACK else 0
                if old > ASTRAY:
                    break
                nodes.append(node)
        return nodes

    def ancestors(
        self, starts: Iterable[str], *, seen: set[str], since: int, most: int, without: Set[str] = frozenset()
    ) -> Iterator[Node]:
        """Yield the commits of `starts` and their ancestors, each once, and add their ids to `seen`.

        The walk does not continue behind commits of `seen` or `without`, or behind unreadable commits. It
        does not continue behind more than 50 consecutive commits that are older than a day before `since`.
        It ends when `seen` holds `most` ids.
        """
        waiting = [(start, 0) for start in starts]
        while waiting and len(seen) < most:
            id, old = waiting.pop()
            if id in seen or id in without:
                continue
            seen.add(id)
            with suppress(DamagedRepository):
                node = self.node(id)
                yield node
                old = old + 1 if node.time < since - SLACK else 0
                if old <= ASTRAY:
                    waiting += [(parent, old) for parent in node.parents]

    def time(self, id: str) -> int:
        """Return a commit's time; 0 for one that cannot be read."""
        try:
            return self.node(id).time
        except DamagedRepository:
            return 0

    @property
    def is_shallow(self) -> bool:
        """Return True if the repository holds only the last commits."""
        return self._git.is_shallow

    def blob(self, tree: str, path: str) -> str | None:
        """Return the id of the regular file at a path below a tree, or None. Raises DamagedRepository."""
        return self._find_blob_id(tree, path, 0)

    def _read(self, id: str) -> Node:
        return parse_node(id, self._git.commit_data(id, self._loose))

    def _find_blob_id(self, tree: str, path: str, depth: int) -> str | None:
        return self._blobs.get((tree, path, depth), self._read_blob_id, tree, path, depth)

    def _read_blob_id(self, tree: str, path: str, depth: int) -> str | None:
        route = build_route(path)
        entry_id = find_entry(self._git.tree_data(tree, self._loose), route[depth])
        return (
            entry_id
            if entry_id is None or depth + 1 == len(route)
            else self._find_blob_id(entry_id, path, depth + 1)
        )


def is_descendant(
    parents: Callable[[str], Sequence[str]], id: str, ancestor: str, until: Collection[str | None]
) -> bool:
    """Return True if a commit is another or has it among its ancestors, without looking behind `until`."""
    seen = {*until}
    waiting = [id]
    while waiting:
        current = waiting.pop()
        if current == ancestor:
            return True
        if current not in seen:
            seen.add(current)
            waiting += parents(current)
    return False


def select_reachable(graph: Graph, start: str, wanted: Iterable[str]) -> frozenset[str]:
    """Return the wanted commits that are `start` or one of its ancestors, if they can be read.

    Few commits older than all of them are read, so the cost is proportional to the newer commits.
    """
    missing = {id for id in wanted if id == start or graph.time(id)}
    if not missing or not graph.time(start):
        return frozenset(missing & {start})
    oldest = min(graph.time(id) for id in missing) - SLACK
    reachable: set[str] = set()
    seen = {start}
    waiting = [(-graph.time(start), start, 0)]
    while waiting and missing:
        _, id, old = heapq.heappop(waiting)
        if id in missing:
            missing.discard(id)
            reachable.add(id)
        for parent in graph.parents(id):
            time = graph.time(parent)
            depth = old + 1 if time < oldest else 0
            if parent not in seen and depth <= ASTRAY:
                seen.add(parent)
                heapq.heappush(waiting, (-time, parent, depth))
    return frozenset(reachable)


def list_commits_between(graph: Graph, tip: str, base: str | None, *, most: int) -> tuple[Set[str], bool]:
    """Return at most `most` commits that a tip reaches and a base does not (git-rev-list `tip ^base`).

    The second value is True if there are more. The newest commits are read first (git: commit-reach.c).
    Unreadable commits are included if the base does not reach them. Raises DamagedRepository if the tip or
    the base cannot be read.
    """
    theirs = {base} if base is not None else set[str]()
    own: set[str] = set()
    known = {graph.node(id).id for id in (tip, *theirs)}
    waiting = [(-graph.time(id), id) for id in known]
    heapq.heapify(waiting)
    open_ends = known - theirs
    while open_ends and len(own) < most:
        _, id = heapq.heappop(waiting)
        open_ends.discard(id)
        is_theirs = id in theirs
        if not is_theirs:
            own.add(id)
        for parent in graph.parents(id):
            # A commit read too early because of a wrong clock is read again: the base contains its parents.
            is_late = is_theirs and parent in own
            if is_theirs:
                theirs.add(parent)
                own.discard(parent)
                open_ends.discard(parent)
            if parent not in known or is_late:
                known.add(parent)
                heapq.heappush(waiting, (-graph.time(parent), parent))
                if not is_theirs:
                    open_ends.add(parent)
    # With a wrong clock, the walk may end before it reaches a commit from the base.
    candidates = own - theirs
    if base is not None:
        candidates -= select_reachable(graph, base, candidates)
    return candidates, bool(open_ends)


@lru_cache(maxsize=256)
def build_route(path: str) -> Route:
    """Return a path as a search pattern for trees."""
    names = path.encode("utf-8", "surrogateescape").split(b"/")
    kinds = [*[_FOLDER] * (len(names) - 1), _FILES]
    return tuple(
        tuple(mode + b" " + name + b"\0" for mode in modes) for name, modes in zip(names, kinds, strict=True)
    )


def parse_node(id: str, data: bytes) -> Node:
    """Return the commit parsed from its bytes. Raises DamagedRepository."""
    head = _HEAD.match(data)
    time = _TIME.search(data, head.end()) if head else None
    if head is None or time is None:
        raise DamagedRepository("a commit of the history is malformed", fix="Look at it with git fsck.")
    tree, parents = head.groups()
    return Node(id, tree.decode(), tuple(parents.decode().split()[1::2]), int(time[1]))


def find_entry(data: bytes, beginnings: tuple[bytes, ...]) -> str | None:
    """Return the id of the tree entry that has one of these beginnings (mode and name), or None.

    An entry begins at the start of the tree, or after the twenty-byte id of the previous entry.
    """
    for beginning in beginnings:
        offset = data.find(beginning)
        while offset != -1:
            if offset == 0 or (offset > _ID and data[offset - _ID - 1] == 0):
                offset += len(beginning)
                return data[offset : offset + _ID].hex()
            offset = data.find(beginning, offset + 1)
    return None
