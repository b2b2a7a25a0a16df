"""Worlds: the files that links are resolved among, at a commit, in a batch, or in a work tree."""

from __future__ import annotations

import os
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from workspace.config import LimitExceeded
from workspace.document import Document
from workspace.overlay import Overlay
from workspace.snapshot import NotADocument, check_pointer
from workspace.trees import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from workspace.config import WorkspaceConfig
    from workspace.links.rules import LinkRules
    from workspace.snapshot import Snapshot

_KEPT_DOCUMENTS = 64
_SUBMODULE_MODE = 0o160000


class OverlayWorld:
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
        """How links are read."""
        return self._snapshot.config.links

    @cached_property
    def stems(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents by the stem of their name, in lower case."""
        gone = {path for path, is_there in self._laid.items() if not is_there}
        added = [path for path, is_there in self._laid.items() if is_there]
        return by_stem(dict.fromkeys([*self._snapshot.documents, *added]).keys() - gone)

    def exists(self, path: str) -> bool:
        """Whether anything stands at a path; "" is the root."""
        if not path:
            return True
        return self._laid.get(path) is True or self._kind(path) is not None

    def is_folder(self, path: str) -> bool:
        """Whether a folder or submodule stands there."""
        return not path or (not self._laid.get(path) and self._kind(path) is True)

    def entries(self, folder: str) -> Collection[str]:
        """The names in a folder."""
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
        """The document of a path; None for what is no document, or one that cannot be read."""
        if path not in self._laid:
            entry = self._snapshot.entry(path)
            if entry is None or not entry.is_blob or not self._snapshot.config.is_document(path):
                return None
        try:
            return self._overlay.find(path)
        except LimitExceeded:
            return None

    def _kind(self, path: str) -> bool | None:
        """Whether what stands at a path that is not laid is a folder; None if nothing does."""
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
            self._laid.get(f"{folder}/{path}") is not False for path, _ in walk(self._snapshot.git, tree)
        )


def _folders_above(paths: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for path in paths:
        folder = path
        while folder and (folder := folder.rpartition("/")[0]) not in found:
            found.add(folder)
    return frozenset(found)


class FolderWorld:
    """The files of a folder as they lie on the disk: a work tree, or one that is in no repository.

    Names count letter case on every disk. Symbolic links are files, and are not followed.
    """

    def __init__(
        self,
        root: Path,
        config: WorkspaceConfig,
        documents: Iterable[str] | None = None,
        read: Callable[[str], Document | None] | None = None,
    ) -> None:
        """`documents` are the paths of all documents, `read` a reader of them where the caller has one."""
        self._root = root
        self._config = config
        self._documents = documents
        self._folders: dict[str, Mapping[str, bool]] = {}
        self.document = lru_cache(maxsize=_KEPT_DOCUMENTS)(read or self._read)

    @property
    def rules(self) -> LinkRules:
        """How links are read."""
        return self._config.links

    @cached_property
    def stems(self) -> Mapping[str, Collection[str]]:
        """The paths of all documents by the stem of their name, in lower case."""
        return by_stem(self._walk("") if self._documents is None else self._documents)

    def exists(self, path: str) -> bool:
        """Whether anything stands at a path; "" is the root."""
        return self._kind(path) is not None

    def is_folder(self, path: str) -> bool:
        """Whether a folder stands there."""
        return self._kind(path) is True

    def entries(self, folder: str) -> Collection[str]:
        """The names in a folder."""
        return self._listed(folder) if self._kind(folder) else ()

    def _kind(self, path: str) -> bool | None:
        """Whether what stands at a path is a folder; None if nothing does.

        Names are looked for in lists, as a disk that folds case finds a file under any of its spellings.
        """
        above, _, last = path.rpartition("/")
        if above in self._folders and path:
            return self._folders[above].get(last)
        kind, folder = True, ""
        for name in path.split("/") if path else ():
            found = self._listed(folder).get(name) if kind else None
            if found is None:
                return None
            kind, folder = found, f"{folder}/{name}" if folder else name
        return kind

    def _listed(self, folder: str) -> Mapping[str, bool]:
        """What a folder that is there holds, and which of it are folders."""
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = self._scanned(folder)
        return known

    def _scanned(self, folder: str) -> Mapping[str, bool]:
        try:
            with os.scandir(self._root / folder) as entries:
                found = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError:
            return {}
        found.pop(".git", None)
        return found

    def _walk(self, folder: str) -> Iterable[str]:
        for name, is_folder in self._listed(folder).items():
            path = f"{folder}/{name}" if folder else name
            if is_folder:
                yield from self._walk(path)
            elif self._config.is_document(path):
                yield path

    def _read(self, path: str) -> Document | None:
        file = self._root / path
        if self._kind(path) is not False or not self._config.is_document(path) or file.is_symlink():
            return None
        try:
            data = file.read_bytes()
            check_pointer(path, data)
            self._config.limits.check_document(path, len(data))
            return Document.parse(data, path)
        except (OSError, NotADocument, LimitExceeded):
            return None


def by_stem(paths: Iterable[str]) -> Mapping[str, Collection[str]]:
    """Paths by the stem of their name, in lower case."""
    found: dict[str, list[str]] = {}
    for path in sorted(paths):
        found.setdefault(path.rpartition("/")[2].rpartition(".")[0].lower(), []).append(path)
    return found
