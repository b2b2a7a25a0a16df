"""The commits of a branch that changed documents, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from workspace.git import trees
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from docyard.terminal.console import ReportProgress
    from workspace.git.objects import Commit
    from workspace.history.commits import CommitInfo
    from workspace.snapshot.snapshot import Snapshot

_PROGRESS_INTERVAL = 100  # commits between two progress reports


class ChangedDocument(NamedTuple):
    """A document that a commit created, changed, renamed or removed; `old_path` is set for a rename."""

    kind: str
    path: str
    old_path: str | None = None


class RecentCommit(NamedTuple):
    """A commit and the documents that it changed, in order of their paths."""

    info: CommitInfo
    changes: tuple[ChangedDocument, ...]


class RecentCommits:
    """A walk from a snapshot's commit to its ancestors, newest first, over all parents.

    A merge is listed if the merged document differs from every parent (git-log(1), "-c").
    `unreadable_commits` lists the commits that cannot be read; `has_ended` is true at the end of the walk.
    """

    def __init__(self, snapshot: Snapshot, progress: ReportProgress | None = None) -> None:
        self._snapshot, self._git = snapshot, snapshot.git
        self._progress = progress
        self._queue: list[tuple[int, int, Commit]] = []
        self._seen: set[str] = set()
        self.unreadable_commits: list[str] = []
        if snapshot.commit is not None:
            self._read_and_queue(snapshot.commit)

    @property
    def has_ended(self) -> bool:
        """Return True if the walk has ended."""
        return not self._queue

    def __iter__(self) -> Iterator[RecentCommit]:
        from workspace.history.commits import describe_commit

        count = 0
        while self._queue:
            commit = heappop(self._queue)[2]
            count += 1
            if self._progress and count % _PROGRESS_INTERVAL == 0:
                self._progress(count, None, None)
            parents = [self._read_and_queue(parent) for parent in commit.parents]
            try:
                parent_trees = [parent.tree for parent in parents if parent is not None]
                changes = (
                    self._list_changes(commit, parent_trees) if len(parent_trees) == len(parents) else ()
                )
            except DamagedRepository:
                self.unreadable_commits.append(commit.id)
                continue
            if changes:
                yield RecentCommit(describe_commit(commit), changes)

    def _read_and_queue(self, id: str) -> Commit | None:
        """Return a commit, and queue it on the first call; None if the commit cannot be read."""
        try:
            commit = self._git.commit(id)
        except DamagedRepository:
            self.unreadable_commits.append(id)
            return None
        if id not in self._seen:
            self._seen.add(id)
            heappush(self._queue, (-commit.committer.time, len(self._seen), commit))
        return commit

    def _list_changes(self, commit: Commit, parent_trees: list[str]) -> tuple[ChangedDocument, ...]:
        if not parent_trees:
            return tuple(
                sorted(ChangedDocument("created", path) for path in self._list_changed_paths(None, commit))
            )
        if len(parent_trees) == 1:
            return self._compare_with_parent(parent_trees[0], commit)
        paths = set.intersection(
            *(self._list_changed_paths(parent_tree, commit) for parent_tree in parent_trees)
        )
        if not paths:
            return ()
        return tuple(
            change for change in self._compare_with_parent(parent_trees[0], commit) if change.path in paths
        )

    def _list_changed_paths(self, parent_tree: str | None, commit: Commit) -> set[str]:
        is_document = self._snapshot.config.is_document
        return {
            change.path
            for change in trees.diff_trees(self._git, parent_tree, commit.tree)
            if any(entry and entry.is_blob for entry in (change.old, change.new)) and is_document(change.path)
        }

    def _compare_with_parent(self, parent_tree: str, commit: Commit) -> tuple[ChangedDocument, ...]:
        from workspace.diff.renames import Renames

        renames = Renames(self._git, parent_tree, commit.tree, self._snapshot.config.is_document)
        new_paths = {path: renames.find_new_path(path) for path in renames.removed_blobs}
        old_paths = {new_path: path for path, new_path in new_paths.items() if new_path is not None}
        changes = [
            ChangedDocument("removed", path) for path, new_path in new_paths.items() if new_path is None
        ]
        changes += [ChangedDocument("changed", path) for path in renames.changed_blobs]
        for path in renames.added_blobs:
            kind = "renamed" if path in old_paths else "created"
            changes.append(ChangedDocument(kind, path, old_paths.get(path)))
        return tuple(sorted(changes, key=lambda change: change.path))
