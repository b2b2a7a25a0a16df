"""The builder of segments: a few pages at a time, so that memory stays bounded for any corpus."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from index.building.inversion import Inversion
from index.page import IndexedDocument, UnreadableDocument
from index.segments.segment import Segment, Tables

MAX_POSTINGS = 6_000_000
"""The number of postings in memory from which a segment is finished and a new one begun."""


class BuiltSegments(NamedTuple):
    """Uncommitted segments, and the documents that Git could not read, with their blobs."""

    segments: tuple[Segment, ...]
    unreadable: Mapping[str, str]


class Builder:
    """A builder of segments from pages in ascending order of path. Without a folder they stay in memory."""

    def __init__(self, folder: Path | None, durable: bool = False, limit: int = MAX_POSTINGS) -> None:
        self._folder = folder
        self._durable = durable
        self._limit = limit
        self._segments: list[Segment] = []
        self._last_path: str | None = None
        self._begin()

    def add(self, page: IndexedDocument) -> None:
        """Add a document. Raises ValueError if its path does not sort after the last one."""
        if self._last_path is not None and page.path <= self._last_path:
            raise ValueError(
                f"pages must be in ascending order of path ({page.path} after {self._last_path})"
            )
        self._last_path = page.path
        self._tables.add(page)
        self._inversion.add(page)
        if self._inversion.postings >= self._limit:
            self._flush()

    def finish(self) -> tuple[Segment, ...]:
        """Return the segments; empty without pages. Raises IndexUnwritable."""
        if len(self._tables):
            self._flush()
        return tuple(self._segments)

    def _begin(self) -> None:
        self._tables = Tables()
        self._inversion = Inversion()

    def _flush(self) -> None:
        segment = Segment.of(self._tables.arrays(), self._inversion.finish())
        self._begin()
        self._segments.append(segment.save(self._folder, self._durable) if self._folder else segment)


def build_segments(
    pages: Iterable[IndexedDocument | UnreadableDocument],
    folder: Path | None = None,
    *,
    durable: bool = False,
    limit: int = MAX_POSTINGS,
) -> BuiltSegments:
    """Build segments of documents in ascending order of path. Raises IndexUnwritable."""
    builder = Builder(folder, durable, limit)
    unreadable: dict[str, str] = {}
    with _pause_garbage_collection():
        for page in pages:
            if isinstance(page, UnreadableDocument):
                unreadable[page.path] = page.blob
            else:
                builder.add(page)
        return BuiltSegments(builder.finish(), unreadable)


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector, because the growing structures have no reference cycles."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
