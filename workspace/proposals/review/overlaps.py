"""The sections that a change touches, and the overlaps of two changes.

Two changes overlap if both touch the same section or front matter key. They also overlap if one change
removed or moved a section and the other touched a section below it. The third case: one change touched a
document or file as a whole, and the other touched any part of it. A document is touched as a whole if it was
added, removed or moved, or was not compared by sections.
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

_KINDS_WITH_SUBSECTIONS = (ChangeKind.REMOVED, ChangeKind.MOVED)
Address = tuple[str, str | None]
"""A path, and the key of a section in it, or None for the document or file itself."""


class TouchedSections(NamedTuple):
    """The files, sections and keys that a change touches.

    `whole_paths` are the paths of files that are touched as a whole. `sections` are addresses of sections.
    `with_subsections` are the sections that were removed or moved together with all sections below them.
    `ancestor_keys` maps each section to the keys of its ancestors. `keys` are pairs of a path and a key of
    front matter.
    """

    whole_paths: frozenset[str]
    sections: frozenset[tuple[str, str]]
    with_subsections: frozenset[tuple[str, str]]
    ancestor_keys: dict[tuple[str, str], tuple[str, ...]]
    keys: frozenset[tuple[str, str]]

    @property
    def addresses(self) -> frozenset[Address]:
        """Every touched address; a document with a touched front matter key has the address of the whole."""
        paths = self.whole_paths.union(path for path, _ in self.keys)
        return frozenset([*((path, None) for path in paths), *self.sections])

    @property
    def paths(self) -> frozenset[str]:
        """The path of every touched address."""
        return frozenset(path for path, _ in self.addresses)


def find_touched_sections(changes: CommitChanges, old: Snapshot, new: Snapshot) -> TouchedSections:
    """Return the sections, files and keys that changes touch.

    `old` and `new` are the commits before and after the changes. Raises DamagedRepository.
    """
    whole_paths = set(changes.files)
    keys: set[tuple[str, str]] = set()
    with_subsections: set[tuple[str, str]] = set()
    ancestor_keys: dict[tuple[str, str], tuple[str, ...]] = {}
    for change in changes.documents:
        if change.is_whole or change.old_path != change.path or not change.sections:
            whole_paths |= {end for end in (change.path, change.old_path) if end is not None}
            continue
        for snapshot, version, kind in _list_versions(change, old, new):
            if kind is ChangeKind.METADATA:
                keys.add((version.path, version.address))
                continue
            key = version.address.rpartition("[")[0] if kind.startswith("task_") else version.address
            address = version.path, key
            ancestor_keys[address] = _list_ancestor_keys(_read_document(snapshot, version.path), key)
            if kind in _KINDS_WITH_SUBSECTIONS:
                with_subsections.add(address)
    return TouchedSections(
        frozenset(whole_paths),
        frozenset(ancestor_keys),
        frozenset(with_subsections),
        ancestor_keys,
        frozenset(keys),
    )


def find_common_addresses(first: TouchedSections, second: TouchedSections) -> tuple[str, ...]:
    """Return the sorted addresses that both changes touch, in the form of links, by the keys of `first`."""
    second_paths = second.paths
    addresses = {path for path in first.whole_paths if path in second_paths}
    addresses |= {path for path, _ in first.keys & second.keys}
    addresses |= {path for path, _ in first.keys if path in second.whole_paths}
    second_ancestors = {
        (path, ancestor_key)
        for (path, _), ancestors in second.ancestor_keys.items()
        for ancestor_key in ancestors
    }
    for address in first.sections:
        path, key = address
        overlaps = (
            path in second.whole_paths
            or address in second.sections
            or (address in first.with_subsections and address in second_ancestors)
            or any(
                (path, ancestor_key) in second.with_subsections
                for ancestor_key in first.ancestor_keys[address]
            )
        )
        if overlaps:
            addresses.add(f"{path}#{key}")
    return tuple(sorted(addresses))


def _list_versions(
    change: DocumentChange, old: Snapshot, new: Snapshot
) -> Iterator[tuple[Snapshot, PartVersion, ChangeKind]]:
    for section_change in change.sections:
        for snapshot, version in ((old, section_change.before), (new, section_change.after)):
            if version is not None:
                yield snapshot, version, section_change.kind


def _read_document(snapshot: Snapshot, path: str) -> Document | None:
    try:
        return snapshot.document(path)
    except WorkspaceError:  # an unreadable document has no known ancestors
        return None


def _list_ancestor_keys(document: Document | None, key: str) -> tuple[str, ...]:
    """Return the keys of a section's ancestors, innermost first."""
    section = document.section_by_key(key) if document else None
    keys: list[str] = []
    while document is not None and section is not None and section.parent is not None:
        section = document.sections[section.parent]
        keys.append(section.key)
    return tuple(keys)


class Overlap(NamedTuple):
    """Another open proposal, and the addresses that both proposals touch, by the keys of the first proposal.

    An address is `path.md#section`; `path.md` without a section is the whole document, its front matter, or a
    file that is not a document.
    """

    id: str
    title: str
    addresses: tuple[str, ...]
