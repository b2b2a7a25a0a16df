"""Values that are derived from each document of a commit, such as its tasks, and cached by path and blob."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from workspace.errors import WorkspaceError
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from workspace.document.document import Document
    from workspace.snapshot.snapshot import Snapshot

_MAX_CACHED_DOCUMENTS = 100_000

T = TypeVar("T")

Progress = Callable[[int, int, str], None]
"""Receives the number of read documents, the number of all documents, and the name of the work."""


class DerivedDocuments(NamedTuple, Generic[T]):
    """The value of each document by path, in order, and the documents that could not be read."""

    values: Mapping[str, T]
    unreadable_paths: tuple[str, ...]


class DerivedValues(Generic[T]):
    """The values of documents, of which those of unchanged documents are not derived again. Thread-safe.

    `derive` returns the value of a document. A document for whose bytes `may_have_value` returns False is
    not parsed, and has the value `empty`. `label` is the name of the work.
    """

    def __init__(
        self,
        derive: Callable[[Document], T],
        may_have_value: Callable[[bytes], bool],
        empty: T,
        label: str,
    ) -> None:
        self._derive, self._may_have_value, self._empty, self._label = derive, may_have_value, empty, label
        self._cache: LRUCache[tuple[str, str], T] = LRUCache(_MAX_CACHED_DOCUMENTS)

    def read(self, snapshot: Snapshot, progress: Progress | None = None) -> DerivedDocuments[T]:
        """Return the values of all documents of a snapshot. Raises InvalidConfig, DamagedRepository."""
        values: dict[str, T] = {}
        unreadable_paths: list[str] = []
        documents = snapshot.documents
        for number, (path, blob) in enumerate(documents.items()):
            if progress and (path, blob) not in self._cache:
                progress(number, len(documents), self._label)
            try:
                values[path] = self._cache.get((path, blob), self._read_value, snapshot, path, blob)
            except WorkspaceError:
                unreadable_paths.append(path)
        return DerivedDocuments(values, tuple(unreadable_paths))

    def _read_value(self, snapshot: Snapshot, path: str, blob: str) -> T:
        snapshot.config.limits.check_document(path, snapshot.git.blob_size(blob))
        if not self._may_have_value(snapshot.git.blob(blob)):
            return self._empty
        return self._derive(snapshot.document(path))
