"""The builder of segments: a few documents at a time, so that memory stays bounded for any corpus."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from index.building.inversion import Inversion
from index.documents import IndexedDocument, UnreadableDocument
from index.segments.segment import Segment, TableBuilder

MAX_POSTINGS = 6_000_000
"""When this number of postings is in memory, the segment is finished and a new one is begun."""


class BuiltSegments(NamedTuple):
    """Uncommitted segments, and the documents that Git could not read, with their blobs."""

    segments: tuple[Segment, ...]
    unreadable: Mapping[str, str]


class SegmentBuilder:
    """A builder of segments from documents in ascending order of path.

    Without a folder, the segments stay in memory.
    """

    def __init__(self, folder: Path | None, durable: bool = False, max_postings: int = MAX_POSTINGS) -> None:
        self._folder = folder
        self._durable = durable
        self._max_postings = max_postings
        self._segments: list[Segment] = []
        self._last_path: str | None = None
        self._begin()

    def add(self, document: IndexedDocument) -> None:
        """Add a document. Raises ValueError if its path does not sort after the last one."""
        if self._last_path is not None and document.path <= self._last_path:
            raise ValueError(
                f"documents must be in ascending order of path ({document.path} after {self._last_path})"
            )
        self._last_path = document.path
        self._tables.add(document)
        self._inversion.add(document)
        if self._inversion.posting_count >= self._max_postings:
            self._flush()

    def finish(self) -> tuple[Segment, ...]:
        """Return the segments; empty without documents. Raises IndexUnwritable."""
        if len(self._tables):
            self._flush()
        return tuple(self._segments)

    def _begin(self) -> None:
        self._tables = TableBuilder()
        self._inversion = Inversion()

    def _flush(self) -> None:
        segment = Segment.of(self._tables.arrays(), self._inversion.finish())
        self._begin()
        self._segments.append(segment.save(self._folder, self._durable) if self._folder else segment)


def build_segments(
    documents: Iterable[IndexedDocument | UnreadableDocument],
    folder: Path | None = None,
    *,
    durable: bool = False,
    max_postings: int = MAX_POSTINGS,
) -> BuiltSegments:
    """Build segments of documents in ascending order of path. Raises IndexUnwritable."""
    builder = SegmentBuilder(folder, durable, max_postings)
    unreadable: dict[str, str] = {}
    with _pause_garbage_collection():
        for document in documents:
            if isinstance(document, UnreadableDocument):
                unreadable[document.path] = document.blob
            else:
                builder.add(document)
        return BuiltSegments(builder.finish(), unreadable)


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector: scanning the growing structures takes long, and they have no cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
