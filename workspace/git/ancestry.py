"""Commits and tree entries parsed from bytes, and walks over commits.

Only the needed fields are parsed: the tree, parents and time of a commit, and one entry of each tree on the
way to a path (git-scm "Git Internals", 10.2). So a walk over ten thousand commits takes a fifth of a second.
"""

from __future__ import annotations

import heapq
import re
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from workspace.git.repository import DamagedRepository
from workspace.git.tree_comparison import TreeComparison
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set

    from workspace.git.objects import TreeEntry

MAX_CLOCK_SKEW_S = 24 * 60 * 60
"""The number of seconds by which a commit may be older than its parent."""

MAX_OLD_COMMITS = 50
"""The maximum number of consecutive commits older than a walk's time limit that do not end the walk."""

_MAX_CACHE_ENTRIES = 50_000
_COMMIT_HEAD = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)author ")
_COMMITTER_TIME = re.compile(rb"\ncommitter .*> (-?\d{1,18}) ")
_FOLDER_MODES = (b"40000",)
_FILE_MODES = (b"100644", b"100755", b"100664")
_ID_BYTES = 20

PathPattern = tuple[tuple[bytes, ...], ...]
"""A path as a search pattern: for each of its names, the possible first bytes of the tree entry."""


class Node(NamedTuple):
    """The fields of a commit that a walk needs; `time` is the committer's, in seconds since 1970 UTC."""

    id: str
    tree: str
    parents: tuple[str, ...]
    time: int


