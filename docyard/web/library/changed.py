"""Which commit changed each document last, as far as the last commits tell."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from workspace.git import DamagedRepository, trees
from workspace.git.ancestry import Graph

if TYPE_CHECKING:
    from workspace.snapshot.snapshot import Snapshot

MOST = 300
"""Commits that are looked back on, along first parents: a merge counts as who merged."""


class LastChanges:
    """The last change of each path, for the commit that was asked for last. Safe in several threads.

    What a new commit changed is added to what is known; each commit is compared once with the one before.
    """

    def __init__(self) -> None:
        self._commit: str | None = None
        self._last: Mapping[str, str] = {}
        self._lock = threading.Lock()

    def of(self, snapshot: Snapshot) -> Mapping[str, str]:
        """The commit that changed each path last; a path that is not there was not changed lately."""
        if snapshot.commit is None:
            return {}
        with self._lock:
            if self._commit == snapshot.commit:
                return self._last
            last = self._walked(snapshot, snapshot.commit)
            self._commit, self._last = snapshot.commit, last
            return last

    def _walked(self, snapshot: Snapshot, commit: str) -> dict[str, str]:
        git = snapshot.git
        states = Graph(git).first_parents(commit, most=MOST + 1)
        found: dict[str, str] = {}
        for place, state in enumerate(states[:MOST]):
            if state.id == self._commit:
                return {**self._last, **found}
            try:
                if place + 1 < len(states):
                    before: str | None = states[place + 1].tree
                elif state.parents:
                    break  # of a shallow clone, whose earlier commits are elsewhere
                else:
                    before = None
                for change in trees.changes(git, before, state.tree):
                    found.setdefault(change.path, state.id)
            except DamagedRepository:
                break
        return found
