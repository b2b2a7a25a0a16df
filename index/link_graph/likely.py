"""The links of long documents by the names that they may mean: a table of contents is read once.

It links to thousands of documents, and each of these asks for the few links that lead to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from index.link_graph.records import Record
from index.link_graph.spelled import name_in, names_meaning
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from index.link_graph.records import Reference
    from index.link_graph.store import Found

LONG = 200
"""References of a record that is worth to be kept; shorter ones are read faster than they are kept."""

MOST = 60_000
"""References that are kept in all, of some 400 bytes each."""

Key = tuple[str, str, str]


class LongRecords:
    """Long records by rules, path and blob. Safe between threads."""

    def __init__(self, most: int = MOST) -> None:
        self._cache: LRUCache[Key, _ByName] = LRUCache(most, lambda one: one.size)

    def __contains__(self, key: object) -> bool:
        return key in self._cache

    def likely(self, rules: str, path: str, read: Callable[[str, str], Record], found: Found) -> Record:
        """A document's links, of a long one only those that may lead to a path.

        `read` reads those of a path and a blob anew: one that was cached a moment ago may have gone.
        """
        key = (rules, found.path, found.blob)
        long = self._cache.find(key)
        if long is None:
            record = Record.read(found.record) if found.record else read(found.path, found.blob)
            if len(record.references) < LONG:
                return record
            long = _ByName(record)
            self._cache.put(key, long)
        return long.likely(path)


class _ByName:
    """The references of a record by the name that each ends with; None has those of which it is not plain."""

    def __init__(self, record: Record) -> None:
        self._is_open = record.is_open
        self.size = len(record.references)
        self._places: dict[str | None, list[tuple[int, Reference]]] = {}
        for place, item in enumerate(record.references):
            self._places.setdefault(name_in(item.destination), []).append((place, item))

    def likely(self, path: str) -> Record:
        found: list[tuple[int, Reference]] = []
        for name in (None, *names_meaning(path)):
            found += self._places.get(name, ())
        return Record(tuple(item for _, item in sorted(found, key=lambda one: one[0])), self._is_open)
