"""A cache of arrays that are computed from an index's files, with a limit in bytes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from workspace.lru_cache import LRUCache

LIMIT = 64 << 20
"""The largest number of bytes that one index caches."""

_ENTRY = 1_000  # the approximate bytes of an entry without the data of its arrays


class ArrayCache(LRUCache[Hashable, Any]):
    """An LRU cache of values, limited by the bytes of their arrays."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Create a cache of at most `limit` bytes in all."""
        super().__init__(limit, array_bytes)


def array_bytes(value: object) -> int:
    """Return the approximate bytes of a value."""
    return _ENTRY + int(getattr(value, "nbytes", 0))
