"""What is kept of a document's links: those that may lead to another file of the repository.

One key for all the paths by which a link may name a file.

A destination may leave out an ending, or name the folder that a README stands for; which of these holds is
only known beside the other files (`workspace.links.resolving`). So what is alike but for them has one key
here, and a question for a key finds some links too many and none too few.

The links of long documents by the names that they may mean: a table of contents is read once.

It links to thousands of documents, and each of these asks for the few links that lead to it.
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

    from index.link_graph.store import Found
    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.link import Link

_LONGEST = max(map(len, ENDINGS))


_WIKI = "\0"  # is in no path


ANYTHING = 0


"""The key of a link that may mean any file."""


def keys_of_path(path: str) -> tuple[int, ...]:
    """The keys under which links to a file or folder are found: as a path, and as a wiki link's page."""
    return ANYTHING, _digest(_bare(path)), _digest(_WIKI + _page(path))


def keys_of_link(kind: LinkKind, destination: str, source: str, rules: LinkRules) -> Iterator[int]:
    """The keys of what a link in the document `source` may mean; none where nothing of the repository."""
    if kind is LinkKind.WIKI:
        yield _digest(_WIKI + _page(destination.partition("#")[0].strip()))
        return
    target = None if kind is LinkKind.AUTOLINK else read_target(destination, source, rules)
    if target is None or target.outside:
        return
    yield _digest(_bare(target.path))
    if target.literal is not None:
        yield _digest(_bare(target.literal))


def naming(path: str) -> Callable[[str], bool]:
    """A quick look at destinations: whether one may name a document, so that it is worth to be resolved."""
    names = names_meaning(path)
    # What is left of a name without its endings begins it; to take them off takes longer than this look.
    begins = tuple(names - {""})

    def may_name(destination: str) -> bool:
        last, is_odd = _last_of(destination)
        if not is_odd and last and not last.startswith(begins):
            return False
        return is_odd or _without_endings(last) in names

    return may_name


def names_meaning(path: str) -> frozenset[str]:
    """Return what `name_in` gives for destinations that may name a document."""
    *folders, name = path.lower().split("/")
    stem = _without_endings(name)
    return frozenset({"", ".", "..", stem, *(folders[-1:] if stem in INDEX_STEMS else ())})


def name_in(destination: str) -> str | None:
    """Return the name that a destination ends with, in lower case and without endings.

    None where it is written so oddly that it may be any name.
    """
    last, is_odd = _last_of(destination)
    return None if is_odd else _without_endings(last)


def _last_of(destination: str) -> tuple[str, bool]:
    """Return the last part of a destination's path in lower case, and whether it is written oddly."""
    written = destination.partition("#")[0].partition("?")[0]
    last = written.rstrip("/").rpartition("/")[2].lower()
    return last, "%" in last or last != last.strip() or not written.isprintable()


def _bare(path: str) -> str:
    """Return a path without endings, and without the names of files that stand for their folder."""
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
    """Return the last part of a path in lower case, without an ending."""
    return _without_endings(path.rstrip("/").rpartition("/")[2]).lower()


def _digest(key: str) -> int:
    """Return a key as a number of 63 bits, which is what SQLite's integers can hold of it."""
    data = key.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1


LONGEST = 4_096


"""Characters of a destination that are kept. A document with a longer one may link to anything."""


_KINDS = {kind.value: kind for kind in LinkKind}


class Reference(NamedTuple):
    """A link as the graph remembers it: the key of the section that it stands in (None: of none), its line
    from 1, what it is, and its destination as `Link.destination` says it."""

    section: str | None
    line: int
    kind: LinkKind
    is_image: bool
    destination: str


class Record(NamedTuple):
    """A document's links, in order of place; if `is_open`, not all of them, and it may link anywhere."""

    references: tuple[Reference, ...] = ()
    is_open: bool = False

    def keys(self, source: str, rules: LinkRules) -> frozenset[int]:
        """Return the keys of all that the links of the document `source` may mean."""
        found = {ANYTHING} if self.is_open else set()
        for destination, kind in {(item.destination, item.kind) for item in self.references}:
            found.update(keys_of_link(kind, destination, source, rules))
        return frozenset(found)

    def written(self) -> bytes:
        """Return the record as bytes."""
        rows = [
            [item.section, item.line, item.kind.value, item.is_image, item.destination]
            for item in self.references
        ]
        return json.dumps([self.is_open, rows], separators=(",", ":")).encode()

    @classmethod
    def read(cls, data: bytes) -> Record:
        """Return the record that was written. Raises ValueError."""
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


OPEN = Record(is_open=True)


"""The record of a document that could not be read."""


def reference(document: Document, link: Link) -> Reference:
    """Return what is kept of a link in a document."""
    section = document.section_at(link.start)
    key = section.key if section else None
    return Reference(key, link.line, link.kind, link.is_image, link.destination)


def record_of(document: Document, rules: LinkRules) -> Record:
    """Return what is kept of a document."""
    from workspace.links.reader import read_cached_links

    references: list[Reference] = []
    is_open = False
    for link in read_cached_links(document, wiki=rules.wiki).links:
        if not _may_leave(link.destination, link.kind):
            continue
        if len(link.destination) > LONGEST:
            is_open = True
            continue
        references.append(reference(document, link))
    return Record(_local(references, document.path, rules), is_open)


def _may_leave(destination: str, kind: LinkKind) -> bool:
    """Return True if a link may lead to another file; what stays in its document is known from that."""
    return kind is not LinkKind.AUTOLINK and not destination.startswith(("#", "https://", "http://"))


def _local(references: Iterable[Reference], source: str, rules: LinkRules) -> tuple[Reference, ...]:
    known: dict[tuple[LinkKind, str], bool] = {}
    kept: list[Reference] = []
    for item in references:
        what = (item.kind, item.destination)
        if what not in known:
            known[what] = any(True for _ in keys_of_link(item.kind, item.destination, source, rules))
        if known[what]:
            kept.append(item)
    return tuple(kept)


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
        """Return a document's links, of a long one only those that may lead to a path.

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
