"""restore_document: restore a whole document as it was at another commit, byte for byte.

restore_section: restore a section with its subsections as it was at another commit.

undo: revert the changes of one commit to documents, which later commits may have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.document.addresses import SectionNotFound, resolve_section
from workspace.document.section_text import compute_digest
from workspace.edits.operation import DocumentOperation, Operation, Outcome
from workspace.errors import ConcurrentChange, HintKind, SuggestionSource, WorkspaceError
from workspace.links.offset_map import OffsetMap
from workspace.nearest import find_nearest
from workspace.paths import check_path
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.splices import EditContext
    from workspace.edits.operation import RemovedTexts
    from workspace.edits.undo import CommitUndo
    from workspace.edits.undo_text import PreservedLines
    from workspace.git.ancestry import Node
    from workspace.git.objects import Commit
    from workspace.history.moves import SectionPosition
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_MAX_REPORTED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDocument(Operation):
    """Puts a document back as it was at `commit` (a full id), at the path that it has now.

    A renamed document is found through its renames; a removed document returns to its path.
    """

    name: ClassVar[str] = "restore_document"

    file: str
    commit: str

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Lay the old bytes over the snapshot; nothing where the document is as it was.

        Raises InvalidPath, DocumentNotFound for one that has another path now, NotAtRef, NotADocument,
        PathExists, LimitExceeded.
        """
        from workspace.document.document import Document
        from workspace.edits.reinsertion import SHORT_ID_LENGTH

        path = check_path(self.file)
        now = overlay.find(path)
        old = self._read_old(overlay, path, is_there=now is not None)
        answer: dict[str, object] = {"file": path, "from": self.commit}
        if old.path != path:
            answer["was"] = {"file": old.path}
        summary = f"Restore {path} from {self.commit[:SHORT_ID_LENGTH]}"
        if now is not None and now.data == old.data:
            return Outcome(
                path, answer, summary, False, (f"'{path}' is as it was at {self.commit[:SHORT_ID_LENGTH]}",)
            )
        restored = Document.parse(old.data, path)
        if now is None:
            overlay.create(restored)
        else:
            overlay.put(restored)
        hints: tuple[str, ...] = ()
        if now is not None and (keys := _list_replaced_keys(now, restored)):
            answer["metadata_replaced"] = keys[:_MAX_REPORTED]
            hints = ("the front matter is as it was then, too: see 'metadata_replaced'",)
        return Outcome(path, answer, summary, True, hints, _map_offsets(now, restored))

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return the texts of the document that the restore removes."""
        path = check_path(self.file)
        now = overlay.find(path)
        if now is None:
            return ()
        old = self._read_old(overlay, path, is_there=True)
        old_digests = {compute_digest(old, item) for item in old.sections}
        removed = [item for item in now.sections if compute_digest(now, item) not in old_digests]
        return [(now, removed)] if removed else ()

    def _read_old(self, overlay: Overlay, path: str, *, is_there: bool) -> Document:
        """Return the document as it was, at the path that it had."""
        from workspace.edits.reinsertion import (
            SHORT_ID_LENGTH,
            HistoryTracer,
            NotAtRef,
            list_commits_between,
            read_version,
        )
        from workspace.history.moves import SectionPosition
        from workspace.snapshot.overlay import PathExists
        from workspace.snapshot.snapshot import Snapshot

        tip = overlay.snapshot
        then = Snapshot(tip.git, self.commit)
        if tip.commit is None:
            raise tip.not_found(path)
        way = list_commits_between(tip.git, tip.commit, self.commit)
        if is_there and tip.entry(path) is not None:
            origin = HistoryTracer(tip).follow(way, SectionPosition(path))
            if origin is not None:
                found = read_version(then, origin.path, tip.config)
                if found is not None:
                    return found
        old = read_version(then, path, tip.config)
        if old is None:
            raise NotAtRef(
                f"'{path}' was not there at {self.commit[:SHORT_ID_LENGTH]}",
                fix="Choose a commit in which it was.",
                among=SuggestionSource(HintKind.COMMITS, path),
                ref=self.commit,
            )
        later = HistoryTracer(tip).follow([*reversed(way)], SectionPosition(path))
        if later is not None and later.path != path:
            if is_there:
                raise PathExists(
                    f"'{path}' is another document now: the one of {self.commit[:SHORT_ID_LENGTH]} is at "
                    f"'{later.path}'",
                    fix=f"Restore '{later.path}'.",
                    path=path,
                )
            raise _find_moved(tip, path, later.path)
        return old


def _find_moved(tip: Snapshot, path: str, now: str) -> DocumentNotFound:
    return DocumentNotFound(f"'{path}' was moved to '{now}'", fix=f"Restore '{now}'.", candidates=[now])


def _list_replaced_keys(now: Document, restored: Document) -> list[str]:
    """Return the front matter keys that are removed or changed; no read is required before that."""
    then = restored.front_matter
    return [key for key, value in now.front_matter.items() if key not in then or then[key] != value]


def _map_offsets(now: Document | None, restored: Document) -> OffsetMap:
    """Return what links to the document still mean: headings of the same address are the same."""
    path = restored.path
    if now is None:
        return OffsetMap.of_creation(path)
    renamed = {}
    for section in now.sections:
        candidates = restored.sections_by_address(section.address)
        if (
            section.has_heading
            and len(candidates) == 1
            and len(now.sections_by_address(section.address)) == 1
        ):
            renamed[path, section.heading_start] = path, candidates[0].heading_start
    return OffsetMap((), renamed, {path: path})


class _Found(NamedTuple):
    """The document, the section in it (None if it was removed), and the section as it was."""

    document: Document
    now: Section | None
    old: Document
    then: Section


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSection(DocumentOperation):
    """Restores a section as it was at `commit` (a full id): its own text and its subsections.

    The section is traced back through renames and moves. A removed section returns to its old place.
    """

    name: ClassVar[str] = "restore_section"
    addresses: ClassVar[tuple[str, ...]] = ("slug",)

    file: str
    slug: str
    commit: str

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Put the changed document into the overlay. An unchanged section changes nothing.

        Raises DocumentNotFound, SectionNotFound for a section that is elsewhere now, AmbiguousAddress,
        NotAtRef, NotADocument, ParentMissing, LevelConflict, StructureChanged, LimitExceeded.
        """
        # Imported here because a server answers its first questions without restoring anything.
        from workspace.edits.reinsertion import SHORT_ID_LENGTH, reinsert_section
        from workspace.links.offset_map import OffsetMap, match_same_headings

        document, now, old, then = self._find_versions(overlay)
        put = reinsert_section(document, now, old, then, document.form or context.form)
        path, slug = document.path, put.section.key
        answer: dict[str, object] = {"file": path, "slug": slug, "from": self.commit}
        if (old.path, then.key) != (path, slug):
            answer["was"] = {"file": old.path, "slug": then.key}
        summary = f"Restore {slug} of {path} from {self.commit[:SHORT_ID_LENGTH]}"
        if put.document.data == document.data:
            hint = f"'{slug}' is as it was at {self.commit[:SHORT_ID_LENGTH]}"
            return Outcome(path, answer, summary, False, (hint,))
        below = [item.key for item in put.document.descendants(put.section)]
        if below and not put.section.is_preamble:
            answer["subsections"] = below
        overlay.put(put.document)
        renamed = match_same_headings(document, put.document, put.splices)
        offset_map = OffsetMap.of_splices(document, put.splices, renamed=renamed)
        return Outcome(path, answer, summary, True, offset_map=offset_map)

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return the texts of the section and its subsections that the restore removes."""
        document, now, old, then = self._find_versions(overlay)
        if now is None:
            return ()
        old_digests = {compute_digest(old, item) for item in _tree(old, then)}
        removed = [item for item in _tree(document, now) if compute_digest(document, item) not in old_digests]
        return [(document, removed)] if removed else ()

    def _find_versions(self, overlay: Overlay) -> _Found:
        from workspace.edits.reinsertion import HistoryTracer, list_commits_between
        from workspace.history.moves import SectionPosition
        from workspace.snapshot.snapshot import Snapshot

        tip = overlay.snapshot
        document = overlay.document(check_path(self.file))
        then = Snapshot(tip.git, self.commit)
        way = list_commits_between(tip.git, str(tip.commit), self.commit)
        try:
            now = resolve_section(document, self.slug)
        except SectionNotFound as error:
            old, section = self._find_at_commit(then, tip, way, document.path)
            later = HistoryTracer(tip).follow([*reversed(way)], SectionPosition(old.path, old, section))
            if later is not None and later.section is not None:
                raise error  # it was renamed or moved, and has an address of its own now
            return _Found(document, None, old, section)
        origin = self._origin(overlay, way, document, now)
        if origin is None or origin.document is None or origin.section is None:
            return _Found(document, now, *self._find_at_commit(then, tip, way, document.path))
        return _Found(document, now, origin.document, origin.section)

    def _origin(
        self, overlay: Overlay, way: Sequence[Node], document: Document, now: Section
    ) -> SectionPosition | None:
        """Return the position of a section at the commit; None if it is unknown."""
        from workspace.diff.sections import Evidence, SectionMatch
        from workspace.edits.reinsertion import HistoryTracer
        from workspace.history.moves import SectionPosition

        tip, path = overlay.snapshot, document.path
        if now.is_preamble or tip.entry(path) is None:
            return None
        committed = tip.document(path)
        section: Section | None = now
        if overlay.is_laid(path):
            section = SectionMatch(document, committed, Evidence.TEXT).successor(now)
        return HistoryTracer(tip).follow(way, SectionPosition(path, committed, section)) if section else None

    def _find_at_commit(
        self, then: Snapshot, tip: Snapshot, way: Sequence[Node], path: str
    ) -> tuple[Document, Section]:
        """Return the document as it was, and the section of the same address in it. Raises NotAtRef."""
        from workspace.edits.reinsertion import SHORT_ID_LENGTH, HistoryTracer, NotAtRef, read_version
        from workspace.history.moves import SectionPosition

        place = HistoryTracer(tip).follow(way, SectionPosition(path)) if tip.entry(path) else None
        path = place.path if place else path
        old = read_version(then, path, tip.config)
        known = [item.key for item in old.sections] if old else []
        try:
            if old is not None:
                return old, resolve_section(old, self.slug)
        except SectionNotFound:
            pass
        what = f"the section '{self.slug[:200]}' of {path}" if old is not None else f"'{path}'"
        raise NotAtRef(
            f"{what} was not there at {self.commit[:SHORT_ID_LENGTH]}",
            fix="Choose a commit in which it was.",
            among=SuggestionSource(HintKind.COMMITS, path, self.slug),
            ref=self.commit,
            candidates=find_nearest(self.slug, known) or known[:5],
        )


def _tree(document: Document, section: Section) -> tuple[Section, ...]:
    return (section,) if section.is_preamble else (section, *document.descendants(section))


_ROUNDS = 5  # lines that are held may hold further lines
_NAMED = 3


class NotInHistory(WorkspaceError):
    """The commit is not among the ancestors of the branch's tip, or the one before it is not here."""

    code = "NOT_IN_HISTORY"


