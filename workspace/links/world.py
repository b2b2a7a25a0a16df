"""The tree of files in which links are resolved: a commit with the changes of a batch."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.git.trees import walk_tree
from workspace.snapshot.overlay import Overlay

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

_SUBMODULE_MODE = 0o160000


class OverlayFileTree:
    """The files of a snapshot, and what a batch had laid over them when the world was made.

    Documents are read as the batch has them by now: a text may be laid anew, but none added or removed.
    """

    def __init__(self, overlay: Overlay | Snapshot) -> None:
        self._overlay = overlay if isinstance(overlay, Overlay) else Overlay(overlay)
        self._snapshot = self._overlay.snapshot
        there = frozenset(self._overlay.laid)
        self._laid = {path: path in there for path in self._overlay.revised(Overlay(self._snapshot))}
        self._kinds: dict[str, bool | None] = {}
        self._made = _folders_above(path for path, is_there in self._laid.items() if is_there)
        self._thinned = _folders_above(path for path, is_there in self._laid.items() if not is_there)

    @property
    def rules(self) -> LinkRules:
        """The rules by which links are read."""
        return self._snapshot.config.links

    @cached_property
    def stems(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents by the stem of their name, in lower case."""
        gone = {path for path, is_there in self._laid.items() if not is_there}
        added = [path for path, is_there in self._laid.items() if is_there]
        return group_by_stem(dict.fromkeys([*self._snapshot.documents, *added]).keys() - gone)

    def exists(self, path: str) -> bool:
        """Return True if anything stands at a path; "" is the root."""
        if not path:
            return True
        return self._laid.get(path) is True or self._kind(path) is not None

    def is_folder(self, path: str) -> bool:
        """Return True if a folder or submodule stands there."""
        return not path or (not self._laid.get(path) and self._kind(path) is True)

    def entries(self, folder: str) -> Collection[str]:
        """Return the names in a folder."""
        entry = self._snapshot.entry(folder) if folder else None
        tree = entry.id if entry and entry.is_tree else None if folder else self._snapshot.tree
        prefix = f"{folder}/" if folder else ""
        names = {item.name for item in self._snapshot.git.tree(tree)} if tree else set()
        if folder in self._thinned:
            names = {name for name in names if self.exists(prefix + name)}
        laid = (path.removeprefix(prefix) for path in self._made_in(folder) if path.startswith(prefix))
        return names.union(path.partition("/")[0] for path in laid)

    def _made_in(self, folder: str) -> Iterable[str]:
        if folder and folder not in self._made:
            return ()
        return (path for path, is_there in self._laid.items() if is_there)

    def document(self, path: str) -> Document | None:
        """Return the document of a path; None for what is no document, or one that cannot be read."""
        if path not in self._laid:
            entry = self._snapshot.entry(path)
            if entry is None or not entry.is_blob or not self._snapshot.config.is_document(path):
                return None
        try:
            return self._overlay.find(path)
        except LimitExceeded:
            return None

    def _kind(self, path: str) -> bool | None:
        """Return whether what stands at a path that is not laid is a folder; None if nothing does."""
        if path not in self._kinds:
            self._kinds[path] = self._kind_of(path)
        return self._kinds[path]

    def _kind_of(self, path: str) -> bool | None:
        if not path or path in self._made:
            return True
        entry = None if self._laid.get(path) is False else self._snapshot.entry(path)
        if entry is None:
            return None
        if not entry.is_tree:
            return entry.mode == _SUBMODULE_MODE
        # Git keeps no empty folders.
        return True if path not in self._thinned or self._keeps_a_file(path, entry.id) else None

    def _keeps_a_file(self, folder: str, tree: str) -> bool:
        return any(
            self._laid.get(f"{folder}/{path}") is not False for path, _ in walk_tree(self._snapshot.git, tree)
        )


def _folders_above(paths: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for path in paths:
        folder = path
        while folder and (folder := folder.rpartition("/")[0]) not in found:
            found.add(folder)
    return frozenset(found)


def group_by_stem(paths: Iterable[str]) -> Mapping[str, Collection[str]]:
    """Return paths by the stem of their name, in lower case."""
    found: dict[str, list[str]] = {}
    for path in sorted(paths):
        found.setdefault(path.rpartition("/")[2].rpartition(".")[0].lower(), []).append(path)
    return found
