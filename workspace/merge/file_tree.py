"""The files after a merge, with which links are resolved before the commit."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.git.objects import SUBMODULE_MODE, TreeEntry
from workspace.git.trees import WholeEntry, walk_tree
from workspace.links.file_tree import group_by_stem
from workspace.snapshot.snapshot import DocumentNotFound, check_lfs_pointer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.merge.trees import Merge


class MergedFileTree:
    """The files of our side after the changes of a merge, with the settings of our side."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._ours = merge.ours
        self._documents: dict[str, Document | None] = {}
        self._removed_paths = {path for path, change in merge.changes.items() if change == WholeEntry(None)}
        # The names of changed entries in each folder, after the merge.
        self._changed_names: dict[str, set[str]] = {}
        self._reduced_folders = {
            folder for path in self._removed_paths for folder in _list_ancestor_folders(path)
        }
        for path in merge.changes.keys() - self._removed_paths:
            for folder in _list_ancestor_folders(path):
                self._changed_names.setdefault(folder, set()).add(
                    path[len(folder) :].lstrip("/").partition("/")[0]
                )

    @property
    def rules(self) -> LinkRules:
        """The rules by which links are read."""
        return self._ours.config.links

    @cached_property
    def paths_by_stem(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents, grouped by the stem of their names in lower case."""
        changed_paths = {path for path in self._merge.changes if self._is_document(path)}
        return group_by_stem((self._ours.documents.keys() - self._removed_paths) | changed_paths)

    def exists(self, path: str) -> bool:
        """Return True if an entry is at a path; "" is the root."""
        if not path or path in self._changed_names:
            return True
        change = self._merge.changes.get(path)
        if change is not None and change != WholeEntry(None):
            return True
        entry = self._ours.entry(path)
        if entry is None or (change is not None and not entry.is_tree):
            return False
        if not entry.is_tree or path not in self._reduced_folders:
            return True
        # Git does not store empty folders.
        return any(
            f"{path}/{inner_path}" not in self._removed_paths
            for inner_path, _ in walk_tree(self._ours.git, entry.id)
        )

    def is_folder(self, path: str) -> bool:
        """Return True if a folder or a submodule is at a path."""
        if not path or path in self._changed_names:
            return True
        entry = self._merge.entry(path)
        if entry is None or isinstance(entry, bytes):
            return False
        return entry.mode == SUBMODULE_MODE or (entry.is_tree and self.exists(path))

    def list_names(self, folder: str) -> Collection[str]:
        """Return the names in a folder."""
        entry = self._ours.entry(folder) if folder else None
        tree = entry.id if entry and entry.is_tree else None if folder else self._ours.tree
        names = {item.name for item in self._ours.git.tree(tree)} if tree else set()
        prefix = f"{folder}/" if folder else ""
        if folder in self._reduced_folders:
            names = {name for name in names if self.exists(prefix + name)}
        return names | self._changed_names.get(folder, set())

    def document(self, path: str) -> Document | None:
        """Return the document at a path; None if the path has no readable document."""
        if path not in self._documents:
            self._documents[path] = self._read(path)
        return self._documents[path]

    def _read(self, path: str) -> Document | None:
        if not self._is_document(path):
            return None
        merged_entry = self._merge.entry(path)
        try:
            for side in (self._ours, self._merge.theirs):
                entry = side.entry(path)
                if isinstance(merged_entry, TreeEntry) and entry is not None and entry.id == merged_entry.id:
                    return side.document(path)  # the snapshot caches the parsed document
            data = self._merge.read(path)
            assert data is not None
            self._ours.config.limits.check_document(path, len(data))
            check_lfs_pointer(path, data)
        except (LimitExceeded, DocumentNotFound):
            return None
        # Imported here because a server answers its first requests without parsing a document.
        from workspace.document.document import Document

        return Document.parse(data, path)

    def _is_document(self, path: str) -> bool:
        entry = self._merge.entry(path) if self._ours.config.is_document(path) else None
        return isinstance(entry, bytes) or (entry is not None and entry.is_blob)


def _list_ancestor_folders(path: str) -> list[str]:
    """Return the folders above a path, including the root."""
    names = path.split("/")[:-1]
    return ["/".join(names[:depth]) for depth in range(len(names) + 1)]
