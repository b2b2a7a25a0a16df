"""restore_document: a whole document as it was at another commit, byte for byte.

restore_section: a section with its subsections, as it was at another commit.

undo: what one commit did to documents taken back, where others may have written since.
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
    from workspace.document.splices import Style
    from workspace.edits.operation import RemovedTexts
    from workspace.edits.undo import CommitUndo
    from workspace.edits.undo_text import PreservedLines
    from workspace.git.ancestry import Node
    from workspace.git.objects import Commit
    from workspace.history.moves import SectionPosition
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_TOLD = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDocument(Operation):
    """Puts a document back as it was at `commit` (a full id), at the path that it has now.

    One that was renamed since is found through its renames; one that was removed comes back at its path.
    """

    name: ClassVar[str] = "restore_document"

    file: str
    commit: str

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lay the old bytes over the snapshot; nothing where the document is as it was.

        Raises InvalidPath, DocumentNotFound for one that has another path now, NotAtRef, NotADocument,
        PathExists, LimitExceeded.
        """
        from workspace.document.document import Document
        from workspace.edits.reinsertion import SHORT_ID_LENGTH

        path = check_path(self.file)
        now = overlay.find(path)
        old = self._old(overlay, path, is_there=now is not None)
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
            answer["metadata_replaced"] = keys[:_TOLD]
            hints = ("the front matter is as it was then, too: see 'metadata_replaced'",)
        return Outcome(path, answer, summary, True, hints, _map_offsets(now, restored))

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return the texts of the document that do not come back."""
        path = check_path(self.file)
        now = overlay.find(path)
        if now is None:
            return ()
        old = self._old(overlay, path, is_there=True)
        kept = {compute_digest(old, item) for item in old.sections}
        gone = [item for item in now.sections if compute_digest(now, item) not in kept]
        return [(now, gone)] if gone else ()

    def _old(self, overlay: Overlay, path: str, *, is_there: bool) -> Document:
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
        twins = restored.sections_by_address(section.address)
        if section.has_heading and len(twins) == 1 and len(now.sections_by_address(section.address)) == 1:
            renamed[path, section.heading_start] = path, twins[0].heading_start
    return OffsetMap((), renamed, {path: path})


class _Found(NamedTuple):
    """The document, the section in it (None if it was removed), and the section as it was."""

    document: Document
    now: Section | None
    old: Document
    then: Section


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSection(DocumentOperation):
    """Puts a section back as it was at `commit` (a full id): its own text and all below it.

    The section is followed back through renames and moves. One that was removed goes where it stood.
    """

    name: ClassVar[str] = "restore_section"
    addresses: ClassVar[tuple[str, ...]] = ("slug",)

    file: str
    slug: str
    commit: str

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lay the changed document over the snapshot; nothing where the section is as it was.

        Raises DocumentNotFound, SectionNotFound for one that stands elsewhere now, AmbiguousAddress,
        NotAtRef, NotADocument, ParentGone, LevelConflict, StructureChanged, LimitExceeded.
        """
        # Imported here because a server answers its first questions without restoring anything.
        from workspace.edits.reinsertion import SHORT_ID_LENGTH, reinsert_section
        from workspace.links.offset_map import OffsetMap, match_same_headings

        document, now, old, then = self._found(overlay)
        put = reinsert_section(document, now, old, then, document.form or style.form)
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
        """Return the section and all below it, less the texts that come back."""
        document, now, old, then = self._found(overlay)
        if now is None:
            return ()
        kept = {compute_digest(old, item) for item in _tree(old, then)}
        gone = [item for item in _tree(document, now) if compute_digest(document, item) not in kept]
        return [(document, gone)] if gone else ()

    def _found(self, overlay: Overlay) -> _Found:
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
            old, section = self._at_ref(then, tip, way, document.path)
            later = HistoryTracer(tip).follow([*reversed(way)], SectionPosition(old.path, old, section))
            if later is not None and later.section is not None:
                raise error  # it was renamed or moved, and has an address of its own now
            return _Found(document, None, old, section)
        origin = self._origin(overlay, way, document, now)
        if origin is None or origin.document is None or origin.section is None:
            return _Found(document, now, *self._at_ref(then, tip, way, document.path))
        return _Found(document, now, origin.document, origin.section)

    def _origin(
        self, overlay: Overlay, way: Sequence[Node], document: Document, now: Section
    ) -> SectionPosition | None:
        """Return where a section stood at the commit; None where that cannot be told."""
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

    def _at_ref(
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


_ROUNDS = 5  # what is held back may hold back more
_NAMED = 3


class NotInHistory(WorkspaceError):
    """The commit is not among the ancestors of the branch's tip, or the one before it is not here."""

    code = "NOT_IN_HISTORY"


class MergeCommit(WorkspaceError):
    """The commit joins several lines of history, so it cannot be told what it did. `parents` are its own."""

    code = "MERGE_COMMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Operation):
    """Takes back what a commit (a full id) did, section by section.

    Sections that it did not change stay as they are. One that it changed and that was changed since is a
    conflict, and nothing is taken back; if it `is_partial`, everything else is.

    It takes away no words but those that the commit wrote, so its caller needs not have seen them.
    """

    name: ClassVar[str] = "undo"

    commit: str
    is_partial: bool = False

    def apply(self, overlay: Overlay, style: Style) -> Outcome:
        """Lay the documents as they would be over the snapshot; nothing where all is taken back already.

        Raises NotInHistory, MergeCommit, Conflict.
        """
        from workspace.edits.reinsertion import SHORT_ID_LENGTH
        from workspace.edits.undo import CommitUndo

        commit = self._commit(overlay.snapshot)
        held = self._held(overlay, commit)
        undoing = CommitUndo(overlay, commit, held)
        undoing.run()
        short = self.commit[:SHORT_ID_LENGTH]
        is_settled = undoing.unmoved <= held
        if undoing.clashes and (not self.is_partial or not undoing.done or not is_settled):
            raise self._conflict(short, undoing)
        subject = commit.message.strip().partition("\n")[0]
        summary = f"Undo {short}: {subject}"
        answer: dict[str, object] = {"undo": self.commit, "undone": undoing.done[:_TOLD]}
        if len(undoing.done) > _TOLD:
            answer["undone_total"] = len(undoing.done)
        if undoing.clashes:
            answer["conflicts"] = undoing.told(_TOLD)
        if undoing.left_alone:
            answer["left_alone"] = undoing.left_alone[:_TOLD]
        hints = _hints(undoing, short)
        if not undoing.done:
            return Outcome("", answer, summary, False, hints)
        path = str(undoing.done[0]["file"])
        return Outcome(path, answer, summary, True, hints, undoing.survival())

    def _held(self, overlay: Overlay, commit: Commit) -> PreservedLines:
        """Return lines that stay where they are: what was moved is taken back on both sides, or on none."""
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
                f"the commit {short} is not in the history of this branch, so there is nothing to take back",
                fix="Choose a commit of this branch.",
                ref=self.commit,
            )
        commit = tip.git.commit(self.commit)
        if len(commit.parents) > 1:
            raise MergeCommit(
                f"{short} is a merge of {len(commit.parents)} lines of history, and cannot be undone as one",
                fix="Undo the commits that it brought, one by one, the newest first.",
                ref=self.commit,
                parents=list(commit.parents),
            )
        if commit.parents and not tip.git.has(commit.parents[0]):
            raise NotInHistory(
                f"the history of this clone ends at {short}, so what it changed cannot be told",
                fix="Fetch the rest with git fetch --unshallow.",
                ref=self.commit,
            )
        return commit

    def _conflict(self, short: str, undoing: CommitUndo) -> ConcurrentChange:
        clashes = undoing.clashes
        named = [f"{clash.file}#{clash.slug}" if clash.slug else clash.file for clash in clashes]
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        return ConcurrentChange(
            f"what {short} did cannot all be taken back, because other commits have changed it since: "
            f"{', '.join(named[:_NAMED])}{more}; nothing was changed",
            fix="Undo the commits that 'conflicts' names first, or "
            + ("restore what you need." if self.is_partial else 'send mode "each" to take back the rest.'),
            ref=self.commit,
            conflicts=undoing.told(_TOLD),
        )


def _hints(undoing: CommitUndo, short: str) -> tuple[str, ...]:
    hints: list[str] = []
    if not undoing.done:
        hints.append(f"nothing of {short} is left to take back")
    if undoing.clashes:
        hints.append("changed since and left as it is: see 'conflicts'")
    if undoing.left_alone:
        hints.append("files that are no documents were left alone: see 'left_alone'")
    return tuple(hints)
