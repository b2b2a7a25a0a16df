"""Records of a document's links: the links that may lead to another file of the repository.

All paths by which a link may name a file have one key. A destination may leave out an extension, or name the
folder of a README. Which of these is meant depends on the other files (`workspace.links.resolve`). Paths that
differ only in this way share a key, so a lookup finds too many links rather than too few.

`LongRecords` groups the links of long documents by name, so that a table of contents with thousands of links
is read once.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from workspace.links.link import LinkKind
from workspace.links.resolver import ENDINGS, INDEX_STEMS, read_target
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from index.link_graph.store import LinkingDocument
    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.link import Link

_LONGEST = max(map(len, ENDINGS))
_WIKI = "\0"  # is in no path
ANYTHING = 0
"""The key of a link that may mean any file."""


def path_keys(path: str) -> tuple[int, ...]:
    """Return the keys of links to a file or folder: as a path, and as a wiki link's page."""
    return ANYTHING, _digest(_bare(path)), _digest(_WIKI + _page(path))


def link_keys(kind: LinkKind, destination: str, source: str, rules: LinkRules) -> Iterator[int]:
    """Return the keys of what a link in the document `source` may mean; none outside the repository."""
    if kind is LinkKind.WIKI:
        yield _digest(_WIKI + _page(destination.partition("#")[0].strip()))
        return
    target = None if kind is LinkKind.AUTOLINK else read_target(destination, source, rules)
    if target is None or target.outside:
        return
    yield _digest(_bare(target.path))
    if target.literal is not None:
        yield _digest(_bare(target.literal))


def make_name_test(path: str) -> Callable[[str], bool]:
    """Return a quick test of whether a destination may name a document and has to be resolved."""
    names = matching_names(path)
    # What is left of a name without its endings begins it; to take them off takes longer than this look.
    begins = tuple(names - {""})

    def may_name(destination: str) -> bool:
        last, is_odd = _last_part(destination)
        if not is_odd and last and not last.startswith(begins):
            return False
        return is_odd or _without_endings(last) in names

    return may_name


def matching_names(path: str) -> frozenset[str]:
    """Return the results of `destination_name` for destinations that may name a document."""
    *folders, name = path.lower().split("/")
    stem = _without_endings(name)
    return frozenset({"", ".", "..", stem, *(folders[-1:] if stem in INDEX_STEMS else ())})


def destination_name(destination: str) -> str | None:
    """Return the last name of a destination, in lower case and without extensions.

    Returns None if its spelling is so unusual that it may be any name.
    """
    last, is_odd = _last_part(destination)
    return None if is_odd else _without_endings(last)


def _last_part(destination: str) -> tuple[str, bool]:
    """Return the last part of a destination's path in lower case, and whether its spelling is unusual."""
    written = destination.partition("#")[0].partition("?")[0]
    last = written.rstrip("/").rpartition("/")[2].lower()
    return last, "%" in last or last != last.strip() or not written.isprintable()


def _bare(path: str) -> str:
    """Return a path without extensions, and without the names of files that represent their folder."""
    while True:
        shorter = _without_endings(path)
        folder, _, name = shorter.rpartition("/")
        if name.lower() in INDEX_STEMS:
            shorter = folder
        if shorter == path:
            return path
        path = shorter


def _without_endings(path: str) -> str:
    end = len(path)
    while True:
        tail = path[max(0, end - _LONGEST) : end].lower()
        ending = next((ending for ending in ENDINGS if tail.endswith(ending)), None)
        if ending is None:
            return path[:end]
        end -= len(ending)


def _page(path: str) -> str:
    """Return the last part of a path in lower case, without an extension."""
    return _without_endings(path.rstrip("/").rpartition("/")[2]).lower()


def _digest(key: str) -> int:
    """Return a key as a number of 63 bits, which fits SQLite's integers."""
    data = key.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1


LONGEST = 4_096
"""Characters of a destination that are kept. A document with a longer one may link to anything."""

_KINDS = {kind.value: kind for kind in LinkKind}


class Reference(NamedTuple):
    """A link in the graph: its section's key, line, kind and destination.

    The key is None outside sections, the line counts from 1, and the destination is that of
    `Link.destination`.
    """

    section: str | None
    line: int
    kind: LinkKind
    is_image: bool
    destination: str


