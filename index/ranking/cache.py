"""A cache of arrays that are computed from an index's files, with a limit in bytes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from workspace.lru_cache import LRUCache

MAX_CACHED_BYTES = 64 << 20
"""The largest number of bytes that one index caches."""

_ENTRY_BYTES = 1_000  # the approximate bytes of an entry without the data of its arrays


class ArrayCache(LRUCache[Hashable, Any]):
    """An LRU cache of values, limited by the bytes of their arrays."""

    def __init__(self, limit: int = MAX_CACHED_BYTES) -> None:
        """Create a cache of at most `limit` bytes in total."""
        super().__init__(limit, estimate_bytes)


def estimate_bytes(value: object) -> int:
    """Return the approximate bytes of a value."""
    return _ENTRY_BYTES + int(getattr(value, "nbytes", 0))
