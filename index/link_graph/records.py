"""Records of a document's links: the links that may target another file of the repository.

All paths by which a link may name a file have one key. A destination may leave out an extension, or name the
folder of a README; which file it means depends on the other files (`workspace.links.resolver`). Paths that
differ only in this way have the same key, so that a lookup finds too many links rather than too few.

`LongRecordCache` groups the links of long documents by name, so that a table of contents with thousands of
links is parsed once.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, NamedTuple

from workspace.links.link import LinkKind
from workspace.links.resolver import DESTINATION_SUFFIXES, INDEX_STEMS, read_target
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from index.link_graph.store import LinkingDocument
    from workspace.config.tables import LinkRules
    from workspace.document.document import Document
    from workspace.links.link import Link

_MAX_ENDING_LENGTH = max(map(len, DESTINATION_SUFFIXES))
_WIKI_PREFIX = "\0"  # occurs in no path
ANY_FILE_KEY = 0
"""The key of a link that may mean any file."""


def make_path_keys(path: str) -> tuple[int, ...]:
    """Return the keys of links to a file or folder: of any file, of paths, and of wiki links."""
    return (
        ANY_FILE_KEY,
        _digest_key(_normalize_path(path)),
        _digest_key(_WIKI_PREFIX + _extract_page_name(path)),
    )


def make_link_keys(kind: LinkKind, destination: str, source: str, rules: LinkRules) -> Iterator[int]:
    """Yield the keys of a link in the document `source`; none for autolinks and outside targets."""
    if kind is LinkKind.WIKI:
        yield _digest_key(_WIKI_PREFIX + _extract_page_name(destination.partition("#")[0].strip()))
        return
    target = None if kind is LinkKind.AUTOLINK else read_target(destination, source, rules)
    if target is None or target.is_outside:
        return
    yield _digest_key(_normalize_path(target.path))
    if target.undecoded_path is not None:
        yield _digest_key(_normalize_path(target.undecoded_path))


def make_name_test(path: str) -> Callable[[str], bool]:
    """Return a fast predicate: True if a destination may name a document, so that it must be resolved."""
    names = find_matching_names(path)
    # A name begins with its stem, and a comparison of beginnings is faster than the removal of endings.
    stems = tuple(names - {""})

    def may_name(destination: str) -> bool:
        last_part, is_unusual = _extract_last_part(destination)
        if not is_unusual and last_part and not last_part.startswith(stems):
            return False
        return is_unusual or _remove_endings(last_part) in names

    return may_name


def find_matching_names(path: str) -> frozenset[str]:
    """Return the results of `extract_destination_name` for destinations that may name a document."""
    *folders, name = path.lower().split("/")
    stem = _remove_endings(name)
    return frozenset({"", ".", "..", stem, *(folders[-1:] if stem in INDEX_STEMS else ())})


def extract_destination_name(destination: str) -> str | None:
    """Return the last name of a destination, in lower case and without extensions.

    Returns None if its spelling is unusual, so that it may be any name.
    """
    last_part, is_unusual = _extract_last_part(destination)
    return None if is_unusual else _remove_endings(last_part)


def _extract_last_part(destination: str) -> tuple[str, bool]:
    """Return the last part of a destination's path in lower case, and True if its spelling is unusual."""
    path = destination.partition("#")[0].partition("?")[0]
    last_part = path.rstrip("/").rpartition("/")[2].lower()
    return last_part, "%" in last_part or last_part != last_part.strip() or not path.isprintable()


def _normalize_path(path: str) -> str:
    """Return a path without extensions, and without a file name that means its folder, such as README."""
    while True:
        shorter_path = _remove_endings(path)
        folder, _, name = shorter_path.rpartition("/")
        if name.lower() in INDEX_STEMS:
            shorter_path = folder
        if shorter_path == path:
            return path
        path = shorter_path


def _remove_endings(path: str) -> str:
    end = len(path)
    while True:
        tail = path[max(0, end - _MAX_ENDING_LENGTH) : end].lower()
        ending = next((ending for ending in DESTINATION_SUFFIXES if tail.endswith(ending)), None)
        if ending is None:
            return path[:end]
        end -= len(ending)


def _extract_page_name(path: str) -> str:
    """Return the last part of a path in lower case, without an extension."""
    return _remove_endings(path.rstrip("/").rpartition("/")[2]).lower()


def _digest_key(key: str) -> int:
    """Return a key as a number of 63 bits, which fits SQLite's integers."""
    data = key.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest()) >> 1


MAX_DESTINATION_LENGTH = 4_096
"""The largest number of characters of a stored destination.

A document with a longer one is treated as if it may link to any file.
"""

_KIND_BY_VALUE = {kind.value: kind for kind in LinkKind}


class Reference(NamedTuple):
    """A link in the graph: its section's key, line, kind and destination.

    The key is None outside sections, lines count from 1, and `destination` is `Link.destination`.
    """

    section: str | None
    line: int
    kind: LinkKind
    is_image: bool
    destination: str


