"""Overlays: documents as they would be, laid over a snapshot and committed by nobody yet."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from workspace.edits.operation import LimitExceeded
from workspace.errors import WorkspaceError
from workspace.paths import InvalidPath

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.document import Document
    from workspace.snapshot import Snapshot


class PathExists(WorkspaceError):
    """Something stands at this path already. `path` names it."""

    code = "PATH_EXISTS"


class Overlay:
    """What a batch has done so far. Reads see it; the repository does not."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._documents: dict[str, Document | None] = {}

    def document(self, path: str) -> Document:
        """A document as the batch has left it. Raises DocumentNotFound."""
        if path in self._documents:
            document = self._documents[path]
            if document is None:
                raise self.snapshot.not_found(path)
            return document
        return self.snapshot.document(path)

    def put(self, document: Document) -> None:
        """Lays a document over its path. Raises LimitExceeded."""
        limit = self.snapshot.config.limits.document_bytes
        if len(document.data) > limit:
            raise LimitExceeded(
                f"{document.path} would be {len(document.data):,} bytes; a document holds at most {limit:,}",
                fix="Split it into several documents, or raise limits.document_bytes in docyard.toml.",
                limit=limit,
                actual=len(document.data),
            )
        self._documents[document.path] = document

    def create(self, document: Document) -> None:
        """Lays a new document over a free path. Raises PathExists, InvalidPath, LimitExceeded."""
        self._check_free(document.path)
        self.put(document)

    def remove(self, path: str) -> Document:
        """Takes a document away, and returns it."""
        document = self.document(path)
        self._documents[path] = None
        return document

    def changes(self) -> Mapping[str, bytes | None]:
        """The new bytes of each document that differs from the snapshot; None for one that is gone."""
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
                f"documents of this workspace are .md files{where} in folders that do not begin with a dot and are not excluded",
            )
        if self._documents.get(path) is not None or (
            path not in self._documents and self.snapshot.entry(path)
        ):
            raise PathExists(
                f"'{path}' already exists",
                fix=f'View it with view_document {{"file": "{path}"}} and change it with edit_document, or choose '
                "another title or folder.",
                path=path,
            )
        folder, _, name = path.rpartition("/")
        parts = folder.split("/") if folder else []
        for depth in range(1, len(parts) + 1):
            parent = "/".join(parts[:depth])
            entry = self.snapshot.entry(parent)
            if parent in self._documents or (entry and not entry.is_tree):
                raise PathExists(
                    f"'{parent}' is a file, not a folder", fix="Choose another folder.", path=parent
                )
        self._check_twin(folder, name)

    def _check_twin(self, folder: str, name: str) -> None:
        """Two names that differ only in case or in Unicode form are one file on many disks."""
        entry = self.snapshot.entry(folder) if folder else None
        tree = entry.id if entry else (self.snapshot.tree if not folder else None)
        if tree is None:
            return
        for other in self.snapshot.git.tree(tree):
            twin = f"{folder}/{other.name}" if folder else other.name
            if (
                other.name != name
                and _folded(other.name) == _folded(name)
                and self._documents.get(twin, True)
            ):
                raise PathExists(
                    f"'{twin}' already exists, and differs from '{name}' only in case or Unicode form",
                    fix="Change that document, or choose another title.",
                    path=twin,
                )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
