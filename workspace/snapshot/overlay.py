"""Overlays: uncommitted changes to the documents of a snapshot."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from workspace.errors import HintKind, SuggestionSource, WorkspaceError
from workspace.paths import InvalidPath, check_new_path, fold_name
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot


class PathExists(WorkspaceError):
    """A file or folder exists at this path. `path` names it."""

    code = "PATH_EXISTS"


class _Unread:
    """The bytes of a document, which is parsed on first use."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self._path = data, path

    @cached_property
    def read(self) -> Document:
        """The document."""
        # Imported here because a server answers its first questions without reading a document.
        from workspace.document.document import Document

        return Document.parse(self.data, self._path)


class Overlay:
    """The uncommitted state of a batch. Its reads see the changes; the repository does not."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._documents: dict[str, Document | _Unread | None] = {}
        self._moved: dict[str, str] = {}
        self._last: Document | None = None  # the last document of the snapshot, which is often read again

    def document(self, path: str) -> Document:
        """Return a document as the batch has left it. Raises DocumentNotFound."""
        if path in self._documents:
            document = self._documents[path]
            if document is None:
                now = self.find_moved_path(path)
                if now is not None:
                    raise DocumentNotFound(
                        f"'{path}' was moved to '{now}' by an earlier operation of this batch",
                        fix=f"Use '{now}'.",
                        candidates=[now],
                    )
                raise DocumentNotFound(
                    f"'{path}' was removed by an earlier operation of this batch",
                    fix="Leave this operation out.",
                )
            return document.read if isinstance(document, _Unread) else document
        return self._read_committed(path)

    def _read_committed(self, path: str) -> Document:
        if self._last is None or self._last.path != path:
            self._last = self.snapshot.document(path)
        return self._last

    def find(self, path: str) -> Document | None:
        """Return the document at a path, or None. Raises LimitExceeded, NotADocument."""
        try:
            return self.document(path)
        except DocumentNotFound:
            return None

    def copy(self) -> Overlay:
        """Return a copy of the overlay, so that a failed operation does not change this one."""
        copied = Overlay(self.snapshot)
        copied._documents = dict(self._documents)
        copied._moved = dict(self._moved)
        return copied

    def is_laid(self, path: str) -> bool:
        """Return True if the batch has touched a path."""
        return path in self._documents

    @property
    def written_paths(self) -> tuple[str, ...]:
        """The paths at which the batch has left a document."""
        return tuple(path for path, document in self._documents.items() if document is not None)

    def find_moved_path(self, path: str) -> str | None:
        """Return the new path of a document that the batch moved; None if it was removed."""
        seen: set[str] = set()
        while path in self._moved and path not in seen:
            seen.add(path)
            path = self._moved[path]
        return path if seen and self._documents.get(path) is not None else None

    def is_folder(self, path: str) -> bool:
        """Return True if a path is a folder, as the batch has left it."""
        inside = f"{path}/"
        if any(document and other.startswith(inside) for other, document in self._documents.items()):
            return True
        entry = self.snapshot.entry(path)
        return entry is not None and entry.is_tree and bool(self._names(path))

    def list_changed_paths(self, before: Overlay) -> tuple[str, ...]:
        """Return the paths that were written or removed since this overlay was copied from another."""
        unset = object()
        return tuple(
            path for path, item in self._documents.items() if before._documents.get(path, unset) is not item
        )

    def put(self, document: Document) -> None:
        """Lay a document over its path. Raises LimitExceeded."""
        path = document.path
        previous = self._documents.get(path)
        if isinstance(previous, _Unread):
            previous = previous.read
        elif path not in self._documents and self.snapshot.entry(path):
            previous = self._read_committed(path)
        self.snapshot.config.limits.check_written(document, previous)
        self._documents[path] = document

    def lay(self, path: str, data: bytes) -> None:
        """Lay the bytes of a document, already checked against the limits, over its path.

        They are parsed on first use, because thousands of parsed documents take ten times the memory.
        """
        self._documents[path] = _Unread(data, path)

    def create(self, document: Document) -> None:
        """Lay a new document over a free path. Raises PathExists, InvalidPath, LimitExceeded."""
        self._check_free(document.path)
        self.put(document)

    def remove(self, path: str) -> None:
        """Take a document away, however large it is. Raises DocumentNotFound, NotADocument."""
        if path in self._documents:
            self.document(path)
        else:
            self.snapshot.check_text(path)
        self._documents[path] = None

    def move(self, path: str, new_path: str) -> Document:
        """Move a document to a free path and return it.

        Another spelling of its own path is free, too. Raises DocumentNotFound, PathExists, InvalidPath,
        LimitExceeded for one that is too large to be read.
        """
        # Imported here because a server answers its first questions without reading a document.
        from workspace.document.document import Document

        document = self.document(path)
        without = self.copy()
        without._documents[path] = None
        without._check_free(new_path)
        moved = Document.parse(document.data, new_path)
        self._documents |= {path: None, new_path: moved}
        self._moved[path] = new_path
        return moved

    def changes(self) -> Mapping[str, bytes | None]:
        """Return the new bytes of each document that differs from the snapshot; None for a removed one."""
        changed: dict[str, bytes | None] = {}
        for path, document in self._documents.items():
            entry = self.snapshot.entry(path)
            if document is None:
                if entry is not None:
                    changed[path] = None
            elif entry is None or self.snapshot.git.blob(entry.id) != document.data:
                changed[path] = document.data
        return changed

    def _check_free(self, path: str) -> None:
        config = self.snapshot.config
        if not config.is_document(path):
            where = f" under '{config.root}'" if config.root else ""
            raise InvalidPath(
                path,
                f"documents are .md files{where}, in folders that are not excluded and begin with no dot",
            )
        if self._documents.get(path) is not None or (
            path not in self._documents and self.snapshot.entry(path)
        ):
            raise PathExists(
                f"'{path}' already exists",
                fix="Change that document, or choose another name or folder.",
                among=SuggestionSource(HintKind.SECTIONS, path),
                path=path,
            )
        check_new_path(path)
        if any(other.startswith(path + "/") and self._documents[other] for other in self._documents):
            raise PathExists(f"'{path}' is a folder", fix="Choose another name or folder.", path=path)
        self._check_folders(path)

    def _check_folders(self, path: str) -> None:
        """Raise an error if a parent of a path is not a folder, or collides with another name.

        Two names that differ only in case or in Unicode form are one file on many disks.
        """
        parts = path.split("/")
        for depth, name in enumerate(parts):
            folder = "/".join(parts[:depth])
            entry = self.snapshot.entry(folder) if folder else None
            if (entry and not entry.is_tree) or self._documents.get(folder):
                raise PathExists(
                    f"'{folder}' is a file, not a folder", fix="Choose another folder.", path=folder
                )
            key = fold_name(name)
            collision = next(
                (other for other in self._names(folder) if other != name and fold_name(other) == key), None
            )
            if collision is not None:
                shown = f"{folder}/{collision}" if folder else collision
                raise PathExists(
                    f"'{shown}' already exists, and differs from '{name}' only in case or Unicode form",
                    fix="Use that one, or choose another name or folder.",
                    path=shown,
                )

    def _names(self, folder: str) -> set[str]:
        """Return what a folder holds, as the batch has left it."""
        prefix = f"{folder}/" if folder else ""
        entry = self.snapshot.entry(folder) if folder else None
        tree = entry.id if entry else (None if folder else self.snapshot.tree)
        names = {other.name for other in self.snapshot.git.tree(tree)} if tree else set()
        for path, document in self._documents.items():
            if path.startswith(prefix):
                name, _, below = path.removeprefix(prefix).partition("/")
                if document is not None:
                    names.add(name)
                elif not below:
                    names.discard(name)
        return names
