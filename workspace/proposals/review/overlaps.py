"""The sections that a change touches, and the overlaps of two changes.

Two changes overlap if both touch the same section or front matter key. They also overlap if one change
removed or moved a section and the other touched a section below it, or if one change touched a document or
file as a whole and the other touched any part of it. A document is touched as a whole if it was
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
    """The files, sections and front matter keys that a change touches.

    `whole_paths` are the paths of files that are touched as a whole. `sections` are addresses of sections.
    `with_subsections` are the sections that were removed or moved together with all sections below them.
    `ancestor_keys` maps each section to the keys of its ancestors. `front_matter_keys` are pairs of a path
    and a key of front matter.
    """

    whole_paths: frozenset[str]
    sections: frozenset[tuple[str, str]]
    with_subsections: frozenset[tuple[str, str]]
    ancestor_keys: dict[tuple[str, str], tuple[str, ...]]
    front_matter_keys: frozenset[tuple[str, str]]

    @property
    def addresses(self) -> frozenset[Address]:
        """The touched addresses. A touched front matter key counts as the address of its whole document."""
        paths = self.whole_paths.union(path for path, _ in self.front_matter_keys)
        return frozenset([*((path, None) for path in paths), *self.sections])

    @property
    def paths(self) -> frozenset[str]:
        """The path of every touched address."""
        return frozenset(path for path, _ in self.addresses)


def find_touched_sections(changes: CommitChanges, old: Snapshot, new: Snapshot) -> TouchedSections:
    """Return the sections, files and front matter keys that changes touch.

    `old` and `new` are the snapshots before and after the changes. An unreadable document has no ancestors.
    """
    whole_paths = set(changes.files)
    front_matter_keys: set[tuple[str, str]] = set()
    with_subsections: set[tuple[str, str]] = set()
    ancestor_keys: dict[tuple[str, str], tuple[str, ...]] = {}
    for change in changes.documents:
        if change.is_addition_or_removal or change.old_path != change.path or not change.section_changes:
            whole_paths |= {path for path in (change.path, change.old_path) if path is not None}
            continue
        for snapshot, version, kind in _list_versions(change, old, new):
            if kind is ChangeKind.METADATA:
                front_matter_keys.add((version.path, version.address))
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
        frozenset(front_matter_keys),
    )


def find_common_addresses(own: TouchedSections, other: TouchedSections) -> tuple[str, ...]:
    """Return the sorted addresses of `own` at which both changes overlap, such as `path.md#section`.

    A section has the key that it has in `own`.
    """
    other_paths = other.paths
    addresses = {path for path in own.whole_paths if path in other_paths}
    addresses |= {path for path, _ in own.front_matter_keys & other.front_matter_keys}
    addresses |= {path for path, _ in own.front_matter_keys if path in other.whole_paths}
    other_ancestors = {
        (path, ancestor_key)
        for (path, _), ancestors in other.ancestor_keys.items()
        for ancestor_key in ancestors
    }
    for address in own.sections:
        path, key = address
        overlaps = (
            path in other.whole_paths
            or address in other.sections
            or (address in own.with_subsections and address in other_ancestors)
            or any(
                (path, ancestor_key) in other.with_subsections for ancestor_key in own.ancestor_keys[address]
            )
        )
        if overlaps:
            addresses.add(f"{path}#{key}")
    return tuple(sorted(addresses))


def _list_versions(
    change: DocumentChange, old: Snapshot, new: Snapshot
) -> Iterator[tuple[Snapshot, PartVersion, ChangeKind]]:
    for section_change in change.section_changes:
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
    """Another open proposal, and the addresses that both proposals touch.

    An address is `path.md#section`, with the section's key in the reviewed proposal. `path.md` without a
    section is the whole document, its front matter, or a file that is not a document.
    """

    id: str
    title: str
    addresses: tuple[str, ...]
