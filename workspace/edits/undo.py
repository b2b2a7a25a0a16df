"""The undo of one commit, document by document, in an overlay."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.document.document import Document
from workspace.document.splices import StructureChanged
from workspace.edits.reinsertion import HistoryTracer, list_commits_between
from workspace.edits.undo_text import NOTHING, PreservedLines, RevertedText, revert_text
from workspace.errors import WorkspaceError
from workspace.git import trees
from workspace.history.moves import SectionPosition
from workspace.links.offset_map import OffsetMap, PreservedSpan
from workspace.snapshot.snapshot import check_pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from workspace.git.ancestry import Node
    from workspace.git.objects import Commit
    from workspace.links.offset_map import Offset
    from workspace.snapshot.overlay import Overlay

_MAX_COMMITS = 5
_HELD_REASON = "what the commit moved to it or from it was changed since"


class UndoConflict(NamedTuple):
    """A section or, without a slug, a document that cannot be reverted, and the reason."""

    file: str
    slug: str | None
    reason: str


class _Change(NamedTuple):
    """A change of a document by a commit: its paths and bytes before and after, None without a document."""

    old_path: str | None
    path: str | None
    before: bytes | None
    after: bytes | None


class CommitUndo:
    """The revert of one commit: `done` lists the reverted changes, `clashes` the others.

    A clash does not stop the revert of the rest. A caller that needs all changes reverted, or none, discards
    the overlay after a clash. `left_alone` are files that are not documents. `unmoved` are lines whose move
    was not reverted because of a clash. If another run gets them as `held`, they stay in all documents.
    """

    def __init__(self, overlay: Overlay, commit: Commit, held: PreservedLines = NOTHING) -> None:
        self._overlay, self._commit, self._held = overlay, commit, held
        self._tip = overlay.snapshot
        self._git, self._config = self._tip.git, self._tip.config
        self.done: list[dict[str, object]] = []
        self.clashes: list[UndoConflict] = []
        self.left_alone: list[str] = []
        self.unmoved = NOTHING
        self._states: Sequence[Node] | None = None
        self._tracer = HistoryTracer(self._tip)
        self._pieces: list[PreservedSpan] = []
        self._renamed: dict[Offset, Offset] = {}
        self._documents: dict[str, str | None] = {}

    def run(self) -> None:
        """Revert each change that does not clash."""
        for change in self._list_changes():
            try:
                self._revert_change(change)
            except WorkspaceError as error:
                self._record_clash(str(change.path or change.old_path), None, error.message)
                self._record_unmoved(change)

    def describe_clashes(self, max_count: int) -> list[dict[str, object]]:
        """Return the first conflicts for a response, each with the last commits that changed it since."""
        reported: list[dict[str, object]] = []
        for clash in self.clashes[:max_count]:
            commits = self._tracer.list_later_changes(self._list_commits(), clash.file, clash.slug)
            location = {"file": clash.file, **({} if clash.slug is None else {"slug": clash.slug})}
            reported.append({**location, "reason": clash.reason, "commits": list(commits[:_MAX_COMMITS])})
        return reported

    def offset_map(self) -> OffsetMap:
        """Return the map of preserved text, by which links are updated."""
        return OffsetMap(tuple(self._pieces), self._renamed, self._documents)

    def _list_changes(self) -> Iterator[_Change]:
        """Yield the commit's changes in an order in which each path is free when it is needed."""
        parents = self._commit.parents
        old, new = self._git.commit(parents[0]).tree if parents else None, self._commit.tree
        created: dict[str, str] = {}
        for change in trees.diff_trees(self._git, old, new):
            entries = [entry for entry in (change.old, change.new) if entry]
            if not self._config.is_document(change.path) or not all(entry.is_blob for entry in entries):
                self.left_alone.append(change.path)
            elif change.old is None and change.new is not None:
                created[change.path] = change.new.id
        if old is None:
            for path, blob in created.items():
                yield _Change(None, path, None, self._git.blob(blob))
            return
        skipped = frozenset(self.left_alone)
        renames = Renames(
            self._git, old, new, lambda path: path not in skipped and self._config.is_document(path)
        )
        added, removed = dict(renames.added), dict(renames.removed)
        moved = _order_moves(_pair_paths(renames))
        for path, new_path in moved.items():
            del removed[path], added[new_path]
        for path, blob in added.items():
            yield _Change(None, path, None, self._git.blob(blob))
        for path, new_path in moved.items():
            yield _Change(
                path, new_path, self._git.blob(renames.removed[path]), self._git.blob(renames.added[new_path])
            )
        for path, (before, after) in renames.changed.items():
            yield _Change(path, path, self._git.blob(before), self._git.blob(after))
        for path, blob in removed.items():
            yield _Change(path, None, self._git.blob(blob), None)

    def _revert_change(self, change: _Change) -> None:
        match change:
            case _Change(None, str(path), None, bytes(after)):
                self._revert_creation(path, after)
            case _Change(str(path), None, bytes(before), None):
                self._revert_removal(path, before)
            case _Change(str(old_path), str(path), bytes(before), bytes(after)):
                self._revert_edit(old_path, path, before, after)

    def _revert_creation(self, path: str, after: bytes) -> None:
        """Revert the creation of a document."""
        current_path = self._find_current_path(path)
        document = self._overlay.find(current_path) if current_path else None
        if current_path is None or document is None:
            return
        if document.data != after:
            self._record_clash(current_path, None, "it was made by the commit, and changed since")
            self._record_unmoved(_Change(None, path, None, after))
            return
        if self._held.hold(b"", after):
            self._record_clash(current_path, None, _HELD_REASON)
            self._record_unmoved(_Change(None, path, None, after))
            return
        self._overlay.remove(current_path)
        self._documents[current_path] = None
        self._record_done(current_path, None, "removed")

    def _revert_removal(self, path: str, before: bytes) -> None:
        """Revert the removal of a document."""
        check_pointer(path, before)
        existing = self._overlay.find(path)
        if existing is None and self._held.hold(before, b""):
            self._record_clash(path, None, _HELD_REASON)
            self._record_unmoved(_Change(path, None, before, None))
        elif existing is None:
            self._overlay.create(self._parse(before, path))
            self._documents[path] = path
            self._record_done(path, None, "brought_back")
        elif existing.data != before:
            self._record_clash(path, None, "it was removed by the commit, and another document is there now")
            self._record_unmoved(_Change(path, None, before, None))

    def _revert_edit(self, old_path: str, path: str, before: bytes, after: bytes) -> None:
        """Revert the edit or the move of a document, or both."""
        current_path = self._find_current_path(path)
        document = self._overlay.find(current_path) if current_path else None
        if current_path is None or document is None:
            self._record_clash(path, None, "it was changed by the commit, and removed since")
            self._record_unmoved(_Change(old_path, path, before, after))
            return
        if current_path == path:
            target = old_path
        elif old_path in (path, current_path):
            target = current_path
        else:
            self._record_clash(current_path, None, "it was moved by the commit, and again since")
            target = current_path
        reverted = None
        changed = document
        if before != after and document.data != before:
            document_before, document_after = self._parse(before, target), self._parse(after, document.path)
            reverted = revert_text(document_after, document_before, document, target, self._held)
            changed = reverted.document
            if not reverted.is_sound:
                raise StructureChanged(
                    "the document would not be read as the same sections after the undo",
                    fix="Restore its sections one by one.",
                    section=None,
                )
            self._config.limits.check_written(changed, document)
        if target != current_path:
            self._overlay.move(current_path, target)
            self._record_done(target, None, "moved", was=current_path)
        if changed.data != document.data:
            self._overlay.put(changed)
        if reverted is not None:
            self._record_result(reverted, document, target)
        elif target != current_path:
            self._pieces.append(PreservedSpan(current_path, 0, len(document.data), target, 0))
        if target != current_path:
            # Addresses in a document with other sections do not map to the old ones.
            is_same = len(changed.sections) == len(document.sections)
            self._documents |= {current_path: target if is_same else None, target: target}
        elif changed.data != document.data:
            self._documents[current_path] = current_path

    def _record_result(self, result: RevertedText, document: Document, target: str) -> None:
        """Record the reverted changes and the clashes of a document."""
        self._pieces += result.pieces
        self._renamed |= result.renamed
        self.unmoved |= result.clashing
        for unit, action in result.reverted.done:
            self._record_done(target, unit.key, action.value)
        if result.has_metadata_changed:
            self._record_done(target, None, "metadata_restored")
        for unit in result.reverted.clashes:
            reason = (
                _HELD_REASON if unit.id in result.held else "it was changed by the commit, and again since"
            )
            self._record_clash(document.path, unit.key, reason)
        for key in result.metadata_clashes:
            self._record_clash(
                document.path, None, f"'{key}' of its front matter was changed by it, and again since"
            )

    def _record_unmoved(self, change: _Change) -> None:
        """Record the lines that the commit moved to this document, or away from it, as unmoved."""
        self.unmoved |= PreservedLines.of(change.before or b"", change.after or b"")

    def _find_current_path(self, path: str) -> str | None:
        """Return the current path of a document that the commit left at a path; None if it is missing."""
        if self._overlay.find(path) is not None:
            return path
        moved_path = self._overlay.find_moved_path(path)
        if moved_path is not None or self._overlay.has_path(path):
            return moved_path
        position = self._tracer.follow([*reversed(self._list_commits())], SectionPosition(path))
        new_path = position.path if position else None
        if new_path is None or self._overlay.find(new_path) is not None:
            return new_path
        return self._overlay.find_moved_path(new_path)

    def _list_commits(self) -> Sequence[Node]:
        if self._states is None:
            self._states = list_commits_between(self._git, str(self._tip.commit), self._commit.id)
        return self._states

    def _parse(self, data: bytes, path: str) -> Document:
        self._config.limits.check_document(path, len(data))
        return Document.parse(data, path)

    def _record_done(self, file: str, slug: str | None, action: str, **more: object) -> None:
        reported: dict[str, object] = {"file": file}
        if slug is not None:
            reported["slug"] = slug
        self.done.append({**reported, "what": action, **more})

    def _record_clash(self, file: str, slug: str | None, reason: str) -> None:
        self.clashes.append(UndoConflict(file, slug, reason))


def _pair_paths(renames: Renames) -> dict[str, str]:
    """Return the new path of each moved document, by its old path.

    If several documents have one new path, only the first is included.
    """
    old_paths: dict[str, str] = {}  # by the new path
    for path in renames.removed:
        new_path = renames.find_new_path(path)
        if new_path is not None:
            old_paths.setdefault(new_path, path)
    return {path: new_path for new_path, path in old_paths.items()}


def _order_moves(moved: dict[str, str]) -> dict[str, str]:
    """Return moves in an order in which each can be reverted: first those whose old path is free."""
    ordered: dict[str, str] = {}
    waiting = dict(moved)
    while waiting:
        targets = set(waiting.values())
        free = {path: new_path for path, new_path in waiting.items() if path not in targets} or waiting
        ordered |= free
        waiting = {path: new_path for path, new_path in waiting.items() if path not in free}
    return ordered
