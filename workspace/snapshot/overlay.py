"""Overlays: uncommitted changes to the documents of a snapshot."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from workspace.errors import SuggestionKind, SuggestionSource, WorkspaceError
from workspace.paths import InvalidPath, check_new_path, fold_name
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot


class PathExists(WorkspaceError):
    """An error: a file or folder already exists at this path. `path` is the path."""

    code = "PATH_EXISTS"


class _UnparsedDocument:
    """The bytes of a document that is parsed on first use."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self._path = data, path

    @cached_property
    def document(self) -> Document:
        """The parsed document."""
        # Imported late, because a server can answer its first calls without parsing a document.
        from workspace.document.document import Document

        return Document.parse(self.data, self._path)


class Overlay:
    """The uncommitted state of a batch. Reads include the batch's changes, which are not committed yet."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._documents: dict[str, Document | _UnparsedDocument | None] = {}
        self._files: dict[str, bytes] = {}  # new files that are not documents
        self._new_paths: dict[str, str] = {}
        # The last document read from the snapshot, which is often read again.
        self._last_document: Document | None = None

    def document(self, path: str) -> Document:
        """Return a document in the state of the batch.

        Raises DocumentNotFound, LfsTextMissing, LimitExceeded.
        """
        if path in self._documents:
            document = self._documents[path]
            if document is None:
                new_path = self.find_moved_path(path)
                if new_path is not None:
                    raise DocumentNotFound(
                        f"'{path}' was moved to '{new_path}' by an earlier operation of this batch",
                        fix=f"Use '{new_path}'.",
                        candidates=[new_path],
                    )
                raise DocumentNotFound(
                    f"'{path}' was removed by an earlier operation of this batch",
                    fix="Leave this operation out.",
                )
            return document.document if isinstance(document, _UnparsedDocument) else document
        return self._read_committed(path)

    def _read_committed(self, path: str) -> Document:
        if self._last_document is None or self._last_document.path != path:
            self._last_document = self.snapshot.document(path)
        return self._last_document

    def find(self, path: str) -> Document | None:
        """Return the document at a path; None without one, or for a pointer of Git LFS.

        Raises LimitExceeded.
        """
        try:
            return self.document(path)
        except DocumentNotFound:
            return None

    def copy(self) -> Overlay:
        """Return a copy of the overlay, so that a failed operation does not change this one."""
        overlay = Overlay(self.snapshot)
        overlay._documents = dict(self._documents)
        overlay._files = dict(self._files)
        overlay._new_paths = dict(self._new_paths)
        return overlay

    def has_changed(self, path: str) -> bool:
        """Return True if the batch has written or removed a document at a path."""
        return path in self._documents

    @property
    def written_paths(self) -> tuple[str, ...]:
        """The paths at which the batch has written a document."""
        return tuple(path for path, document in self._documents.items() if document is not None)

    def cache_documents(self) -> None:
        """Cache the parsed documents that the batch wrote, for the first reads of its commit."""
        for document in self._documents.values():
            if document is not None and not isinstance(document, _UnparsedDocument):
                self.snapshot.cache_document(document)

    def find_moved_path(self, path: str) -> str | None:
        """Return the new path of a document that the batch moved; None if it was removed or not moved."""
        visited: set[str] = set()
        while path in self._new_paths and path not in visited:
            visited.add(path)
            path = self._new_paths[path]
        return path if visited and self._documents.get(path) is not None else None

    def is_folder(self, path: str) -> bool:
        """Return True if a path is a folder in the state of the batch."""
        prefix = f"{path}/"
        if any(document and other.startswith(prefix) for other, document in self._documents.items()):
            return True
        entry = self.snapshot.entry(path)
        return entry is not None and entry.is_tree and bool(self._list_names(path))

    def list_changed_paths(self, before: Overlay) -> tuple[str, ...]:
        """Return the paths that were written or removed since this overlay was copied from `before`."""
        sentinel = object()
        return tuple(
            path
            for path, item in self._documents.items()
            if before._documents.get(path, sentinel) is not item
        )

    def put(self, document: Document) -> None:
        """Put a document at its path. Raises LimitExceeded."""
        path = document.path
        old_document = self._documents.get(path)
        if isinstance(old_document, _UnparsedDocument):
            old_document = old_document.document
        elif path not in self._documents and self.snapshot.entry(path):
            old_document = self._read_committed(path)
        self.snapshot.config.limits.check_written_document(document, old_document)
        self._documents[path] = document

    def put_bytes(self, path: str, data: bytes) -> None:
        """Put the bytes of a document at its path. The caller has checked the limits.

        The document is parsed on first use, because parsed documents take about ten times the memory.
        """
        self._documents[path] = _UnparsedDocument(data, path)

    def create(self, document: Document) -> None:
        """Put a new document at an unused path. Raises PathExists, InvalidPath, LimitExceeded."""
        self.check_path_is_free(document.path)
        self.put(document)

    def create_file(self, path: str, data: bytes) -> None:
        """Put a new file that is not a document at an unused path. Raises PathExists, InvalidPath.

        It may be in the folders in which files may be read: not in a hidden or an excluded folder.
        """
        config = self.snapshot.config
        if config.is_document(path) or not config.is_readable(path):
            location = f"under '{config.root}', " if config.root else ""
            raise InvalidPath(path, f"a file must be {location}in a folder that is not excluded or hidden")
        self._check_path_is_unused(path)
        self._files[path] = data

    def remove(self, path: str) -> None:
        """Remove a document of any size. Raises DocumentNotFound, LfsTextMissing."""
        if path in self._documents:
            self.document(path)
        else:
            self.snapshot.find_text_blob(path)
        self._documents[path] = None

    def move(self, path: str, new_path: str) -> Document:
        """Move a document to an unused path and return the moved document.

        The new path may differ from the old path only in case or Unicode form. Raises DocumentNotFound,
        PathExists, InvalidPath, and LimitExceeded for a document that is too large to read.
        """
        # Imported late, because a server can answer its first calls without parsing a document.
        from workspace.document.document import Document

        document = self.document(path)
        remaining_overlay = self.copy()
        remaining_overlay._documents[path] = None
        remaining_overlay.check_path_is_free(new_path)
        moved_document = Document.parse(document.data, new_path)
        self._documents |= {path: None, new_path: moved_document}
        self._new_paths[path] = new_path
        return moved_document

    def changes(self) -> Mapping[str, bytes | None]:
        """Return the new bytes of each file that differs from the snapshot; None if it was removed."""
        changed_bytes: dict[str, bytes | None] = dict(self._files)
        for path, document in self._documents.items():
            entry = self.snapshot.entry(path)
            if document is None:
                if entry is not None:
                    changed_bytes[path] = None
            elif entry is None or self.snapshot.git.blob(entry.id) != document.data:
                changed_bytes[path] = document.data
        return changed_bytes

    def check_path_is_free(self, path: str) -> None:
        """Raise InvalidPath or PathExists unless a new document can be put at a path."""
        config = self.snapshot.config
        if not config.is_document(path):
            location = f" under '{config.root}'" if config.root else ""
            raise InvalidPath(
                path,
                f"documents are .md or .markdown files{location}, in folders that are not excluded or hidden",
            )
        self._check_path_is_unused(path)

    def _check_path_is_unused(self, path: str) -> None:
        if (
            path in self._files
            or self._documents.get(path) is not None
            or (path not in self._documents and self.snapshot.entry(path))
        ):
            raise PathExists(
                f"'{path}' already exists",
                fix="Change that document, or choose another name or folder.",
                suggestion_source=SuggestionSource(SuggestionKind.SECTIONS, path),
                path=path,
            )
        check_new_path(path)
        paths = [*(other for other, document in self._documents.items() if document), *self._files]
        if any(other.startswith(path + "/") for other in paths):
            raise PathExists(f"'{path}' is a folder", fix="Choose another name or folder.", path=path)
        self._check_folders(path)

    def _check_folders(self, path: str) -> None:
        """Raise an error if a parent of a path is not a folder, or collides with another name.

        Many file systems treat two names that differ only in case or Unicode form as one file.
        """
        parts = path.split("/")
        for depth, name in enumerate(parts):
            folder = "/".join(parts[:depth])
            entry = self.snapshot.entry(folder) if folder else None
            if (entry and not entry.is_tree) or self._documents.get(folder) or folder in self._files:
                raise PathExists(
                    f"'{folder}' is a file, not a folder", fix="Choose another folder.", path=folder
                )
            folded_name = fold_name(name)
            collision = next(
                (
                    other
                    for other in self._list_names(folder)
                    if other != name and fold_name(other) == folded_name
                ),
                None,
            )
            if collision is not None:
                other_path = f"{folder}/{collision}" if folder else collision
                raise PathExists(
                    f"'{other_path}' already exists, and differs from '{name}' only in case or Unicode form",
                    fix="Use the existing name, or choose another name or folder.",
                    path=other_path,
                )

    def _list_names(self, folder: str) -> set[str]:
        """Return the names of the entries of a folder in the state of the batch."""
        prefix = f"{folder}/" if folder else ""
        entry = self.snapshot.entry(folder) if folder else None
        tree = entry.id if entry else (None if folder else self.snapshot.tree)
        names = {other.name for other in self.snapshot.git.tree(tree)} if tree else set()
        names |= {
            path.removeprefix(prefix).partition("/")[0] for path in self._files if path.startswith(prefix)
        }
        for path, document in self._documents.items():
            if path.startswith(prefix):
                name, _, path_below = path.removeprefix(prefix).partition("/")
                if document is not None:
                    names.add(name)
                elif not path_below:
                    names.discard(name)
        return names
