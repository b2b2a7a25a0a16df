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
    """The files of a snapshot with the changes of a batch.

    The paths are read at construction, and the texts at each call. So later changes of texts have an effect,
    but documents that are added or removed later have no effect.
    """

    def __init__(self, overlay: Overlay | Snapshot) -> None:
        self._overlay = overlay if isinstance(overlay, Overlay) else Overlay(overlay)
        self._snapshot = self._overlay.snapshot
        written_paths = frozenset(self._overlay.written_paths)
        self._presence_by_path = {
            path: path in written_paths for path in self._overlay.list_changed_paths(Overlay(self._snapshot))
        }
        self._folder_flags: dict[str, bool | None] = {}
        self._folders_with_additions = _list_folders_above(
            path for path, is_present in self._presence_by_path.items() if is_present
        )
        self._folders_with_removals = _list_folders_above(
            path for path, is_present in self._presence_by_path.items() if not is_present
        )

    @property
    def rules(self) -> LinkRules:
        """The rules by which links are read."""
        return self._snapshot.config.links

    @cached_property
    def paths_by_stem(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents, grouped by the stem of their names in lower case."""
        removed_paths = {path for path, is_present in self._presence_by_path.items() if not is_present}
        added_paths = [path for path, is_present in self._presence_by_path.items() if is_present]
        return group_by_stem(dict.fromkeys([*self._snapshot.documents, *added_paths]).keys() - removed_paths)

    def exists(self, path: str) -> bool:
        """Return True if the path exists; "" is the root."""
        if not path:
            return True
        return self._presence_by_path.get(path) is True or self._find_folder_flag(path) is not None

    def is_folder(self, path: str) -> bool:
        """Return True if the path is a folder or a submodule."""
        return not path or (not self._presence_by_path.get(path) and self._find_folder_flag(path) is True)

    def list_names(self, folder: str) -> Collection[str]:
        """Return the names in a folder."""
        entry = self._snapshot.entry(folder) if folder else None
        tree = entry.id if entry and entry.is_tree else None if folder else self._snapshot.tree
        prefix = f"{folder}/" if folder else ""
        names = {item.name for item in self._snapshot.git.tree(tree)} if tree else set()
        if folder in self._folders_with_removals:
            names = {name for name in names if self.exists(prefix + name)}
        added_paths = (
            path.removeprefix(prefix) for path in self._list_added_paths(folder) if path.startswith(prefix)
        )
        return names.union(path.partition("/")[0] for path in added_paths)

    def _list_added_paths(self, folder: str) -> Iterable[str]:
        if folder and folder not in self._folders_with_additions:
            return ()
        return (path for path, is_present in self._presence_by_path.items() if is_present)

    def document(self, path: str) -> Document | None:
        """Return the document at a path; None if no readable document is there."""
        if path not in self._presence_by_path:
            entry = self._snapshot.entry(path)
            if entry is None or not entry.is_blob or not self._snapshot.config.is_document(path):
                return None
        try:
            return self._overlay.find(path)
        except LimitExceeded:
            return None

    def _find_folder_flag(self, path: str) -> bool | None:
        """Return True for a folder or submodule, False for another entry, None without an entry (cached)."""
        if path not in self._folder_flags:
            self._folder_flags[path] = self._read_folder_flag(path)
        return self._folder_flags[path]

    def _read_folder_flag(self, path: str) -> bool | None:
        if not path or path in self._folders_with_additions:
            return True
        entry = None if self._presence_by_path.get(path) is False else self._snapshot.entry(path)
        if entry is None:
            return None
        if not entry.is_tree:
            return entry.mode == _SUBMODULE_MODE
        # Git does not store empty folders.
        return (
            True
            if path not in self._folders_with_removals or self._has_remaining_file(path, entry.id)
            else None
        )

    def _has_remaining_file(self, folder: str, tree: str) -> bool:
        return any(
            self._presence_by_path.get(f"{folder}/{path}") is not False
            for path, _ in walk_tree(self._snapshot.git, tree)
        )


def _list_folders_above(paths: Iterable[str]) -> frozenset[str]:
    folders: set[str] = set()
    for path in paths:
        folder = path
        while folder and (folder := folder.rpartition("/")[0]) not in folders:
            folders.add(folder)
    return frozenset(folders)


def group_by_stem(paths: Iterable[str]) -> Mapping[str, Collection[str]]:
    """Return paths grouped by the stem of their names in lower case."""
    paths_by_stem: dict[str, list[str]] = {}
    for path in sorted(paths):
        paths_by_stem.setdefault(path.rpartition("/")[2].rpartition(".")[0].lower(), []).append(path)
    return paths_by_stem
