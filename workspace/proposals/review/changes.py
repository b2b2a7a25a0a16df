"""What a proposal changes: its documents by their sections, its other files by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import InvalidConfig, LimitExceeded
from workspace.diff import DocumentChange, DocumentKind, Kind, document_change, tree_changes
from workspace.git import trees
from workspace.merge.world import MergedWorld
from workspace.snapshot.snapshot import DocumentNotFound, changed_documents

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from workspace.merge.trees_package import Merge
    from workspace.snapshot.listing import FileChange
    from workspace.snapshot.snapshot import Snapshot

MOST_DOCUMENTS = 200
MOST_BYTES = 16_000_000
"""Of both versions together; of more, it is told which documents differ, and not how."""


class Changes(NamedTuple):
    """What stands between two commits.

    `base` is where the proposal parts from its target, or for a merged one what the target was before (None:
    they have nothing in common, so all that it holds counts); `tip` is the proposal's commit, or the merge
    (None: its branch is gone, and nothing can be told). `files` are the paths of what is no document.
    `reason` says why documents are told without their sections; None where they are told in full.
    """

    base: str | None
    tip: str | None
    documents: tuple[DocumentChange, ...] = ()
    files: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def paths(self) -> frozenset[str]:
        """Every path that differs, both ends of a move among them."""
        ends = {end for one in self.documents for end in (one.path, one.old_path) if end is not None}
        return frozenset(ends.union(self.files))


def changes_between(old: Snapshot, new: Snapshot) -> Changes:
    """What differs between two commits of one repository. Raises DamagedRepository.

    Settings that cannot be used do not hide a change: it is told by its files then.
    """
    paths = changed_paths(old, new)
    try:
        differing = list(changed_documents(old, new))
        size = sum(new.git.blob_size(blob) for _, *blobs in differing for blob in blobs if blob)
    except InvalidConfig as error:
        return Changes(old.commit, new.commit, (), tuple(sorted(paths)), error.message)
    reason = None
    if len(differing) > MOST_DOCUMENTS or size > MOST_BYTES:
        reason = f"{len(differing):,} documents of {size:,} bytes are too many to compare word by word"
        documents = _named(differing)
    else:
        documents = tuple(tree_changes(old, new))
    told = Changes(old.commit, new.commit, documents).paths
    return Changes(old.commit, new.commit, documents, tuple(sorted(paths - told)), reason)


def merge_changes(merge: Merge, paths: Iterable[str]) -> Changes:
    """Return what a merge would bring to some paths beyond theirs. `tip` is None: nothing is committed."""
    files = MergedWorld(merge)
    documents: list[DocumentChange] = []
    others: list[str] = []
    for path in sorted(paths):
        try:
            old = merge.theirs.document(path) if merge.theirs.entry(path) is not None else None
        except (DocumentNotFound, LimitExceeded):
            others.append(path)
            continue
        change = document_change(old, files.document(path))
        if change is None:
            others.append(path)
        else:
            documents.append(change)
    return Changes(merge.theirs.commit, None, tuple(documents), tuple(others))


def within(document: DocumentChange, slug: str) -> DocumentChange | None:
    """What of a document's change happened in a section, or below it; None for nothing."""
    section = slug.partition("[")[0]
    found = tuple(
        change
        for change in document.sections
        if change.kind is not Kind.METADATA
        and any(
            place is not None and place.path == document.path and _is_in(place.address, section)
            for place in (change.before, change.after)
        )
    )
    return document._replace(sections=found) if found else None


def _is_in(address: str, section: str) -> bool:
    return address == section or address.startswith((f"{section}/", f"{section}["))


def changed_paths(old: Snapshot, new: Snapshot) -> frozenset[str]:
    """Every path at which two commits differ, of whatever kind."""
    return frozenset(change.path for change in trees.changes(new.git, old.tree, new.tree))


def _named(differing: Sequence[FileChange]) -> tuple[DocumentChange, ...]:
    return tuple(_kind(*change) for change in sorted(differing))


def _kind(path: str, old: str | None, new: str | None) -> DocumentChange:
    if old is None:
        return DocumentChange(DocumentKind.ADDED, None, path, path)
    if new is None:
        return DocumentChange(DocumentKind.REMOVED, path, path, path)
    return DocumentChange(DocumentKind.CHANGED, path, path, path)
