"""The files among which the links of a page are resolved: a commit's, of which only so much is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.links.world import OverlayWorld

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

# A document that a fragment leads to is read to see whether it has the place.
MAX_READ_BYTES = 500_000


class PageWorld(OverlayWorld):
    """The files of a snapshot. Past the limit documents are not opened, and no fragment is looked for."""

    def __init__(self, snapshot: Snapshot, own: Document | None = None) -> None:
        super().__init__(snapshot)
        self._commit, self._own = snapshot, own
        self._opened: dict[str, Document | None] = {}
        self._bytes_left = MAX_READ_BYTES

    def is_document(self, path: str) -> bool:
        """Whether a path is that of a document, which the page shows rendered."""
        if self._own is not None and path == self._own.path:
            return True
        entry = self._commit.entry(path)
        return entry is not None and entry.is_blob and self._commit.config.is_document(path)

    def document(self, path: str) -> Document | None:
        """The document of a path; None for what is none, cannot be read, or is past the limit."""
        if self._own is not None and path == self._own.path:
            return self._own
        if path not in self._opened:
            self._opened[path] = super().document(path) if self._may_open(path) else None
        return self._opened[path]

    def _may_open(self, path: str) -> bool:
        entry = self._commit.entry(path)
        if entry is None or not entry.is_blob:
            return False
        size = self._commit.git.blob_size(entry.id)
        if size > self._bytes_left:
            return False
        self._bytes_left -= size
        return True