class LinkRecord(NamedTuple):
    """A document's links in document order; if `is_open`, the list is incomplete and it may link anywhere."""

    references: tuple[Reference, ...] = ()
    is_open: bool = False

    def keys(self, source: str, rules: LinkRules) -> frozenset[int]:
        """Return the keys of everything that the links of the document `source` may mean."""
        found = {ANYTHING} if self.is_open else set()
        for destination, kind in {(item.destination, item.kind) for item in self.references}:
            found.update(link_keys(kind, destination, source, rules))
        return frozenset(found)

    def to_bytes(self) -> bytes:
        """Serialize the record."""
        rows = [
            [item.section, item.line, item.kind.value, item.is_image, item.destination]
            for item in self.references
        ]
        return json.dumps([self.is_open, rows], separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> LinkRecord:
        """Parse a serialized record. Raises ValueError."""
        is_open, rows = json.loads(data)
        try:
            return cls(
                tuple(
                    Reference(section, line, _KINDS[kind], is_image, destination)
                    for section, line, kind, is_image, destination in rows
                ),
                is_open,
            )
        except KeyError as error:
            raise ValueError(f"no link is a {error}") from error


OPEN = LinkRecord(is_open=True)
"""The record of a document that could not be read."""


def make_reference(document: Document, link: Link) -> Reference:
    """Return the reference for a link in a document."""
    section = document.section_at(link.start)
    key = section.key if section else None
    return Reference(key, link.line, link.kind, link.is_image, link.destination)


def make_record(document: Document, rules: LinkRules) -> LinkRecord:
    """Return the record of a document."""
    from workspace.links.reader import read_cached_links

    references: list[Reference] = []
    is_open = False
    for link in read_cached_links(document, wiki=rules.wiki).links:
        if not _may_leave(link.destination, link.kind):
            continue
        if len(link.destination) > LONGEST:
            is_open = True
            continue
        references.append(make_reference(document, link))
    return LinkRecord(_local(references, document.path, rules), is_open)


def _may_leave(destination: str, kind: LinkKind) -> bool:
    """Return True if a link may lead to another file; links within a document need no record."""
    return kind is not LinkKind.AUTOLINK and not destination.startswith(("#", "https://", "http://"))


def _local(references: Iterable[Reference], source: str, rules: LinkRules) -> tuple[Reference, ...]:
    known: dict[tuple[LinkKind, str], bool] = {}
    kept: list[Reference] = []
    for item in references:
        what = (item.kind, item.destination)
        if what not in known:
            known[what] = any(True for _ in link_keys(item.kind, item.destination, source, rules))
        if known[what]:
            kept.append(item)
    return tuple(kept)


LONG = 200
"""References of a record that is worth to be kept; shorter ones are read faster than they are kept."""

MOST = 60_000
"""References that are kept in all, of some 400 bytes each."""

Key = tuple[str, str, str]


class LongRecords:
    """Long records by rules, path and blob. Safe to use from threads."""

    def __init__(self, most: int = MOST) -> None:
        self._cache: LRUCache[Key, _ReferencesByName] = LRUCache(most, lambda one: one.size)

    def __contains__(self, key: object) -> bool:
        return key in self._cache

    def likely(
        self, rules: str, path: str, read: Callable[[str, str], LinkRecord], found: LinkingDocument
    ) -> LinkRecord:
        """Return a document's links; of a long document only those that may lead to a path.

        `read` reads a record by path and blob again, because a cached one may have been evicted.
        """
        key = (rules, found.path, found.blob)
        long = self._cache.find(key)
        if long is None:
            record = LinkRecord.from_bytes(found.record) if found.record else read(found.path, found.blob)
            if len(record.references) < LONG:
                return record
            long = _ReferencesByName(record)
            self._cache.put(key, long)
        return long.likely(path)


class _ReferencesByName:
    """The references of a record by the last name of each; None has those of unusual spelling."""

    def __init__(self, record: LinkRecord) -> None:
        self._is_open = record.is_open
        self.size = len(record.references)
        self._places: dict[str | None, list[tuple[int, Reference]]] = {}
        for place, item in enumerate(record.references):
            self._places.setdefault(destination_name(item.destination), []).append((place, item))

    def likely(self, path: str) -> LinkRecord:
        found: list[tuple[int, Reference]] = []
        for name in (None, *matching_names(path)):
            found += self._places.get(name, ())
        return LinkRecord(tuple(item for _, item in sorted(found, key=lambda one: one[0])), self._is_open)
