"""Undo one commit in an overlay, document by document."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.document.document import Document
from workspace.document.splices import StructureChanged
from workspace.edits.reinsertion import HistoryTracer, list_commits_between
from workspace.edits.undo_text import NO_LINES, PreservedLines, RevertedText, revert_text
from workspace.errors import WorkspaceError
from workspace.git import trees
from workspace.history.section_tracker import SectionPosition
from workspace.links.offset_map import OffsetMap, PreservedSpan
from workspace.snapshot.snapshot import check_lfs_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.git.ancestry import Node
    from workspace.git.objects import Commit
    from workspace.links.offset_map import BytePosition
    from workspace.snapshot.overlay import Overlay

_MAX_REPORTED_COMMITS = 5
_PRESERVED_REASON = "the commit moved text to or from this place, and a later commit changed that text"


class UndoConflict(NamedTuple):
    """A section or, without a slug, a document that cannot be reverted, and the reason."""

    file: str
    slug: str | None
    reason: str


class _CommitChange(NamedTuple):
    """The paths and the bytes of a document before and after a commit; None if it did not exist."""

    old_path: str | None
    path: str | None
    before: bytes | None
    after: bytes | None


class CommitUndo:
    """The revert of one commit: `actions` are the reverted changes, `conflicts` those that conflict.

    After a conflict the revert continues with the next change. To revert all changes or no change, discard
    the overlay after a conflict. `skipped_paths` are files that are not documents. `unreverted_lines` are
    the lines that conflicting changes added or removed. If another run gets these lines as `preserved_lines`,
    it does not revert their moves between documents either.
    """

    def __init__(self, overlay: Overlay, commit: Commit, preserved_lines: PreservedLines = NO_LINES) -> None:
        self._overlay, self._commit, self._preserved_lines = overlay, commit, preserved_lines
        self._tip = overlay.snapshot
        self._git, self._config = self._tip.git, self._tip.config
        self.actions: list[dict[str, object]] = []
        self.conflicts: list[UndoConflict] = []
        self.skipped_paths: list[str] = []
        self.unreverted_lines = NO_LINES
        self._commits: Sequence[Node] | None = None
        self._tracer = HistoryTracer(self._tip)
        self._preserved_spans: list[PreservedSpan] = []
        self._new_heading_positions: dict[BytePosition, BytePosition] = {}
        self._path_map: dict[str, str | None] = {}

    def run(self) -> None:
        """Revert each change that does not conflict."""
        for change in self._list_changes():
            try:
                self._revert_change(change)
            except WorkspaceError as error:
                self._record_conflict(str(change.path or change.old_path), None, error.message)
                self._record_unreverted_lines(change)

    def describe_conflicts(self, max_count: int) -> list[dict[str, object]]:
        """Return the first conflicts for a response, each with the last commits that changed its text."""
        descriptions: list[dict[str, object]] = []
        for conflict in self.conflicts[:max_count]:
            commits = self._tracer.list_later_changes(self._list_commits(), conflict.file, conflict.slug)
            location = {"file": conflict.file, **({} if conflict.slug is None else {"slug": conflict.slug})}
            descriptions.append(
                {**location, "reason": conflict.reason, "commits": list(commits[:_MAX_REPORTED_COMMITS])}
            )
        return descriptions

    def make_offset_map(self) -> OffsetMap:
        """Return the offset map of the preserved text, with which links are updated."""
        return OffsetMap(tuple(self._preserved_spans), self._new_heading_positions, self._path_map)

    def _list_changes(self) -> Iterator[_CommitChange]:
        """Yield the commit's changes in an order in which each can be reverted, and record skipped paths.

        The path that a revert restores must be unused at that time.
        """
        parents = self._commit.parents
        old, new = self._git.commit(parents[0]).tree if parents else None, self._commit.tree
        created_blobs: dict[str, str] = {}
        for change in trees.diff_trees(self._git, old, new):
            entries = [entry for entry in (change.old, change.new) if entry]
            if not self._config.is_document(change.path) or not all(entry.is_blob for entry in entries):
                self.skipped_paths.append(change.path)
            elif change.old is None and change.new is not None:
                created_blobs[change.path] = change.new.id
        if old is None:
            for path, blob in created_blobs.items():
                yield _CommitChange(None, path, None, self._git.blob(blob))
            return
        skipped_paths = frozenset(self.skipped_paths)
        renames = Renames(
            self._git, old, new, lambda path: path not in skipped_paths and self._config.is_document(path)
        )
        added_blobs, removed_blobs = dict(renames.added_blobs), dict(renames.removed_blobs)
        moved_paths = _order_moves(_pair_paths(renames))
        for path, new_path in moved_paths.items():
            del removed_blobs[path], added_blobs[new_path]
        for path, blob in added_blobs.items():
            yield _CommitChange(None, path, None, self._git.blob(blob))
        for path, new_path in moved_paths.items():
            yield _CommitChange(
                path,
                new_path,
                self._git.blob(renames.removed_blobs[path]),
                self._git.blob(renames.added_blobs[new_path]),
            )
        for path, (before, after) in renames.changed_blobs.items():
            yield _CommitChange(path, path, self._git.blob(before), self._git.blob(after))
        for path, blob in removed_blobs.items():
            yield _CommitChange(path, None, self._git.blob(blob), None)

    def _revert_change(self, change: _CommitChange) -> None:
        match change:
            case _CommitChange(None, str(path), None, bytes(after)):
                self._revert_creation(path, after)
            case _CommitChange(str(path), None, bytes(before), None):
                self._revert_removal(path, before)
            case _CommitChange(str(old_path), str(path), bytes(before), bytes(after)):
                self._revert_edit(old_path, path, before, after)

    def _revert_creation(self, path: str, after: bytes) -> None:
        """Revert the creation of a document."""
        current_path = self._find_current_path(path)
        document = self._overlay.find(current_path) if current_path else None
        if current_path is None or document is None:
            return
        if document.data != after:
            self._record_conflict(
                current_path, None, "the commit created the document, and a later commit changed it"
            )
            self._record_unreverted_lines(_CommitChange(None, path, None, after))
            return
        if self._preserved_lines.affects(b"", after):
            self._record_conflict(current_path, None, _PRESERVED_REASON)
            self._record_unreverted_lines(_CommitChange(None, path, None, after))
            return
        self._overlay.remove(current_path)
        self._path_map[current_path] = None
        self._record_action(current_path, None, "removed")

    def _revert_removal(self, path: str, before: bytes) -> None:
        """Revert the removal of a document."""
        check_lfs_pointer(path, before)
        current_document = self._overlay.find(path)
        if current_document is None and self._preserved_lines.affects(before, b""):
            self._record_conflict(path, None, _PRESERVED_REASON)
            self._record_unreverted_lines(_CommitChange(path, None, before, None))
        elif current_document is None:
            self._overlay.create(self._parse(before, path))
            self._path_map[path] = path
            self._record_action(path, None, "brought_back")
        elif current_document.data != before:
            self._record_conflict(
                path, None, "the commit removed the document, and another document is at its path now"
            )
            self._record_unreverted_lines(_CommitChange(path, None, before, None))

    def _revert_edit(self, old_path: str, path: str, before: bytes, after: bytes) -> None:
        """Revert an edit of a document, its move, or both.

        Raises StructureChanged, PathExists, LimitExceeded.
        """
        current_path = self._find_current_path(path)
        document = self._overlay.find(current_path) if current_path else None
        if current_path is None or document is None:
            self._record_conflict(
                path, None, "the commit changed the document, and a later commit removed it"
            )
            self._record_unreverted_lines(_CommitChange(old_path, path, before, after))
            return
        if current_path == path:
            target = old_path
        elif old_path in (path, current_path):
            target = current_path
        else:
            self._record_conflict(
                current_path, None, "the commit moved the document, and a later commit moved it again"
            )
            target = current_path
        reverted_text = None
        new_document = document
        if before != after and document.data != before:
            document_before, document_after = self._parse(before, target), self._parse(after, document.path)
            reverted_text = revert_text(
                document_after, document_before, document, target, self._preserved_lines
            )
            new_document = reverted_text.document
            if not reverted_text.has_expected_sections:
                raise StructureChanged(
                    "the document would not be read as the same sections after the undo",
                    fix="Restore its sections one by one.",
                    section=None,
                )
            self._config.limits.check_written_document(new_document, document)
        if target != current_path:
            self._overlay.move(current_path, target)
            self._record_action(target, None, "moved", was=current_path)
        if new_document.data != document.data:
            self._overlay.put(new_document)
        if reverted_text is not None:
            self._record_result(reverted_text, document, target)
        elif target != current_path:
            self._preserved_spans.append(PreservedSpan(current_path, 0, len(document.data), target, 0))
        if target != current_path:
            # With another number of sections, an address cannot be mapped to the restored path.
            has_same_section_count = len(new_document.sections) == len(document.sections)
            self._path_map |= {current_path: target if has_same_section_count else None, target: target}
        elif new_document.data != document.data:
            self._path_map[current_path] = current_path

    def _record_result(self, reverted_text: RevertedText, document: Document, target: str) -> None:
        """Record the reverted changes and the conflicts of a document."""
        self._preserved_spans += reverted_text.preserved_spans
        self._new_heading_positions |= reverted_text.new_heading_positions
        self.unreverted_lines |= reverted_text.conflicting_lines
        for unit, action in reverted_text.result.actions:
            self._record_action(target, unit.key, action.value)
        if reverted_text.is_metadata_changed:
            self._record_action(target, None, "metadata_restored")
        for unit in reverted_text.result.conflicts:
            reason = (
                _PRESERVED_REASON
                if unit.id in reverted_text.preserved_ids
                else "the commit changed this text, and it was changed again since"
            )
            self._record_conflict(document.path, unit.key, reason)
        for key in reverted_text.metadata_conflicts:
            self._record_conflict(
                document.path,
                None,
                f"the commit changed '{key}' of the front matter, and it was changed again since",
            )

    def _record_unreverted_lines(self, change: _CommitChange) -> None:
        """Record the lines that the commit added to a document, or removed from it, as not reverted."""
        self.unreverted_lines |= PreservedLines.of_change(change.before or b"", change.after or b"")

    def _find_current_path(self, path: str) -> str | None:
        """Return the current path of a document that the commit left at a path; None if it is missing."""
        if self._overlay.find(path) is not None:
            return path
        moved_path = self._overlay.find_moved_path(path)
        if moved_path is not None or self._overlay.has_changed(path):
            return moved_path
        position = self._tracer.map_position([*reversed(self._list_commits())], SectionPosition(path))
        new_path = position.path if position else None
        if new_path is None or self._overlay.find(new_path) is not None:
            return new_path
        return self._overlay.find_moved_path(new_path)

    def _list_commits(self) -> Sequence[Node]:
        if self._commits is None:
            self._commits = list_commits_between(self._git, str(self._tip.commit), self._commit.id)
        return self._commits

    def _parse(self, data: bytes, path: str) -> Document:
        self._config.limits.check_document(path, len(data))
        return Document.parse(data, path)

    def _record_action(self, file: str, slug: str | None, action: str, **details: object) -> None:
        action_fields: dict[str, object] = {"file": file}
        if slug is not None:
            action_fields["slug"] = slug
        self.actions.append({**action_fields, "what": action, **details})

    def _record_conflict(self, file: str, slug: str | None, reason: str) -> None:
        self.conflicts.append(UndoConflict(file, slug, reason))


def _pair_paths(renames: Renames) -> dict[str, str]:
    """Return the new path of each moved document, by its old path.

    If several documents have one new path, only the first is included.
    """
    old_paths: dict[str, str] = {}  # by the new path
    for path in renames.removed_blobs:
        new_path = renames.find_new_path(path)
        if new_path is not None:
            old_paths.setdefault(new_path, path)
    return {path: new_path for new_path, path in old_paths.items()}


def _order_moves(moved_paths: dict[str, str]) -> dict[str, str]:
    """Return moves in an order in which each can be reverted: moves with an unused old path come first."""
    ordered_moves: dict[str, str] = {}
    remaining_moves = dict(moved_paths)
    while remaining_moves:
        targets = set(remaining_moves.values())
        unblocked_moves = {
            path: new_path for path, new_path in remaining_moves.items() if path not in targets
        } or remaining_moves
        ordered_moves |= unblocked_moves
        remaining_moves = {
            path: new_path for path, new_path in remaining_moves.items() if path not in unblocked_moves
        }
    return ordered_moves
