"""Operations that restore old versions, and revert commits.

`restore_document` restores a full document from another commit, byte for byte. `restore_section` restores a
section with its subsections. `undo` reverts the changes of one commit to documents, which later commits may
have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from workspace.document.addresses import SectionNotFound, resolve_section
from workspace.document.section_text import compute_digest
from workspace.edits.operation import DocumentOperation, Operation, Outcome
from workspace.errors import ConcurrentChange, SuggestionKind, SuggestionSource, WorkspaceError
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
    from workspace.history.section_tracker import SectionPosition
    from workspace.snapshot.overlay import Overlay
    from workspace.snapshot.snapshot import Snapshot

_MAX_REPORTED_ITEMS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreDocument(Operation):
    """The restoration of a document from `commit` (a full id), at its current path.

    A renamed document is found through its renames. A removed document is restored at its old path.
    """

    name: ClassVar[str] = "restore_document"

    file: str
    commit: str

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Put the old bytes into the overlay; no change if the document already has them.

        Raises InvalidPath, DocumentNotFound for a document that was moved to another path, NotAtCommit,
        LfsTextMissing, PathExists, LimitExceeded.
        """
        from workspace.document.document import Document
        from workspace.edits.reinsertion import SHORT_ID_LENGTH

        path = check_path(self.file)
        current_document = overlay.find(path)
        old_document = self._read_old_document(overlay, path, is_present=current_document is not None)
        result: dict[str, object] = {"file": path, "from": self.commit}
        if old_document.path != path:
            result["was"] = {"file": old_document.path}
        summary = f"Restore {path} from {self.commit[:SHORT_ID_LENGTH]}"
        if current_document is not None and current_document.data == old_document.data:
            return Outcome(
                path,
                result,
                summary,
                False,
                (f"'{path}' already has its text of {self.commit[:SHORT_ID_LENGTH]}",),
            )
        restored_document = Document.parse(old_document.data, path)
        if current_document is None:
            overlay.create(restored_document)
        else:
            overlay.put(restored_document)
        hints: tuple[str, ...] = ()
        if current_document is not None and (
            replaced_keys := _list_replaced_keys(current_document, restored_document)
        ):
            result["metadata_replaced"] = replaced_keys[:_MAX_REPORTED_ITEMS]
            hints = ("the front matter was restored too: see 'metadata_replaced'",)
        return Outcome(path, result, summary, True, hints, _map_offsets(current_document, restored_document))

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return the texts of the document that the restoration removes."""
        path = check_path(self.file)
        current_document = overlay.find(path)
        if current_document is None:
            return ()
        old_document = self._read_old_document(overlay, path, is_present=True)
        old_digests = {compute_digest(old_document, item) for item in old_document.sections}
        removed_sections = [
            item
            for item in current_document.sections
            if compute_digest(current_document, item) not in old_digests
        ]
        return [(current_document, removed_sections)] if removed_sections else ()

    def _read_old_document(self, overlay: Overlay, path: str, *, is_present: bool) -> Document:
        """Return the document at the commit, with the path that it had at that commit."""
        from workspace.edits.reinsertion import (
            SHORT_ID_LENGTH,
            HistoryTracer,
            NotAtCommit,
            list_commits_between,
            read_version,
        )
        from workspace.history.section_tracker import SectionPosition
        from workspace.snapshot.overlay import PathExists
        from workspace.snapshot.snapshot import Snapshot

        tip = overlay.snapshot
        snapshot = Snapshot(tip.git, self.commit)
        if tip.commit is None:
            raise tip.make_not_found_error(path)
        history = list_commits_between(tip.git, tip.commit, self.commit)
        if is_present and tip.entry(path) is not None:
            origin = HistoryTracer(tip).map_position(history, SectionPosition(path))
            if origin is not None:
                version = read_version(snapshot, origin.path, tip.config)
                if version is not None:
                    return version
        old_document = read_version(snapshot, path, tip.config)
        if old_document is None:
            raise NotAtCommit(
                f"'{path}' did not exist at {self.commit[:SHORT_ID_LENGTH]}",
                fix="Choose a commit in which it exists.",
                suggestion_source=SuggestionSource(SuggestionKind.COMMITS, path),
                ref=self.commit,
            )
        later_position = HistoryTracer(tip).map_position([*reversed(history)], SectionPosition(path))
        if later_position is not None and later_position.path != path:
            if is_present:
                raise PathExists(
                    f"'{path}' is another document now: the document of {self.commit[:SHORT_ID_LENGTH]} is "
                    f"at '{later_position.path}'",
                    fix=f"Restore '{later_position.path}'.",
                    path=path,
                )
            raise _make_moved_error(tip, path, later_position.path)
        return old_document


def _make_moved_error(tip: Snapshot, path: str, new_path: str) -> DocumentNotFound:
    return DocumentNotFound(
        f"'{path}' was moved to '{new_path}'", fix=f"Restore '{new_path}'.", candidates=[new_path]
    )


def _list_replaced_keys(current_document: Document, restored_document: Document) -> list[str]:
    """Return the keys of front matter that the restoration removes or changes."""
    old_values = restored_document.front_matter
    return [
        key
        for key, value in current_document.front_matter.items()
        if key not in old_values or old_values[key] != value
    ]


def _map_offsets(current_document: Document | None, restored_document: Document) -> OffsetMap:
    """Return the offset map of the restoration, in which headings with equal addresses match."""
    path = restored_document.path
    if current_document is None:
        return OffsetMap.of_creation(path)
    new_heading_positions = {}
    for section in current_document.sections:
        candidates = restored_document.sections_by_address(section.address)
        if (
            section.has_heading
            and len(candidates) == 1
            and len(current_document.sections_by_address(section.address)) == 1
        ):
            new_heading_positions[path, section.heading_start] = path, candidates[0].heading_start
    return OffsetMap((), new_heading_positions, {path: path})


class _SectionVersions(NamedTuple):
    """The current document and section (None if it was removed), and the old document and section."""

    document: Document
    current_section: Section | None
    old_document: Document
    old_section: Section


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreSection(DocumentOperation):
    """The restoration of a section from `commit` (a full id): its own text and its subsections.

    The section is traced back through renames and moves. A removed section is reinserted at its old position.
    """

    name: ClassVar[str] = "restore_section"
    address_fields: ClassVar[tuple[str, ...]] = ("slug",)

    file: str
    slug: str
    commit: str

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Put the changed document into the overlay; no change if the section already has the old text.

        Raises DocumentNotFound, SectionNotFound for a section that was renamed or moved, AmbiguousAddress,
        NotAtCommit, LfsTextMissing, ParentMissing, LevelConflict, StructureChanged, LimitExceeded.
        """
        # Imported late, because a server can answer its first calls without these modules.
        from workspace.edits.reinsertion import SHORT_ID_LENGTH, reinsert_section
        from workspace.links.offset_map import OffsetMap, match_rewritten_headings

        document, current_section, old_document, old_section = self._find_versions(overlay)
        reinsertion = reinsert_section(
            document, current_section, old_document, old_section, document.anchor_form or context.anchor_form
        )
        path, slug = document.path, reinsertion.section.key
        result: dict[str, object] = {"file": path, "slug": slug, "from": self.commit}
        if (old_document.path, old_section.key) != (path, slug):
            result["was"] = {"file": old_document.path, "slug": old_section.key}
        summary = f"Restore {reinsertion.section.label} of {path} from {self.commit[:SHORT_ID_LENGTH]}"
        if reinsertion.document.data == document.data:
            hint = f"'{slug}' already has its text of {self.commit[:SHORT_ID_LENGTH]}"
            return Outcome(path, result, summary, False, (hint,))
        subsections = [item.key for item in reinsertion.document.descendants(reinsertion.section)]
        if subsections and not reinsertion.section.is_preamble:
            result["subsections"] = subsections
        overlay.put(reinsertion.document)
        new_heading_positions = match_rewritten_headings(document, reinsertion.document, reinsertion.splices)
        offset_map = OffsetMap.of_splices(
            document, reinsertion.splices, new_heading_positions=new_heading_positions
        )
        return Outcome(path, result, summary, True, offset_map=offset_map)

    def find_removed_texts(self, overlay: Overlay) -> Sequence[RemovedTexts]:
        """Return the texts of the section and its subsections that the restoration removes."""
        document, current_section, old_document, old_section = self._find_versions(overlay)
        if current_section is None:
            return ()
        old_digests = {
            compute_digest(old_document, item) for item in _list_with_subsections(old_document, old_section)
        }
        removed_sections = [
            item
            for item in _list_with_subsections(document, current_section)
            if compute_digest(document, item) not in old_digests
        ]
        return [(document, removed_sections)] if removed_sections else ()

    def _find_versions(self, overlay: Overlay) -> _SectionVersions:
        from workspace.edits.reinsertion import HistoryTracer, list_commits_between
        from workspace.history.section_tracker import SectionPosition
        from workspace.snapshot.snapshot import Snapshot

        tip = overlay.snapshot
        document = overlay.document(check_path(self.file))
        snapshot = Snapshot(tip.git, self.commit)
        history = list_commits_between(tip.git, str(tip.commit), self.commit)
        try:
            current_section = resolve_section(document, self.slug)
        except SectionNotFound as error:
            old_document, section = self._find_at_commit(snapshot, tip, history, document.path)
            later_position = HistoryTracer(tip).map_position(
                [*reversed(history)], SectionPosition(old_document.path, old_document, section)
            )
            if later_position is not None and later_position.section is not None:
                raise error  # the section was renamed or moved, and has another address now
            return _SectionVersions(document, None, old_document, section)
        origin = self._find_origin(overlay, history, document, current_section)
        if origin is None or origin.document is None or origin.section is None:
            return _SectionVersions(
                document, current_section, *self._find_at_commit(snapshot, tip, history, document.path)
            )
        return _SectionVersions(document, current_section, origin.document, origin.section)

    def _find_origin(
        self, overlay: Overlay, history: Sequence[Node], document: Document, current_section: Section
    ) -> SectionPosition | None:
        """Return the position that a current section had at the commit; None if it is unknown."""
        from workspace.diff.sections import Evidence, SectionMatch
        from workspace.edits.reinsertion import HistoryTracer
        from workspace.history.section_tracker import SectionPosition

        tip, path = overlay.snapshot, document.path
        if current_section.is_preamble or tip.entry(path) is None:
            return None
        committed_document = tip.document(path)
        section: Section | None = current_section
        if overlay.has_changed(path):
            section = SectionMatch(document, committed_document, Evidence.TEXT).find_successor(
                current_section
            )
        return (
            HistoryTracer(tip).map_position(history, SectionPosition(path, committed_document, section))
            if section
            else None
        )

    def _find_at_commit(
        self, snapshot: Snapshot, tip: Snapshot, history: Sequence[Node], path: str
    ) -> tuple[Document, Section]:
        """Return the document at the commit, and its section with the requested address.

        Raises NotAtCommit.
        """
        from workspace.edits.reinsertion import SHORT_ID_LENGTH, HistoryTracer, NotAtCommit, read_version
        from workspace.history.section_tracker import SectionPosition

        position = (
            HistoryTracer(tip).map_position(history, SectionPosition(path)) if tip.entry(path) else None
        )
        path = position.path if position else path
        old_document = read_version(snapshot, path, tip.config)
        keys = [item.key for item in old_document.sections] if old_document else []
        try:
            if old_document is not None:
                return old_document, resolve_section(old_document, self.slug)
        except SectionNotFound:
            pass
        subject = f"the section '{self.slug[:200]}' of {path}" if old_document is not None else f"'{path}'"
        raise NotAtCommit(
            f"{subject} did not exist at {self.commit[:SHORT_ID_LENGTH]}",
            fix="Choose a commit in which it exists.",
            suggestion_source=SuggestionSource(SuggestionKind.COMMITS, path, self.slug),
            ref=self.commit,
            candidates=find_nearest(self.slug, keys) or keys[:5],
        )