class MergeCommit(WorkspaceError):
    """The commit has several parents, so its own change is undefined. `parents` are its parents."""

    code = "MERGE_COMMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Operation):
    """Reverts the changes of a commit (a full id), section by section.

    Sections that the commit did not change stay as they are. A section that was changed again since is a
    conflict, and nothing is reverted. With `is_partial`, all other sections are reverted.

    Undo removes only words that the commit wrote, so the caller need not have read them.
    """

    name: ClassVar[str] = "undo"

    commit: str
    is_partial: bool = False

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Put the reverted documents into the overlay. A commit that is reverted already changes nothing.

        Raises NotInHistory, MergeCommit, Conflict.
        """
        from workspace.edits.reinsertion import SHORT_ID_LENGTH
        from workspace.edits.undo import CommitUndo

        commit = self._commit(overlay.snapshot)
        held = self._find_held_lines(overlay, commit)
        undoing = CommitUndo(overlay, commit, held)
        undoing.run()
        short = self.commit[:SHORT_ID_LENGTH]
        is_settled = undoing.unmoved <= held
        if undoing.clashes and (not self.is_partial or not undoing.done or not is_settled):
            raise self._conflict(short, undoing)
        subject = commit.message.strip().partition("\n")[0]
        summary = f"Undo {short}: {subject}"
        answer: dict[str, object] = {"undo": self.commit, "undone": undoing.done[:_MAX_REPORTED]}
        if len(undoing.done) > _MAX_REPORTED:
            answer["undone_total"] = len(undoing.done)
        if undoing.clashes:
            answer["conflicts"] = undoing.describe_clashes(_MAX_REPORTED)
        if undoing.left_alone:
            answer["left_alone"] = undoing.left_alone[:_MAX_REPORTED]
        hints = _hints(undoing, short)
        if not undoing.done:
            return Outcome("", answer, summary, False, hints)
        path = str(undoing.done[0]["file"])
        return Outcome(path, answer, summary, True, hints, undoing.offset_map())

    def _find_held_lines(self, overlay: Overlay, commit: Commit) -> PreservedLines:
        """Return lines that stay where they are: a move is reverted on both sides, or on none."""
        from workspace.edits.undo import CommitUndo
        from workspace.edits.undo_text import NOTHING

        held = NOTHING
        for _ in range(_ROUNDS if self.is_partial else 0):
            tried = CommitUndo(overlay.copy(), commit, held)
            tried.run()
            if tried.unmoved <= held:
                break
            held |= tried.unmoved
        return held

    def _commit(self, tip: Snapshot) -> Commit:
        """Return the commit. Raises NotInHistory, MergeCommit."""
        from workspace.edits.reinsertion import SHORT_ID_LENGTH

        short = self.commit[:SHORT_ID_LENGTH]
        if tip.commit is None or not tip.git.is_descendant(tip.commit, self.commit):
            raise NotInHistory(
                f"the commit {short} is not in the history of this branch, so there is nothing to undo",
                fix="Choose a commit of this branch.",
                ref=self.commit,
            )
        commit = tip.git.commit(self.commit)
        if len(commit.parents) > 1:
            raise MergeCommit(
                f"{short} is a merge of {len(commit.parents)} lines of history, and cannot be undone as one",
                fix="Undo the commits that it merged one by one, the newest first.",
                ref=self.commit,
                parents=list(commit.parents),
            )
        if commit.parents and not tip.git.has(commit.parents[0]):
            raise NotInHistory(
                f"the history of this clone ends at {short}, so its changes are unknown",
                fix="Fetch the rest with git fetch --unshallow.",
                ref=self.commit,
            )
        return commit

    def _conflict(self, short: str, undoing: CommitUndo) -> ConcurrentChange:
        clashes = undoing.clashes
        named = [f"{clash.file}#{clash.slug}" if clash.slug else clash.file for clash in clashes]
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        return ConcurrentChange(
            f"commit {short} cannot be undone completely, because other commits have changed texts since: "
            f"{', '.join(named[:_NAMED])}{more}; nothing was changed",
            fix="Undo the commits that 'conflicts' names first, or "
            + ("restore what you need." if self.is_partial else 'send mode "each" to undo the rest.'),
            ref=self.commit,
            conflicts=undoing.describe_clashes(_MAX_REPORTED),
        )


def _hints(undoing: CommitUndo, short: str) -> tuple[str, ...]:
    hints: list[str] = []
    if not undoing.done:
        hints.append(f"nothing of {short} is left to undo")
    if undoing.clashes:
        hints.append("changed since and left as it is: see 'conflicts'")
    if undoing.left_alone:
        hints.append("files that are no documents were left alone: see 'left_alone'")
    return tuple(hints)
