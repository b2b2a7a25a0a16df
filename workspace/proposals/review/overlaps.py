"""The sections that a change touches, and the overlaps of two changes.

Two changes overlap if both touch the same section or front matter key. They overlap if one removed or moved a
section and the other touched a section below it. They also overlap if one touched a document or file as a
whole, and the other touched any part of it. A document is touched as a whole if it was added, removed or
moved, or was not compared by sections.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.changes import ChangeKind
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workspace.diff.changes import DocumentChange, PartVersion
    from workspace.document.document import Document
    from workspace.proposals.review.changes import CommitChanges
    from workspace.snapshot.snapshot import Snapshot

_TAKES_ALL = (ChangeKind.REMOVED, ChangeKind.MOVED)
Address = tuple[str, str | None]
"""A path, and the key of a section in it, or None for the document or file itself."""


class TouchedSections(NamedTuple):
    """The files, sections and keys that a change touches.

    `sections` are addresses, without those of front matter. `with_below` are the sections that were removed
    or moved with all sections below them. `within` has the ancestors of each section. `wholes` are the paths
    of files that are touched as a whole, and `keys` are keys of front matter by path.
    """

    wholes: frozenset[str]
    sections: frozenset[tuple[str, str]]
    with_below: frozenset[tuple[str, str]]
    within: dict[tuple[str, str], tuple[str, ...]]
    keys: frozenset[tuple[str, str]]

    @property
    def addresses(self) -> frozenset[Address]:
        """Every touched address; a document with a touched key counts by itself."""
        paths = self.wholes.union(path for path, _ in self.keys)
        return frozenset([*((path, None) for path in paths), *self.sections])

    @property
    def paths(self) -> frozenset[str]:
        """The path of every touched address."""
        return frozenset(path for path, _ in self.addresses)


def find_touched_sections(changes: CommitChanges, old: Snapshot, new: Snapshot) -> TouchedSections:
    """Return the sections that changes touch.

    `old` and `new` are the commits before and after the changes. Raises DamagedRepository.
    """
    wholes = set(changes.files)
    keys: set[tuple[str, str]] = set()
    with_below: set[tuple[str, str]] = set()
    within: dict[tuple[str, str], tuple[str, ...]] = {}
    for change in changes.documents:
        if change.is_whole or change.old_path != change.path or not change.sections:
            wholes |= {end for end in (change.path, change.old_path) if end is not None}
            continue
        for snapshot, place, kind in _list_places(change, old, new):
            if kind is ChangeKind.METADATA:
                keys.add((place.path, place.address))
                continue
            key = place.address.rpartition("[")[0] if kind.startswith("task_") else place.address
            address = place.path, key
            within[address] = _list_parents(_read_document(snapshot, place.path), key)
            if kind in _TAKES_ALL:
                with_below.add(address)
    return TouchedSections(
        frozenset(wholes), frozenset(within), frozenset(with_below), within, frozenset(keys)
    )


def find_common_addresses(one: TouchedSections, other: TouchedSections) -> tuple[str, ...]:
    """Return the sorted addresses that both changes touch, in the form that a link has in `one`."""
    their_paths = other.paths
    found = {path for path in one.wholes if path in their_paths}
    found |= {path for path, _ in one.keys & other.keys}
    found |= {path for path, _ in one.keys if path in other.wholes}
    theirs_within = {(path, above) for (path, _), ancestors in other.within.items() for above in ancestors}
    for address in one.sections:
        path, key = address
        overlaps = (
            path in other.wholes
            or address in other.sections
            or (address in one.with_below and address in theirs_within)
            or any((path, above) in other.with_below for above in one.within[address])
        )
        if overlaps:
            found.add(f"{path}#{key}")
    return tuple(sorted(found))


def _list_places(
    change: DocumentChange, old: Snapshot, new: Snapshot
) -> Iterator[tuple[Snapshot, PartVersion, ChangeKind]]:
    for section_change in change.sections:
        for snapshot, place in ((old, section_change.before), (new, section_change.after)):
            if place is not None:
                yield snapshot, place, section_change.kind


def _read_document(snapshot: Snapshot, path: str) -> Document | None:
    try:
        return snapshot.document(path)
    except WorkspaceError:  # an unreadable document has no known ancestors
        return None


def _list_parents(document: Document | None, key: str) -> tuple[str, ...]:
    """Return the keys of a section's ancestors, innermost first."""
    section = document.section_by_key(key) if document else None
    found: list[str] = []
    while document is not None and section is not None and section.parent is not None:
        section = document.sections[section.parent]
        found.append(section.key)
    return tuple(found)


class Overlap(NamedTuple):
    """Another open proposal, and the addresses that both touch, in the form of the first one.

    An address is `path.md#section`; `path.md` alone is the document as a whole, its front matter, or another
    file.
    """

    id: str
    title: str
    addresses: tuple[str, ...]
