"""The documents of a commit as pages, read from Git one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from index.page import Page, Unreadable
from workspace.config import LimitExceeded
from workspace.document import Document
from workspace.git import DamagedRepository, GitReader
from workspace.snapshot import NotADocument, Snapshot, check_pointer


class GitSource:
    """A commit of a repository. Another process that is given one opens the repository for itself.

    What the commit holds is listed here once and goes with it, so that no other process walks its trees.
    """

    def __init__(self, folder: Path, snapshot: Snapshot) -> None:
        self._folder = folder
        self._git: GitReader | None = snapshot.git
        self._blobs = dict(snapshot.documents)
        self._most = snapshot.config.limits.document_bytes
        self.commit = snapshot.commit

    def paths(self) -> tuple[str, ...]:
        """Every document, in order."""
        return tuple(self._blobs)

    def pages(self, paths: Iterable[str]) -> Iterator[Page | Unreadable]:
        """Read some of the documents, in the order asked for."""
        if self._git is None:
            self._git = GitReader(self._folder)
        for path in paths:
            yield _page(self._git, self._most, path, self._blobs[path])

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_git": None}


def page(snapshot: Snapshot, path: str, blob: str) -> Page | Unreadable:
    """Read one document; one that is too large, or a mere pointer, is a page without sections."""
    return _page(snapshot.git, snapshot.config.limits.document_bytes, path, blob)


def _page(git: GitReader, most: int, path: str, blob: str) -> Page | Unreadable:
    try:
        data = git.blob_within(blob, most)
        if data is not None:
            check_pointer(path, data)
            return Page.of(Document.parse(data, path), blob)
    except DamagedRepository:
        return Unreadable(path, blob)
    except (LimitExceeded, NotADocument):
        pass
    return Page(path, blob, "", {}, b"", ())
