"""Fixes of documents outside commits: of a work tree, which can be written, or of the index of Git."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.document.document import Document
from workspace.errors import LimitExceeded
from workspace.file_replacement import ContentChanged, replace_file
from workspace.git.objects import hash_blob
from workspace.links.inbound_links import AffectedPaths, InboundLinkScanner
from workspace.links.updates import update_links
from workspace.snapshot.overlay import Overlay
from workspace.snapshot.snapshot import LfsTextMissing
from workspace.validation.files import UnreadableFile
from workspace.validation.fixes.change import DocumentRewrite, FixRemark
from workspace.validation.fixes.fix import FILE_PROBLEM_RULE, combine_offset_maps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from workspace.snapshot.snapshot import Snapshot
    from workspace.validation.files import FileSet
    from workspace.validation.fixes.change import FixResult


class FixedFiles(NamedTuple):
    """The changed documents in order of paths, the remarks, and the number of updated links.

    A link is updated if the fixes change the address of its target, so documents without fixes may also
    change.
    """

    changes: Sequence[DocumentRewrite]
    fix_remarks: Sequence[FixRemark]
    updated_link_count: int


def build_fixed_files(results: Sequence[FixResult], snapshot: Snapshot, files: FileSet) -> FixedFiles:
    """Return the fixed documents, in memory, with the links that lead into them updated.

    `snapshot` is the commit that the files are compared with.
    """
    changes = {result.path: result.change for result in results if result.change}
    fix_remarks = [skipped_fix for result in results for skipped_fix in result.fix_remarks]
    offset_map = combine_offset_maps(result.offset_map for result in results)
    if offset_map is None:
        return FixedFiles(list(changes.values()), fix_remarks, 0)
    old_overlay = _make_overlay(snapshot, files)
    new_overlay = old_overlay.copy()
    _put_changes(new_overlay, changes, offset_map.path_map)
    affected_paths = AffectedPaths.of(old_overlay, new_overlay, offset_map).paths
    if not affected_paths:
        return FixedFiles(list(changes.values()), fix_remarks, 0)
    linking_documents = _LinkingDocuments(
        frozenset(InboundLinkScanner().find_linking_documents(snapshot, affected_paths))
    )
    _put_changes(
        new_overlay,
        changes,
        linking_documents.paths.union(old_overlay.written_paths).difference(offset_map.path_map),
    )
    link_updates = update_links(old_overlay, new_overlay, offset_map, linking_documents)
    for old, new in link_updates.revised_documents:
        change = changes.get(new.path, DocumentRewrite(new.path, old.data, new.data))
        changes[new.path] = change._replace(after=new.data)
    return FixedFiles([changes[path] for path in sorted(changes)], fix_remarks, link_updates.total_count)


class _LinkingDocuments(NamedTuple):
    """An `InboundLinkFinder` whose result is already known."""

    paths: frozenset[str]

    def find_linking_documents(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """Return all known documents; only these are in the overlay."""
        return self.paths


def _put_changes(overlay: Overlay, changes: Mapping[str, DocumentRewrite], paths: Iterable[str]) -> None:
    """Put the changed documents at these paths into the overlay."""
    for path in paths:
        if path in changes:
            overlay.put_bytes(path, changes[path].after)


def _make_overlay(snapshot: Snapshot, files: FileSet) -> Overlay:
    """Return the files as an overlay of a commit, with changed documents and without deleted ones."""
    overlay = Overlay(snapshot)
    committed_documents = snapshot.documents
    for path in files.documents:
        try:
            data = files.reader.read(path)
            if committed_documents.get(path) != hash_blob(data):
                overlay.put(Document.parse(data, path))
        except (LimitExceeded, UnreadableFile, LfsTextMissing):
            continue
    for path in committed_documents.keys() - set(files.documents):
        overlay.remove(path)
    return overlay


def write_document(root: Path, change: DocumentRewrite) -> FixRemark | None:
    """Replace the file of a document atomically, with the same mode.

    Return a `FixRemark` if the file was not written: it has changed since it was read, or the system
    refused the write.
    """
    try:
        replace_file(root / change.path, change.after, change.before)
    except ContentChanged:
        reason = "the file changed before the write and was not replaced"
    except OSError as error:
        reason = f"the file cannot be written: {error.strerror or type(error).__name__}"
    else:
        return None
    return FixRemark(FILE_PROBLEM_RULE, change.path, 0, reason)
