"""A comparison of trees as bytes: common entries are never parsed, which is ten times faster."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from workspace.git import objects
from workspace.git.objects import TreeEntry
from workspace.lru_cache import LRUCache

CACHED_ENTRIES = 50_000
"""The number of cached tree entries: a walk along a history reads each tree twice."""

_ROW = re.compile(rb"[0-7]+ [^\0]+\0.{20}", re.DOTALL)  # an entry in a tree's bytes
_FEW = 16


class _Rows(NamedTuple):
    """The entries of a tree as bytes, in Git's order, and the same entries as a set."""

    ordered: tuple[bytes, ...]
    distinct: frozenset[bytes]

    def subtract(self, others: frozenset[bytes]) -> tuple[TreeEntry, ...]:
        own = self.distinct - others
        if len(own) > _FEW:
            rows = [row for row in self.ordered if row in own]
        else:
            rows = sorted(own, key=self.ordered.index)
        return objects.parse_tree(b"".join(rows))


_EMPTY = _Rows((), frozenset())


class TreeComparison:
    """A comparison of trees by their entries. Safe in several threads.

    `read` returns the bytes of a tree by its id; its errors are raised to the caller.
    """

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._cache: LRUCache[str, _Rows] = LRUCache(CACHED_ENTRIES, lambda rows: len(rows.ordered))

    def compare(
        self, one: str | None, other: str | None
    ) -> tuple[tuple[TreeEntry, ...], tuple[TreeEntry, ...]]:
        """Return the entries that only one of the trees has, in Git's order; None means an empty tree."""
        left, right = (self._cache.get(id, self._read_rows, id) if id else _EMPTY for id in (one, other))
        return left.subtract(right.distinct), right.subtract(left.distinct)

    def _read_rows(self, id: str) -> _Rows:
        rows = tuple(_ROW.findall(self._read(id)))
        return _Rows(rows, frozenset(rows))
