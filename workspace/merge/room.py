"""Whether a file that comes with a merge has room where it is to stand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.git.trees import walk
from workspace.paths import InvalidPath, is_git_folder, twin_key

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from workspace.git import Entry
    from workspace.snapshot.snapshot import Snapshot


class Room:
    """What ours has, less what leaves it. `leaving` may change meanwhile."""

    def __init__(self, ours: Snapshot, theirs: Snapshot, leaving: Collection[str]) -> None:
        self._ours, self._theirs, self._leaving = ours, theirs, leaving
        self._names: dict[str, Mapping[str, Collection[str]]] = {}

    def taken(self, path: str) -> str | None:
        """The path in ours that keeps a file from standing at a path; None if there is none.

        It is the path itself, a file where a folder is needed, or a twin: a name that some disks take for the
        same. Twins that stand beside each other in theirs may do so here. Raises InvalidPath for a path in a
        folder of Git's own, which no honest tree has.
        """
        folder = ""
        parts = path.split("/")
        for depth, name in enumerate(parts, 1):
            if is_git_folder(name) or name in ("", ".", ".."):
                raise InvalidPath(path, "a part of it is a name that Git keeps for itself")
            here = folder + name
            entry = self._ours.entry(here)
            is_folder = entry is not None and entry.is_tree and depth < len(parts)
            if entry is not None and not is_folder and self._stays(here, entry):
                return here
            twin = None if is_folder else self._twin(folder, name)
            if twin is not None:
                return twin
            folder = f"{here}/"
        return None

    def _twin(self, folder: str, name: str) -> str | None:
        for other in self._named(folder).get(twin_key(name), ()):
            path = folder + other
            entry = self._ours.entry(path)
            if other == name or entry is None or self._theirs.entry(path) is not None:
                continue
            if self._stays(path, entry):
                return path
        return None

    def _named(self, folder: str) -> Mapping[str, Collection[str]]:
        """The names in a folder of ours, by what twins have in common."""
        if folder not in self._names:
            found: dict[str, list[str]] = {}
            entry = self._ours.entry(folder[:-1]) if folder else None
            tree = entry.id if entry is not None and entry.is_tree else None if folder else self._ours.tree
            for item in self._ours.git.tree(tree) if tree else ():
                found.setdefault(twin_key(item.name), []).append(item.name)
            self._names[folder] = found
        return self._names[folder]

    def _stays(self, path: str, entry: Entry) -> bool:
        if not entry.is_tree:
            return path not in self._leaving
        return any(f"{path}/{below}" not in self._leaving for below, _ in walk(self._ours.git, entry.id))
