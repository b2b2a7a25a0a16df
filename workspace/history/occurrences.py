"""The commits that contain a text: in a file that they change, in their message, or in an author's name.

Only a rewrite of the history removes the text from them. All branches, tags and remote branches are read,
also the branch of discussions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from workspace.git.reader import GitReader


class Occurrence(NamedTuple):
    """A commit that contains the text, and the path of the file; empty for the commit's own text."""

    commit: str
    path: str


class Occurrences(NamedTuple):
    """The commits with a text, the refs at whose tips it still is, and the number of unreadable objects.

    `refs` are the names of refs and the paths of files.
    """

    commits: tuple[Occurrence, ...]
    refs: tuple[tuple[str, str], ...]
    unreadable_count: int


def find_occurrences(git: GitReader, text: str) -> Occurrences:
    """Return where a repository contains a text, which is compared byte by byte, in UTF-8."""
    return _Search(git, text.encode("utf-8", "surrogateescape")).run()


class _Search:
    def __init__(self, git: GitReader, needle: bytes) -> None:
        self._git = git
        self._needle = needle
        self._graph = Graph(git)
        self._is_match_by_blob: dict[str, bool] = {}
        self._unreadable_count = 0

    def run(self) -> Occurrences:
        tips = dict(self._list_tips())
        if (head := self._git.head().commit) is not None and head not in tips.values():
            tips["HEAD"] = head
        commits = [item for id in self._list_commits(list(tips.values())) for item in self._search_commit(id)]
        refs = [(name, path) for name, tip in tips.items() for path in self._search_tree_at(tip)]
        return Occurrences(tuple(commits), tuple(refs), self._unreadable_count)

    def _list_tips(self) -> Iterator[tuple[str, str]]:
        """Yield the names and the commits of all refs."""
        for name in self._git.ref_names():
            if (id := self._git.find_object(name)) is not None:
                try:
                    kind, commit = self._git.peel(id)
                except DamagedRepository:
                    self._unreadable_count += 1
                    continue
                if kind == "commit":
                    yield name, commit

    def _list_commits(self, tips: list[str]) -> list[str]:
        """Return all commits that refs reach, the newest first."""
        times: dict[str, int] = {}
        stack = list(tips)
        while stack:
            id = stack.pop()
            if id in times:
                continue
            try:
                node = self._graph.node(id)
            except DamagedRepository:  # a tag of another object, or the end of a shallow clone
                continue
            times[id] = node.time
            stack += node.parents
        return sorted(times, key=lambda id: -times[id])

    def _search_commit(self, id: str) -> Iterator[Occurrence]:
        node = self._graph.node(id)
        if self._needle in self._git.commit_data(id, self._git.loose_folders()):
            yield Occurrence(id, "")
        parent_tree = None
        if node.parents:
            try:
                parent_tree = self._graph.node(node.parents[0]).tree
            except DamagedRepository:
                parent_tree = None
        for path, blob in self._list_new_blobs(parent_tree, node.tree, ""):
            if self._contains(blob):
                yield Occurrence(id, path)

    def _search_tree_at(self, tip: str) -> Iterator[str]:
        try:
            tree = self._graph.node(tip).tree
        except DamagedRepository:
            return
        for path, blob in self._list_new_blobs(None, tree, ""):
            if self._contains(blob):
                yield path

    def _list_new_blobs(self, left: str | None, right: str, folder: str) -> Iterator[tuple[str, str]]:
        """Yield the path and the blob of each file that only the right tree has."""
        try:
            left_entries, right_entries = self._git.compare_trees(left, right)
        except DamagedRepository:
            self._unreadable_count += 1
            return
        left_trees = {entry.name: entry.id for entry in left_entries if entry.is_tree}
        for entry in right_entries:
            path = f"{folder}{entry.name}"
            if entry.is_tree:
                yield from self._list_new_blobs(left_trees.get(entry.name), entry.id, f"{path}/")
            elif entry.is_blob:
                yield path, entry.id

    def _contains(self, blob: str) -> bool:
        is_match = self._is_match_by_blob.get(blob)
        if is_match is None:
            try:
                is_match = self._needle in self._git.blob(blob)
            except DamagedRepository:
                self._unreadable_count += 1
                is_match = False
            self._is_match_by_blob[blob] = is_match
        return is_match
