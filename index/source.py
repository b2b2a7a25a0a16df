"""The documents of a commit as pages, read from Git one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from index.page import Page, Unreadable
from workspace.config import LimitExceeded
from workspace.document import Document
from workspace.git import DamagedRepository
from workspace.snapshot import NotADocument, Snapshot, check_pointer
from workspace.workspace import Workspace


class GitSource:
    """A commit of a repository. Another process that is given one opens the repository for itself."""

    def __init__(self, folder: Path, snapshot: Snapshot) -> None:
        self._folder = folder
        self._snapshot: Snapshot | None = snapshot
        self.commit = snapshot.commit

    def paths(self) -> tuple[str, ...]:
        """Every document, in order."""
        return tuple(self._opened().documents)

    def pages(self, paths: Iterable[str]) -> Iterator[Page | Unreadable]:
        """Read some of the documents, in the order asked for."""
        snapshot = self._opened()
        for path in paths:
            yield page(snapshot, path, snapshot.documents[path])

    def _opened(self) -> Snapshot:
        if self._snapshot is None:
            self._snapshot = Workspace.open(self._folder, read_only=True).snapshot(self.commit)
        return self._snapshot

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_snapshot": None}


def page(snapshot: Snapshot, path: str, blob: str) -> Page | Unreadable:
    """Read one document; one that is too large, or a mere pointer, is a page without sections."""
    try:
        snapshot.config.limits.check_document(path, snapshot.git.blob_size(blob))
        data = snapshot.git.blob(blob)
        check_pointer(path, data)
        return Page.of(Document.parse(data, path), blob)
    except DamagedRepository:
        return Unreadable(path, blob)
    except (LimitExceeded, NotADocument):
        return Page(path, blob, "", {}, b"", ())
