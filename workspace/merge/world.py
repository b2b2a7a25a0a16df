"""The files after a merge, for resolving links; nothing needs to be committed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from workspace.errors import LimitExceeded
from workspace.git.objects import SUBMODULE_MODE, TreeEntry
from workspace.git.trees import WholeEntry, walk_tree
from workspace.links.world import group_by_stem
from workspace.snapshot.snapshot import DocumentNotFound, check_pointer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.merge.trees import Merge


class MergedWorld:
    """The files of ours with the changes of a merge. The settings are those of ours."""

    def __init__(self, merge: Merge) -> None:
        self._merge = merge
        self._ours = merge.ours
        self._documents: dict[str, Document | None] = {}
        self._gone = {path for path, change in merge.changes.items() if change == WholeEntry(None)}
        # What changes below each folder: the names that are there afterwards.
        self._named: dict[str, set[str]] = {}
        self._thinned = {above for path in self._gone for above in _list_parents(path)}
        for path in merge.changes.keys() - self._gone:
            for above in _list_parents(path):
                self._named.setdefault(above, set()).add(path[len(above) :].lstrip("/").partition("/")[0])

    @property
    def rules(self) -> LinkRules:
        """The rules of links."""
        return self._ours.config.links

    @cached_property
    def stems(self) -> Mapping[str, Collection[str]]:
        """Return the paths of all documents by the lower-case stem of their name."""
        made = {path for path in self._merge.changes if self._is_document(path)}
        return group_by_stem((self._ours.documents.keys() - self._gone) | made)

    def exists(self, path: str) -> bool:
        """Return True if there is an entry at a path; "" is the root."""
        if not path or path in self._named:
            return True
        change = self._merge.changes.get(path)
        if change is not None and change != WholeEntry(None):
            return True
        entry = self._ours.entry(path)
        if entry is None or (change is not None and not entry.is_tree):
            return False
        if not entry.is_tree or path not in self._thinned:
            return True
        # Git keeps no empty folders.
        return any(f"{path}/{below}" not in self._gone for below, _ in walk_tree(self._ours.git, entry.id))

    def is_folder(self, path: str) -> bool:
        """Return True if there is a folder or submodule at a path."""
        if not path or path in self._named:
            return True
        found = self._merge.entry(path)
        if found is None or isinstance(found, bytes):
            return False
        return found.mode == SUBMODULE_MODE or (found.is_tree and self.exists(path))

    def entries(self, folder: str) -> Collection[str]:
        """Return the names in a folder."""
        entry = self._ours.entry(folder) if folder else None
        tree = entry.id if entry and entry.is_tree else None if folder else self._ours.tree
        names = {item.name for item in self._ours.git.tree(tree)} if tree else set()
        prefix = f"{folder}/" if folder else ""
        if folder in self._thinned:
            names = {name for name in names if self.exists(prefix + name)}
        return names | self._named.get(folder, set())

    def document(self, path: str) -> Document | None:
        """Return the document of a path; None if it is not a document, or cannot be read."""
        if path not in self._documents:
            self._documents[path] = self._read(path)
        return self._documents[path]

    def _read(self, path: str) -> Document | None:
        if not self._is_document(path):
            return None
        found = self._merge.entry(path)
        try:
            for side in (self._ours, self._merge.theirs):
                entry = side.entry(path)
                if isinstance(found, TreeEntry) and entry is not None and entry.id == found.id:
                    return side.document(path)  # which is parsed once for all who look at it
            data = self._merge.read(path)
            assert data is not None
            self._ours.config.limits.check_document(path, len(data))
            check_pointer(path, data)
        except (LimitExceeded, DocumentNotFound):
            return None
        # Imported here because a server answers its first questions without reading a document.
        from workspace.document.document import Document

        return Document.parse(data, path)

    def _is_document(self, path: str) -> bool:
        found = self._merge.entry(path) if self._ours.config.is_document(path) else None
        return isinstance(found, bytes) or (found is not None and found.is_blob)


def _list_parents(path: str) -> list[str]:
    """Return the folders above a path, the root included."""
    names = path.split("/")[:-1]
    return ["/".join(names[:depth]) for depth in range(len(names) + 1)]
