"""A cache of arrays made from an index's files, within a limit of bytes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from workspace.lru_cache import LRUCache

LIMIT = 64 << 20
"""The bytes that one index may cache."""

_ENTRY = 1_000  # about what an entry takes beside the numbers in its arrays


class ArrayCache(LRUCache[Hashable, Any]):
    """Values that count for the bytes of their arrays."""

    def __init__(self, limit: int = LIMIT) -> None:
        """Cache values of at most `limit` bytes in all."""
        super().__init__(limit, array_bytes)


def array_bytes(value: object) -> int:
    """Return about how many bytes a value takes."""
    return _ENTRY + int(getattr(value, "nbytes", 0))
