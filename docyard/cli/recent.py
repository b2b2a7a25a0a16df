"""The commits of a branch that changed documents, newest first, with what each of them changed."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from docyard.terminal.console import Progress
from workspace.git import DamagedRepository, trees

if TYPE_CHECKING:
    from workspace.git.objects import Commit
    from workspace.history import Told
    from workspace.snapshot.snapshot import Snapshot

_TOLD_EVERY = 100


class DocumentChange(NamedTuple):
    """What a commit did to a document: created, changed, renamed or removed; `old_path` if it was renamed."""

    kind: str
    path: str
    old_path: str | None = None


class Recent(NamedTuple):
    """A commit, and the documents that it changed, in order of their paths."""

    told: Told
    changes: tuple[DocumentChange, ...]


class RecentCommits:
    """A walk back from a snapshot's commit, in order of time, over all parents.

    A merge is told where it has made a document what it is in none of its parents (git-log(1), "-c").
    `unread` are commits that cannot be read; `is_done` says that the walk has come to its end.
    """

    def __init__(self, snapshot: Snapshot, progress: Progress | None = None) -> None:
        self._snapshot, self._git = snapshot, snapshot.git
        self._progress = progress
        self._waiting: list[tuple[int, int, Commit]] = []
        self._met: set[str] = set()
        self.unread: list[str] = []
        if snapshot.commit is not None:
            self._read(snapshot.commit)

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to look at."""
        return not self._waiting

    def __iter__(self) -> Iterator[Recent]:
        from workspace.history.told import told

        seen = 0
        while self._waiting:
            commit = heappop(self._waiting)[2]
            seen += 1
            if self._progress and seen % _TOLD_EVERY == 0:
                self._progress(seen, None, None)
            parents = [self._read(parent) for parent in commit.parents]
            try:
                befores = [parent.tree for parent in parents if parent is not None]
                changes = self._changes(commit, befores) if len(befores) == len(parents) else ()
            except DamagedRepository:
                self.unread.append(commit.id)
                continue
            if changes:
                yield Recent(told(commit), changes)

    def _read(self, id: str) -> Commit | None:
        """A commit, which waits for its turn if it is met for the first time; None if it cannot be read."""
        try:
            commit = self._git.commit(id)
        except DamagedRepository:
            self.unread.append(id)
            return None
        if id not in self._met:
            self._met.add(id)
            heappush(self._waiting, (-commit.committer.time, len(self._met), commit))
        return commit

    def _changes(self, commit: Commit, befores: list[str]) -> tuple[DocumentChange, ...]:
        if not befores:
            return tuple(sorted(DocumentChange("created", path) for path in self._differing(None, commit)))
        if len(befores) == 1:
            return self._compared(befores[0], commit)
        paths = set.intersection(*(self._differing(before, commit) for before in befores))
        if not paths:
            return ()
        return tuple(change for change in self._compared(befores[0], commit) if change.path in paths)

    def _differing(self, before: str | None, commit: Commit) -> set[str]:
        is_document = self._snapshot.config.is_document
        return {
            change.path
            for change in trees.changes(self._git, before, commit.tree)
            if any(entry and entry.is_blob for entry in (change.old, change.new)) and is_document(change.path)
        }

    def _compared(self, before: str, commit: Commit) -> tuple[DocumentChange, ...]:
        from workspace.diff.renames import Renames

        renames = Renames(self._git, before, commit.tree, self._snapshot.config.is_document)
        now = {path: renames.of(path) for path in renames.gone}
        was = {new: old for old, new in now.items() if new is not None}
        changes = [DocumentChange("removed", path) for path, new in now.items() if new is None]
        changes += [DocumentChange("changed", path) for path in renames.changed]
        for path in renames.come:
            kind = "renamed" if path in was else "created"
            changes.append(DocumentChange(kind, path, was.get(path)))
        return tuple(sorted(changes, key=lambda change: change.path))
