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

_COMMITS = 5
_HELD = "what the commit moved to it or from it was changed since"


class UndoConflict(NamedTuple):
    """A section or, without a slug, a document that cannot be reverted, and the reason."""

    file: str
    slug: str | None
    reason: str


class _Change(NamedTuple):
    """The change of a document by a commit: its path and bytes before and after; None if it is missing."""

    old_path: str | None
    path: str | None
    before: bytes | None
    after: bytes | None


class CommitUndo:
    """The revert of one commit: `done` lists the reverted changes, `clashes` the others.

    A clash does not stop the revert of the rest; a caller that wants all or nothing drops the overlay.
    `left_alone` are files that are not documents. `unmoved` are lines that did not come or go
    because of a clash: given to another run as `held`, they stay where they are in all documents.
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
        self._tracing = HistoryTracer(self._tip)
        self._pieces: list[PreservedSpan] = []
        self._renamed: dict[Offset, Offset] = {}
        self._documents: dict[str, str | None] = {}

    def run(self) -> None:
        """Revert each change that does not clash."""
        for change in self._changes():
            try:
                self._revert_change(change)
            except WorkspaceError as error:
                self._clash(str(change.path or change.old_path), None, error.message)
                self._hold(change)

    def describe_clashes(self, most: int) -> list[dict[str, object]]:
        """Return the first conflicts for a response, each with the last commits that changed it since."""
        reported: list[dict[str, object]] = []
        for clash in self.clashes[:most]:
            commits = self._tracing.list_later_changes(self._list_commits(), clash.file, clash.slug)
            named = {"file": clash.file, **({} if clash.slug is None else {"slug": clash.slug})}
            reported.append({**named, "reason": clash.reason, "commits": list(commits[:_COMMITS])})
        return reported

    def offset_map(self) -> OffsetMap:
        """Return the map of preserved text, by which links are updated."""
        return OffsetMap(tuple(self._pieces), self._renamed, self._documents)

    def _changes(self) -> Iterator[_Change]:
        """Return the commit's changes in an order in which each path is free when it is needed."""
        parents = self._commit.parents
        old, new = self._git.commit(parents[0]).tree if parents else None, self._commit.tree
        made: dict[str, str] = {}
        for change in trees.diff_trees(self._git, old, new):
            sides = [entry for entry in (change.old, change.new) if entry]
            if not self._config.is_document(change.path) or not all(entry.is_blob for entry in sides):
                self.left_alone.append(change.path)
            elif change.old is None and change.new is not None:
                made[change.path] = change.new.id
        if old is None:
            for path, blob in made.items():
                yield _Change(None, path, None, self._git.blob(blob))
            return
        others = frozenset(self.left_alone)
        renames = Renames(
            self._git, old, new, lambda path: path not in others and self._config.is_document(path)
        )
        added, removed = dict(renames.added), dict(renames.removed)
        moved = _order_moves(_pair_paths(renames))
        for path, now in moved.items():
            del removed[path], added[now]
        for path, blob in added.items():
            yield _Change(None, path, None, self._git.blob(blob))
        for path, now in moved.items():
            yield _Change(
                path, now, self._git.blob(renames.removed[path]), self._git.blob(renames.added[now])
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
        now = self._find_current_path(path)
        document = self._overlay.find(now) if now else None
        if now is None or document is None:
            return
        if document.data != after:
            self._clash(now, None, "it was made by the commit, and changed since")
            self._hold(_Change(None, path, None, after))
            return
        if self._held.hold(b"", after):
            self._clash(now, None, _HELD)
            self._hold(_Change(None, path, None, after))
            return
        self._overlay.remove(now)
        self._documents[now] = None
        self._record(now, None, "removed")

    def _revert_removal(self, path: str, before: bytes) -> None:
        """Revert the removal of a document."""
        check_pointer(path, before)
        there = self._overlay.find(path)
        if there is None and self._held.hold(before, b""):
            self._clash(path, None, _HELD)
            self._hold(_Change(path, None, before, None))
        elif there is None:
            self._overlay.create(self._read(before, path))
            self._documents[path] = path
            self._record(path, None, "brought_back")
        elif there.data != before:
            self._clash(path, None, "it was removed by the commit, and another document is there now")
            self._hold(_Change(path, None, before, None))

    def _revert_edit(self, old_path: str, path: str, before: bytes, after: bytes) -> None:
        """Revert the edit or the move of a document, or both."""
        now = self._find_current_path(path)
        document = self._overlay.find(now) if now else None
        if now is None or document is None:
            self._clash(path, None, "it was changed by the commit, and removed since")
            self._hold(_Change(old_path, path, before, after))
            return
        if now == path:
            target = old_path
        elif old_path in (path, now):
            target = now
        else:
            self._clash(now, None, "it was moved by the commit, and again since")
            target = now
        found = None
        text = document
        if before != after and document.data != before:
            was, left = self._read(before, target), self._read(after, document.path)
            found = revert_text(left, was, document, target, self._held)
            text = found.document
            if not found.is_sound:
                raise StructureChanged(
                    "the document would not be read as the same sections after the undo",
                    fix="Restore its sections one by one.",
                    section=None,
                )
            self._config.limits.check_written(text, document)
        if target != now:
            self._overlay.move(now, target)
            self._record(target, None, "moved", was=now)
        if text.data != document.data:
            self._overlay.put(text)
        if found is not None:
            self._enter(found, document, target)
        elif target != now:
            self._pieces.append(PreservedSpan(now, 0, len(document.data), target, 0))
        if target != now:
            # Addresses in a document with other sections do not map to the old ones.
            is_same = len(text.sections) == len(document.sections)
            self._documents |= {now: target if is_same else None, target: target}
        elif text.data != document.data:
            self._documents[now] = now

    def _enter(self, found: RevertedText, now: Document, target: str) -> None:
        """Record the reverted changes and the clashes of a document."""
        self._pieces += found.pieces
        self._renamed |= found.renamed
        self.unmoved |= found.clashing
        for unit, what in found.reverted.done:
            self._record(target, unit.key, what.value)
        if found.has_metadata_changed:
            self._record(target, None, "metadata_restored")
        for unit in found.reverted.clashes:
            reason = _HELD if unit.id in found.held else "it was changed by the commit, and again since"
            self._clash(now.path, unit.key, reason)
        for key in found.metadata_clashes:
            self._clash(now.path, None, f"'{key}' of its front matter was changed by it, and again since")

    def _hold(self, change: _Change) -> None:
        """Preserve lines that the commit moved to this document, or away from it."""
        self.unmoved |= PreservedLines.of(change.before or b"", change.after or b"")

    def _find_current_path(self, path: str) -> str | None:
        """Return the current path of a document that the commit left at a path; None if it is missing."""
        if self._overlay.find(path) is not None:
            return path
        moved = self._overlay.find_moved_path(path)
        if moved is not None or self._overlay.is_laid(path):
            return moved
        place = self._tracing.follow([*reversed(self._list_commits())], SectionPosition(path))
        now = place.path if place else None
        if now is None or self._overlay.find(now) is not None:
            return now
        return self._overlay.find_moved_path(now)

    def _list_commits(self) -> Sequence[Node]:
        if self._states is None:
            self._states = list_commits_between(self._git, str(self._tip.commit), self._commit.id)
        return self._states

    def _read(self, data: bytes, path: str) -> Document:
        self._config.limits.check_document(path, len(data))
        return Document.parse(data, path)

    def _record(self, file: str, slug: str | None, what: str, **more: object) -> None:
        reported: dict[str, object] = {"file": file}
        if slug is not None:
            reported["slug"] = slug
        self.done.append({**reported, "what": what, **more})

    def _clash(self, file: str, slug: str | None, reason: str) -> None:
        self.clashes.append(UndoConflict(file, slug, reason))


def _pair_paths(renames: Renames) -> dict[str, str]:
    """Return the old paths of moved documents with the new ones; two that claim one path are excluded."""
    found: dict[str, str] = {}  # by the new path
    for path in renames.removed:
        now = renames.find_new_path(path)
        if now is not None:
            found.setdefault(now, path)
    return {path: now for now, path in found.items()}


def _order_moves(moved: dict[str, str]) -> dict[str, str]:
    """Return moves in an order in which each can be reverted: first those whose old path is free."""
    ordered: dict[str, str] = {}
    waiting = dict(moved)
    while waiting:
        targets = set(waiting.values())
        free = {path: now for path, now in waiting.items() if path not in targets} or waiting
        ordered |= free
        waiting = {path: now for path, now in waiting.items() if path not in free}
    return ordered