class LinkRecord(NamedTuple):
    """The links of a document that may target other files, in document order.

    If `may_link_to_any_file` is True, the document may link to any file.
    """

    references: tuple[Reference, ...] = ()
    may_link_to_any_file: bool = False

    def keys(self, source: str, rules: LinkRules) -> frozenset[int]:
        """Return the keys of all links of the document `source`."""
        keys = {ANY_FILE_KEY} if self.may_link_to_any_file else set()
        for destination, kind in {(item.destination, item.kind) for item in self.references}:
            keys.update(make_link_keys(kind, destination, source, rules))
        return frozenset(keys)

    def to_bytes(self) -> bytes:
        """Serialize the record."""
        rows = [
            [item.section, item.line, item.kind.value, item.is_image, item.destination]
            for item in self.references
        ]
        return json.dumps([self.may_link_to_any_file, rows], separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> LinkRecord:
        """Parse a serialized record. Raises ValueError."""
        may_link_to_any_file, rows = json.loads(data)
        try:
            return cls(
                tuple(
                    Reference(section, line, _KIND_BY_VALUE[kind], is_image, destination)
                    for section, line, kind, is_image, destination in rows
                ),
                may_link_to_any_file,
            )
        except KeyError as error:
            raise ValueError(f"unknown kind of link {error}") from error


ANY_FILE_RECORD = LinkRecord(may_link_to_any_file=True)
"""The record of a document that is unreadable or too large."""


def make_reference(document: Document, link: Link) -> Reference:
    """Return the reference for a link in a document."""
    section = document.section_at(link.start)
    key = section.key if section else None
    return Reference(key, link.line, link.kind, link.is_image, link.destination)


def make_record(document: Document, rules: LinkRules) -> LinkRecord:
    """Return the record of a document."""
    from workspace.links.reader import read_cached_links

    references: list[Reference] = []
    may_link_to_any_file = False
    for link in read_cached_links(document, wiki=rules.wiki).links:
        if not _may_target_other_file(link.destination, link.kind):
            continue
        if len(link.destination) > MAX_DESTINATION_LENGTH:
            may_link_to_any_file = True
            continue
        references.append(make_reference(document, link))
    return LinkRecord(_select_repository_references(references, document.path, rules), may_link_to_any_file)


def _may_target_other_file(destination: str, kind: LinkKind) -> bool:
    """Return True if a link may target another file; links within a document need no record."""
    return kind is not LinkKind.AUTOLINK and not destination.startswith(("#", "https://", "http://"))


def _select_repository_references(
    references: Iterable[Reference], source: str, rules: LinkRules
) -> tuple[Reference, ...]:
    in_repository_by_target: dict[tuple[LinkKind, str], bool] = {}
    selected_references: list[Reference] = []
    for item in references:
        target = (item.kind, item.destination)
        if target not in in_repository_by_target:
            in_repository_by_target[target] = any(
                True for _ in make_link_keys(item.kind, item.destination, source, rules)
            )
        if in_repository_by_target[target]:
            selected_references.append(item)
    return tuple(selected_references)


MIN_LONG_RECORD_REFERENCES = 200
"""The number of references from which a record is cached; a shorter record is parsed fast enough."""

MAX_CACHED_REFERENCES = 60_000
"""The largest number of cached references of all records, of about 400 bytes each."""

RecordKey = tuple[str, str, str]
"""The link rules, the path and the blob of a document."""


class LongRecordCache:
    """A cache of long records by rules, path and blob. Safe to use from threads."""

    def __init__(self, max_references: int = MAX_CACHED_REFERENCES) -> None:
        self._cache: LRUCache[RecordKey, _ReferencesByName] = LRUCache(max_references, lambda item: item.size)

    def __contains__(self, key: object) -> bool:
        return key in self._cache

    def select_likely(
        self, rules: str, path: str, read: Callable[[str, str], LinkRecord], document: LinkingDocument
    ) -> LinkRecord:
        """Return a document's links; for a long document, only those that may target a path.

        `read` reads a record again by path and blob, because a cached record may have been evicted.
        """
        key = (rules, document.path, document.blob)
        references = self._cache.find(key)
        if references is None:
            record = (
                LinkRecord.from_bytes(document.record)
                if document.record
                else read(document.path, document.blob)
            )
            if len(record.references) < MIN_LONG_RECORD_REFERENCES:
                return record
            references = _ReferencesByName(record)
            self._cache.put(key, references)
        return references.select_likely(path)


class _ReferencesByName:
    """The references of a record by the last name of the destination; unusual spellings have the key None."""

    def __init__(self, record: LinkRecord) -> None:
        self._may_link_to_any_file = record.may_link_to_any_file
        self.size = len(record.references)
        self._by_name: dict[str | None, list[tuple[int, Reference]]] = {}
        for position, item in enumerate(record.references):
            self._by_name.setdefault(extract_destination_name(item.destination), []).append((position, item))

    def select_likely(self, path: str) -> LinkRecord:
        references: list[tuple[int, Reference]] = []
        for name in (None, *find_matching_names(path)):
            references += self._by_name.get(name, ())
        return LinkRecord(
            tuple(item for _, item in sorted(references, key=lambda item: item[0])),
            self._may_link_to_any_file,
        )