def _list_with_subsections(document: Document, section: Section) -> tuple[Section, ...]:
    return (section,) if section.is_preamble else (section, *document.descendants(section))


# Preserved lines may require further preserved lines, so the search is repeated.
_MAX_ROUNDS = 5
_MAX_NAMED_CONFLICTS = 3


class NotInHistory(WorkspaceError):
    """An error: the commit is not in the history of the branch, or its parent is missing in the clone."""

    code = "NOT_IN_HISTORY"


class MergeCommit(WorkspaceError):
    """An error: the commit has several parents, so its own change is undefined. `parents` are the ids."""

    code = "MERGE_COMMIT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo(Operation):
    """The revert of the changes of a commit (a full id), section by section.

    Sections that the commit did not change stay as they are. A section that later commits have changed is a
    conflict, and nothing is reverted. With `is_partial`, all sections without a conflict are reverted.

    Undo removes only text that the commit wrote, so the caller need not have read that text.
    """

    name: ClassVar[str] = "undo"

    commit: str
    is_partial: bool = False

    def apply(self, overlay: Overlay, context: EditContext) -> Outcome:
        """Put the reverted documents into the overlay; no change if the commit is already reverted.

        Raises NotInHistory, MergeCommit, ConcurrentChange.
        """
        from workspace.edits.reinsertion import SHORT_ID_LENGTH
        from workspace.edits.undo import CommitUndo

        commit = self._read_commit(overlay.snapshot)
        preserved_lines = self._find_preserved_lines(overlay, commit)
        commit_undo = CommitUndo(overlay, commit, preserved_lines)
        commit_undo.run()
        short_id = self.commit[:SHORT_ID_LENGTH]
        is_complete = commit_undo.unreverted_lines <= preserved_lines
        if commit_undo.conflicts and (not self.is_partial or not commit_undo.actions or not is_complete):
            raise self._make_conflict_error(short_id, commit_undo)
        subject = commit.message.strip().partition("\n")[0]
        summary = f"Undo {short_id}: {subject}"
        result: dict[str, object] = {"undo": self.commit, "undone": commit_undo.actions[:_MAX_REPORTED_ITEMS]}
        if len(commit_undo.actions) > _MAX_REPORTED_ITEMS:
            result["undone_total"] = len(commit_undo.actions)
        if commit_undo.conflicts:
            result["conflicts"] = commit_undo.describe_conflicts(_MAX_REPORTED_ITEMS)
        if commit_undo.skipped_paths:
            result["left_alone"] = commit_undo.skipped_paths[:_MAX_REPORTED_ITEMS]
        hints = _make_hints(commit_undo, short_id)
        if not commit_undo.actions:
            return Outcome("", result, summary, False, hints)
        path = str(commit_undo.actions[0]["file"])
        return Outcome(path, result, summary, True, hints, commit_undo.make_offset_map())

    def _find_preserved_lines(self, overlay: Overlay, commit: Commit) -> PreservedLines:
        """Return the lines that must not be reverted.

        They are lines that the commit moved, and whose source or target conflicts. So a move is reverted in
        both its source and its target, or in neither.
        """
        from workspace.edits.undo import CommitUndo
        from workspace.edits.undo_text import NO_LINES

        preserved_lines = NO_LINES
        for _ in range(_MAX_ROUNDS if self.is_partial else 0):
            attempt = CommitUndo(overlay.copy(), commit, preserved_lines)
            attempt.run()
            if attempt.unreverted_lines <= preserved_lines:
                break
            preserved_lines |= attempt.unreverted_lines
        return preserved_lines

    def _read_commit(self, tip: Snapshot) -> Commit:
        """Return the commit. Raises NotInHistory, MergeCommit."""
        from workspace.edits.reinsertion import SHORT_ID_LENGTH

        short_id = self.commit[:SHORT_ID_LENGTH]
        if tip.commit is None or not tip.git.is_descendant(tip.commit, self.commit):
            raise NotInHistory(
                f"the commit {short_id} is not in the history of this branch, so there is nothing to undo",
                fix="Choose a commit of this branch.",
                ref=self.commit,
            )
        commit = tip.git.commit(self.commit)
        if len(commit.parents) > 1:
            raise MergeCommit(
                f"{short_id} is a merge commit with {len(commit.parents)} parents, "
                "and cannot be undone as one commit",
                fix="Undo the commits that it merged one by one, the newest first.",
                ref=self.commit,
                parents=list(commit.parents),
            )
        if commit.parents and not tip.git.has_object(commit.parents[0]):
            raise NotInHistory(
                f"the history of this clone ends at {short_id}, so its changes are unknown",
                fix="Fetch the rest with git fetch --unshallow.",
                ref=self.commit,
            )
        return commit

    def _make_conflict_error(self, short_id: str, commit_undo: CommitUndo) -> ConcurrentChange:
        conflicts = commit_undo.conflicts
        names = [
            f"{conflict.file}#{conflict.slug}" if conflict.slug else conflict.file for conflict in conflicts
        ]
        more_text = (
            f" and {len(names) - _MAX_NAMED_CONFLICTS} more" if len(names) > _MAX_NAMED_CONFLICTS else ""
        )
        return ConcurrentChange(
            f"commit {short_id} cannot be undone completely, because later commits have changed these texts: "
            f"{', '.join(names[:_MAX_NAMED_CONFLICTS])}{more_text}; nothing was changed",
            fix="Undo the commits that 'conflicts' names first, or "
            + ("restore what you need." if self.is_partial else 'send mode "each" to undo the rest.'),
            ref=self.commit,
            conflicts=commit_undo.describe_conflicts(_MAX_REPORTED_ITEMS),
        )


def _make_hints(commit_undo: CommitUndo, short_id: str) -> tuple[str, ...]:
    hints: list[str] = []
    if not commit_undo.actions:
        hints.append(f"{short_id} has no changes left to undo")
    if commit_undo.conflicts:
        hints.append("texts that later commits have changed were not reverted: see 'conflicts'")
    if commit_undo.skipped_paths:
        hints.append("files that are not documents were skipped: see 'left_alone'")
    return tuple(hints)