class _HasParents(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def parents(self) -> tuple[str, ...]: ...


C = TypeVar("C", bound=_HasParents)


class ObjectSource(Protocol):
    """The objects of a repository, as `GitReader` reads them."""

    @property
    def is_shallow(self) -> bool: ...
    def loose_folders(self) -> frozenset[str]: ...
    def commit_data(self, id: str, loose_folders: frozenset[str]) -> bytes: ...
    def tree_data(self, id: str, loose_folders: frozenset[str]) -> bytes: ...


def walk_first_parents(
    read: Callable[[str], C],
    boundary: Callable[[], Collection[str]],
    tip: str,
    *,
    max_commits: int | None = None,
) -> Iterator[C]:
    """Yield a commit and its first-parent history, newest first, each as `read` returns it.

    The history ends where a shallow clone does: at a commit of `boundary`. Raises DamagedRepository for any
    other commit that cannot be read.
    """
    count, child, id = 0, "", tip
    while max_commits is None or count < max_commits:
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
    """The commits of a repository, parsed on first use and cached. Thread-safe.

    `replace` refs and grafts are ignored: only the commit itself defines its parents.
    """

    def __init__(self, git: ObjectSource) -> None:
        self._git = git
        self._nodes: LRUCache[str, Node] = LRUCache(_MAX_CACHE_ENTRIES)
        # Blob ids by tree, path, and the depth of the tree within the path.
        self._blobs: LRUCache[tuple[str, str, int], str | None] = LRUCache(_MAX_CACHE_ENTRIES)
        self._loose_folders = git.loose_folders()
        self._comparison = TreeComparison(lambda id: git.tree_data(id, self._loose_folders))

    def refresh(self) -> None:
        """Read the names of loose folders again.

        Call this method before each walk, because writers may have added commits.
        """
        self._loose_folders = self._git.loose_folders()

    def node(self, id: str) -> Node:
        """Return a commit by its id. Raises DamagedRepository."""
        return self._nodes.get(id, self._read_node, id)

    def parents(self, id: str) -> tuple[str, ...]:
        """Return the ids of a commit's parents; no ids for an unreadable commit, as at a shallow boundary."""
        try:
            return self.node(id).parents
        except DamagedRepository:
            return ()

    def first_parents(self, tip: str, *, max_commits: int, since: int | None = None) -> list[Node]:
        """Return a commit and its first-parent history, newest first, as far back as it can be read.

        The history ends after 50 consecutive commits that are more than a day older than `since`.
        """
        nodes: list[Node] = []
        old_count = 0
        with suppress(DamagedRepository):
            for node in walk_first_parents(self.node, frozenset, tip, max_commits=max_commits):
                old_count = old_count + 1 if since is not None and node.time < since - MAX_CLOCK_SKEW_S else 0
                if old_count > MAX_OLD_COMMITS:
                    break
                nodes.append(node)
        return nodes

    def ancestors(
        self,
        starts: Iterable[str],
        *,
        visited: set[str],
        since: int,
        max_visited: int,
        excluded: Set[str] = frozenset(),
    ) -> Iterator[Node]:
        """Yield the commits of `starts` and their ancestors, each once, and add their ids to `visited`.

        The walk does not continue past commits of `visited` or `excluded`, or past unreadable commits. Nor
        does it continue past more than 50 consecutive commits that are more than a day older than `since`. It
        ends when `visited` contains `max_visited` ids.
        """
        stack = [(start, 0) for start in starts]
        while stack and len(visited) < max_visited:
            id, old_count = stack.pop()
            if id in visited or id in excluded:
                continue
            visited.add(id)
            with suppress(DamagedRepository):
                node = self.node(id)
                yield node
                old_count = old_count + 1 if node.time < since - MAX_CLOCK_SKEW_S else 0
                if old_count <= MAX_OLD_COMMITS:
                    stack += [(parent, old_count) for parent in node.parents]

    def time(self, id: str) -> int:
        """Return a commit's time; 0 if the commit cannot be read."""
        try:
            return self.node(id).time
        except DamagedRepository:
            return 0

    @property
    def is_shallow(self) -> bool:
        """Return True if the repository contains only the newest commits."""
        return self._git.is_shallow

    def blob(self, tree: str, path: str) -> str | None:
        """Return the id of the regular file at a path below a tree, or None. Raises DamagedRepository."""
        return self._find_blob_id(tree, path, 0)

    def compare_trees(
        self, left: str | None, right: str | None
    ) -> tuple[tuple[TreeEntry, ...], tuple[TreeEntry, ...]]:
        """Return the entries that only `left` has, and those of only `right`; None means an empty tree."""
        return self._comparison.compare(left, right)

    def _read_node(self, id: str) -> Node:
        return parse_node(id, self._git.commit_data(id, self._loose_folders))

    def _find_blob_id(self, tree: str, path: str, depth: int) -> str | None:
        return self._blobs.get((tree, path, depth), self._read_blob_id, tree, path, depth)

    def _read_blob_id(self, tree: str, path: str, depth: int) -> str | None:
        path_pattern = build_path_pattern(path)
        entry_id = find_entry(self._git.tree_data(tree, self._loose_folders), path_pattern[depth])
        return (
            entry_id
            if entry_id is None or depth + 1 == len(path_pattern)
            else self._find_blob_id(entry_id, path, depth + 1)
        )


def is_descendant(
    parents: Callable[[str], Sequence[str]], id: str, ancestor: str, until: Collection[str | None]
) -> bool:
    """Return True if `ancestor` is the commit `id` or one of its ancestors; the walk stops at `until`."""
    visited = {*until}
    stack = [id]
    while stack:
        commit = stack.pop()
        if commit == ancestor:
            return True
        if commit not in visited:
            visited.add(commit)
            stack += parents(commit)
    return False


def select_reachable(graph: Graph, start: str, ids: Iterable[str]) -> frozenset[str]:
    """Return the ids of readable commits that are `start` or one of its ancestors.

    Few commits older than the oldest of `ids` are read, so the cost is proportional to the newer commits.
    """
    remaining_ids = {id for id in ids if id == start or graph.time(id)}
    if not remaining_ids or not graph.time(start):
        return frozenset(remaining_ids & {start})
    oldest_time = min(graph.time(id) for id in remaining_ids) - MAX_CLOCK_SKEW_S
    reachable: set[str] = set()
    visited = {start}
    queue = [(-graph.time(start), start, 0)]
    while queue and remaining_ids:
        _, id, old_count = heapq.heappop(queue)
        if id in remaining_ids:
            remaining_ids.discard(id)
            reachable.add(id)
        for parent in graph.parents(id):
            time = graph.time(parent)
            parent_old_count = old_count + 1 if time < oldest_time else 0
            if parent not in visited and parent_old_count <= MAX_OLD_COMMITS:
                visited.add(parent)
                heapq.heappush(queue, (-time, parent, parent_old_count))
    return frozenset(reachable)


def list_commits_between(
    graph: Graph, tip: str, base: str | None, *, max_commits: int
) -> tuple[Set[str], bool]:
    """Return at most `max_commits` commits that a tip reaches and a base does not (git-rev-list `tip ^base`).

    The second value is True if there are more. The newest commits are read first (git: commit-reach.c).
    Unreadable commits are included if the base does not reach them. Raises DamagedRepository if the tip or
    the base cannot be read.
    """
    base_ids = {base} if base is not None else set[str]()
    tip_ids: set[str] = set()
    seen_ids = {graph.node(id).id for id in (tip, *base_ids)}
    queue = [(-graph.time(id), id) for id in seen_ids]
    heapq.heapify(queue)
    unvisited_ids = seen_ids - base_ids
    while unvisited_ids and len(tip_ids) < max_commits:
        _, id = heapq.heappop(queue)
        unvisited_ids.discard(id)
        is_in_base = id in base_ids
        if not is_in_base:
            tip_ids.add(id)
        for parent in graph.parents(id):
            # A commit with a wrong time was visited too early, and is visited again for its parents.
            must_revisit = is_in_base and parent in tip_ids
            if is_in_base:
                base_ids.add(parent)
                tip_ids.discard(parent)
                unvisited_ids.discard(parent)
            if parent not in seen_ids or must_revisit:
                seen_ids.add(parent)
                heapq.heappush(queue, (-graph.time(parent), parent))
                if not is_in_base:
                    unvisited_ids.add(parent)
    # With a wrong clock, the walk may end before it reaches a commit of the base.
    candidates = tip_ids - base_ids
    if base is not None:
        candidates -= select_reachable(graph, base, candidates)
    return candidates, bool(unvisited_ids)


@lru_cache(maxsize=256)
def build_path_pattern(path: str) -> PathPattern:
    """Return the search pattern of a path."""
    names = path.encode("utf-8", "surrogateescape").split(b"/")
    mode_choices = [*[_FOLDER_MODES] * (len(names) - 1), _FILE_MODES]
    return tuple(
        tuple(mode + b" " + name + b"\0" for mode in modes)
        for name, modes in zip(names, mode_choices, strict=True)
    )


def parse_node(id: str, data: bytes) -> Node:
    """Return a commit, parsed from its bytes. Raises DamagedRepository."""
    head = _COMMIT_HEAD.match(data)
    time = _COMMITTER_TIME.search(data, head.end()) if head else None
    if head is None or time is None:
        raise DamagedRepository("a commit of the history is malformed", fix="Run `git fsck` to find it.")
    tree, parents = head.groups()
    return Node(id, tree.decode(), tuple(parents.decode().split()[1::2]), int(time[1]))


def find_entry(data: bytes, prefixes: tuple[bytes, ...]) -> str | None:
    """Return the id of the tree entry that begins with one of these prefixes (mode and name), or None.

    An entry begins at the start of the tree, or after the twenty-byte id of the previous entry.
    """
    for prefix in prefixes:
        offset = data.find(prefix)
        while offset != -1:
            if offset == 0 or (offset > _ID_BYTES and data[offset - _ID_BYTES - 1] == 0):
                offset += len(prefix)
                return data[offset : offset + _ID_BYTES].hex()
            offset = data.find(prefix, offset + 1)
    return None
