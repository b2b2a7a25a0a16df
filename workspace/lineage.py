"""The way of first parents: the states that a branch was in, newest first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from workspace.git import DamagedRepository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.git import GitReader

MOST = 1_000
"""Commits that are looked back on."""


class State(NamedTuple):
    """A commit of the way, and its tree."""

    commit: str
    tree: str


class Lineage:
    """The last states of a branch. Safe in several threads.

    They are read once; after that only what is new. The way ends where a shallow clone does, and before a
    commit that cannot be read.
    """

    def __init__(self, git: GitReader, most: int = MOST) -> None:
        self._git = git
        self._most = most
        self._states: tuple[State, ...] = ()
        self._lock = threading.Lock()

    def of(self, tip: str) -> Sequence[State]:
        """The state of a commit and those before it, newest first."""
        with self._lock:
            if not self._states or self._states[0].commit != tip:
                self._states = self._read(tip)
            return self._states

    def _read(self, tip: str) -> tuple[State, ...]:
        known = {state.commit: place for place, state in enumerate(self._states)}
        states: list[State] = []
        at: str | None = tip
        while at is not None and len(states) < self._most:
            if at in known:
                return (*states, *self._states[known[at] :])[: self._most]
            try:
                commit = self._git.commit(at)
            except DamagedRepository:
                break
            states.append(State(at, commit.tree))
            at = commit.parents[0] if commit.parents else None
        return tuple(states)
