"""What sections say, read from Git and remembered: neighbouring questions show sections of the same pages.

A blob's id decides its bytes, so nothing that is remembered can become wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from index.ranking.cache import array_bytes
from index.shown import Shown
from workspace.git import DamagedRepository
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from index.page import Record

REMEMBERED = 16_000_000
"""Bytes of blobs that are kept; those that were asked for last stay longest."""

READY = 8_000_000
"""Bytes of texts that are kept as hits show them."""


class Texts:
    """Stretches of blobs. Safe to use from threads.

    `read` gives a blob's bytes by its id; what it raises goes to whoever asked.
    """

    def __init__(self, read: Callable[[str], bytes], remembered: int = REMEMBERED) -> None:
        self._read = read
        self._blobs: LRUCache[str, memoryview] = LRUCache(remembered, array_bytes)
        self._shown: LRUCache[tuple[str, int, int], Shown] = LRUCache(READY, array_bytes)
        self._last: tuple[str, memoryview] = ("", memoryview(b""))

    def read(self, record: Record) -> bytes:
        """The Markdown of a section beside its heading; none if its blob was lost after it was indexed."""
        try:
            return self._read_section(record)
        except DamagedRepository:
            return b""

    def shown(self, record: Record) -> Shown:
        """The same as hits show it; what is not UTF-8 becomes U+FFFD."""
        try:
            return self._shown.get((record.blob, record.start, record.end), self._made, record)
        except DamagedRepository:
            return Shown("")

    def data(self, blob: str, start: int, end: int) -> bytes:
        """Give the bytes [start, end) of a blob."""
        last, data = self._last
        if last != blob:
            data = self._blobs.get(blob, lambda: memoryview(self._read(blob)))
            # The next question is often about the same page, which may be too large to be remembered.
            self._last = blob, data
        return bytes(data[start:end])

    def _read_section(self, record: Record) -> bytes:
        under = self.data(record.blob, record.body, record.end)
        if record.start == record.heading_start:
            return under
        return self.data(record.blob, record.start, record.heading_start) + under

    def _made(self, record: Record) -> Shown:
        return Shown(str(self._read_section(record), "utf-8", "replace"))
