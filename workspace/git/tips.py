"""The tips of branches: local ones, and those of remotes as last fetched."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from workspace.git.reader import GitReader

_ORIGIN_PREFIX = "origin/"


class Tips:
    """The tips of branches. Remote branches are listed once, so each response needs a new instance."""

    def __init__(self, git: GitReader) -> None:
        self._git = git

    def find_local(self, branch: str) -> str | None:
        """Return the commit of a local branch; None if the branch does not exist or cannot be read."""
        with suppress(DamagedRepository):
            return self._git.tip(branch)
        return None

    def list_fetched(self, branch: str) -> tuple[str, ...]:
        """Return the distinct commits of the branch on the remotes, the commit on `origin` first."""
        names = self._remote_names.get(branch, ())
        ids = (self._resolve_commit(f"refs/remotes/{name}") for name in names)
        return tuple(dict.fromkeys(id for id in ids if id is not None))

    def find(self, branch: str) -> str | None:
        """Return the commit of a local branch, else that of a remote branch, as in a fresh clone."""
        return self.find_local(branch) or next(iter(self.list_fetched(branch)), None)

    @cached_property
    def _remote_names(self) -> dict[str, Sequence[str]]:
        """Return the possible remote branches by branch name, such as `origin/topic/one` by `topic/one`."""
        names_by_branch: dict[str, list[str]] = {}
        for name in self._git.ref_names():
            names_by_branch.setdefault(name.partition("/")[2], []).append(name)
        return {
            branch: sorted(names, key=lambda name: (not name.startswith(_ORIGIN_PREFIX), name))
            for branch, names in names_by_branch.items()
        }

    def _resolve_commit(self, ref: str) -> str | None:
        try:
            id = self._git.find_object(ref)
            kind, id = self._git.peel(id) if id is not None else ("", "")
        except DamagedRepository:
            return None
        return id if kind == "commit" else None
