"""Compare two commits: find documents that were added, removed, renamed or edited.

A section that moved to another document is matched by its text and its name, if no other removed or added
section has the same text. Its subsections are moved with it. Destinations of links are ignored in the text,
because a move rewrites them. The move is reported in both documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.changes import DocumentChange, DocumentChangeKind
from workspace.diff.documents import DocumentComparison, compare_matched_sections
from workspace.diff.renames import Renames
from workspace.diff.sections import have_same_name
from workspace.document.section_text import read_comparable_text
from workspace.errors import WorkspaceError
from workspace.snapshot.snapshot import list_changed_documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from workspace.diff.changes import SectionChange
    from workspace.diff.documents import DocumentComparison, DocumentVersion
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.snapshot.snapshot import Snapshot


class CrossDocumentMoves(NamedTuple):
    """The changes of sections that moved to or from a document.

    `departed_changes` maps the old positions of sections that moved to another document to their changes.
    `arrived_changes` maps the new positions of sections that moved from another document to their changes.
    """

    departed_changes: dict[int, list[SectionChange]]
    arrived_changes: dict[int, list[SectionChange]]


class _SectionOfDocument(NamedTuple):
    """A section of a version of one of the documents, and the index of that document."""

    document_index: int
    version: DocumentVersion
    section: Section


def detect_cross_document_moves(comparisons: Sequence[DocumentComparison | None]) -> list[CrossDocumentMoves]:
    """Return the moves of each document; a document that cannot be read has no comparison and no moves."""
    moves = [CrossDocumentMoves({}, {}) for _ in comparisons]
    for (old_index, new_index), pairs in _match_across_documents(comparisons).items():
        old, new = comparisons[old_index], comparisons[new_index]
        if old is None or new is None or old.old is None or new.new is None:
            continue
        old_sections, new_sections = old.old.document.sections, new.new.document.sections
        # A section that moved together with its parent is not a separate move.
        moved_positions = {
            new_position
            for new_position, old_position in pairs.items()
            if pairs.get(_get_parent_position(new_sections[new_position]))
            != _get_parent_position(old_sections[old_position])
        }
        changes = compare_matched_sections(old.old, new.new, pairs, moved_positions)
        for new_position, old_position in pairs.items():
            moves[new_index].arrived_changes[new_position] = changes.get(new_position, [])
            moves[old_index].departed_changes[old_position] = (
                changes.get(new_position, [])[:1] if new_position in moved_positions else []
            )
    return moves


def _get_parent_position(section: Section) -> int:
    return -1 if section.parent is None else section.parent


def _match_across_documents(
    comparisons: Sequence[DocumentComparison | None],
) -> dict[tuple[int, int], dict[int, int]]:
    """Return the old positions of moved sections by their new positions, for each pair of documents."""
    removed_by_text, added_by_text = (
        _group_by_text(_list_removed(comparisons)),
        _group_by_text(_list_added(comparisons)),
    )
    moves: dict[tuple[int, int], dict[int, int]] = {}
    matched_positions: set[tuple[int, int]] = set()
    for text, removed_sections in removed_by_text.items():
        added_sections = added_by_text.get(text, ())
        if len(removed_sections) != 1 or len(added_sections) != 1:
            continue
        old, new = removed_sections[0], added_sections[0]
        if old.document_index != new.document_index and have_same_name(old.section, new.section):
            pairs = moves.setdefault((old.document_index, new.document_index), {})
            pairs[new.section.position] = old.section.position
            matched_positions |= {(old.document_index, old.section.position)}
    for (old_index, new_index), pairs in moves.items():
        _add_subsections(comparisons[old_index], comparisons[new_index], old_index, pairs, matched_positions)
    return moves


def _add_subsections(
    old: DocumentComparison | None,
    new: DocumentComparison | None,
    document_index: int,
    pairs: dict[int, int],
    matched_positions: set[tuple[int, int]],
) -> None:
    """Pair subsections of paired sections by a unique name."""
    if old is None or new is None or old.old is None or new.new is None:
        return
    old_document, new_document = old.old.document, new.new.document
    removed_positions = {item.position for item in old.removed_sections}
    added_positions = {item.position for item in new.added_sections}
    queue = list(pairs.items())
    paired_positions = {*pairs.values()}
    while queue:
        new_parent, old_parent = queue.pop()
        children_by_slug: dict[str, list[Section]] = {}
        for item in old_document.children(old_document.sections[old_parent]):
            children_by_slug.setdefault(item.slug, []).append(item)
        for item in new_document.children(new_document.sections[new_parent]):
            namesakes = children_by_slug.pop(item.slug, [])
            if len(namesakes) != 1 or item.position in pairs or item.position not in added_positions:
                continue
            old_position = namesakes[0].position
            if (
                old_position in removed_positions
                and old_position not in paired_positions
                and (document_index, old_position) not in matched_positions
            ):
                pairs[item.position] = old_position
                paired_positions.add(old_position)
                matched_positions.add((document_index, old_position))
                queue.append((item.position, old_position))


def _list_removed(comparisons: Sequence[DocumentComparison | None]) -> Iterator[_SectionOfDocument]:
    for document_index, item in enumerate(comparisons):
        if item and item.old:
            yield from (
                _SectionOfDocument(document_index, item.old, section) for section in item.removed_sections
            )


def _list_added(comparisons: Sequence[DocumentComparison | None]) -> Iterator[_SectionOfDocument]:
    for document_index, item in enumerate(comparisons):
        if item and item.new:
            yield from (
                _SectionOfDocument(document_index, item.new, section) for section in item.added_sections
            )


def _group_by_text(sections: Iterator[_SectionOfDocument]) -> dict[bytes, list[_SectionOfDocument]]:
    sections_by_text: dict[bytes, list[_SectionOfDocument]] = {}
    for item in sections:
        text = read_comparable_text(item.version.document, item.section)
        if text and not item.section.is_preamble:
            sections_by_text.setdefault(text, []).append(item)
    return sections_by_text


# Above this number, moves between documents are not detected, because all documents must be in memory.
_MAX_DOCUMENTS = 200

# If there are more pairs of a removed and an added document, only documents with equal bytes match.
_MAX_PAIRS = 1_000_000


class _PathPair(NamedTuple):
    """The old and the new path of a document; None if the document is missing in that version."""

    old: str | None
    new: str | None


class _ComparedDocument(NamedTuple):
    """A document with its comparison; `error_code` is the code of the error if a version cannot be read."""

    pair: _PathPair
    comparison: DocumentComparison | None
    title: str
    error_code: str | None


def compare_trees(old: Snapshot, new: Snapshot) -> Iterator[DocumentChange]:
    """Yield the changes of the documents between two snapshots of one repository, in order of their paths.

    Moves of sections between documents are detected if at most 200 documents differ. Documents that cannot be
    read (for example too large, or pointers of Git LFS) have no section changes in the result.
    """
    pairs = _pair_paths(old, new)
    if len(pairs) > _MAX_DOCUMENTS:
        for pair in pairs:
            yield _make_change(_compare_pair(pair, old, new), CrossDocumentMoves({}, {}))
        return
    compared_documents = [_compare_pair(pair, old, new) for pair in pairs]
    moves = detect_cross_document_moves([item.comparison for item in compared_documents])
    for item, document_moves in zip(compared_documents, moves, strict=True):
        yield _make_change(item, document_moves)


def compare_document(old: Document | None, new: Document | None) -> DocumentChange | None:
    """Return the change of one document, of which one version may be missing.

    Return None if the bytes and the paths are equal, or if both versions are missing.
    """
    if old is not None and new is not None and (old.data, old.path) == (new.data, new.path):
        return None
    existing_document = new or old
    if existing_document is None:
        return None
    pair = _PathPair(old.path if old else None, new.path if new else None)
    return _make_change(
        _ComparedDocument(pair, DocumentComparison(old, new), existing_document.title, None),
        CrossDocumentMoves({}, {}),
    )


def _pair_paths(old: Snapshot, new: Snapshot) -> list[_PathPair]:
    changes = list(list_changed_documents(old, new))
    removed_blobs = {path: blob for path, blob, new_blob in changes if blob is not None and new_blob is None}
    added_blobs = {path: blob for path, new_blob, blob in changes if blob is not None and new_blob is None}
    old_paths = (
        _find_renamed_paths(old, new, removed_blobs, added_blobs) if removed_blobs and added_blobs else {}
    )
    new_paths = {before: after for after, before in old_paths.items()}
    pairs = [
        _PathPair(old_paths.get(path) if old_blob is None else path, None if new_blob is None else path)
        for path, old_blob, new_blob in changes
        if path not in new_paths
    ]
    return sorted(pairs, key=lambda pair: pair.new or pair.old or "")


def _find_renamed_paths(
    old: Snapshot, new: Snapshot, removed_blobs: Mapping[str, str], added_blobs: Mapping[str, str]
) -> dict[str, str]:
    """Return the old path of each renamed document; a new path with several candidates is omitted."""
    if old.tree is None or new.tree is None:
        return {}
    if len(removed_blobs) * len(added_blobs) > _MAX_PAIRS:
        candidates = _match_equal_bytes(removed_blobs, added_blobs)
    else:
        renames = Renames(new.git, old.tree, new.tree, new.config.is_document)
        candidates = [
            (path, new_path)
            for path in removed_blobs
            if (new_path := renames.find_new_path(path)) is not None and new_path in added_blobs
        ]
    old_paths: dict[str, list[str]] = {}
    for path, new_path in candidates:
        old_paths.setdefault(new_path, []).append(path)
    return {new_path: paths[0] for new_path, paths in old_paths.items() if len(paths) == 1}


def _match_equal_bytes(
    removed_blobs: Mapping[str, str], added_blobs: Mapping[str, str]
) -> Sequence[tuple[str, str]]:
    """Return the path of each removed document whose bytes were added once, with the added path."""
    paths_by_blob: dict[str, list[str]] = {}
    for new_path, blob in added_blobs.items():
        paths_by_blob.setdefault(blob, []).append(new_path)
    candidates = [(path, paths_by_blob.get(blob, ())) for path, blob in removed_blobs.items()]
    return [(path, new_paths[0]) for path, new_paths in candidates if len(new_paths) == 1]


def _compare_pair(pair: _PathPair, old: Snapshot, new: Snapshot) -> _ComparedDocument:
    try:
        old_document = old.document(pair.old) if pair.old is not None else None
        new_document = new.document(pair.new) if pair.new is not None else None
    except WorkspaceError as error:
        return _ComparedDocument(pair, None, pair.new or pair.old or "", error.code)
    existing_document = new_document or old_document
    return _ComparedDocument(
        pair,
        DocumentComparison(old_document, new_document),
        existing_document.title if existing_document else "",
        None,
    )


def _make_change(item: _ComparedDocument, moves: CrossDocumentMoves) -> DocumentChange:
    old, new = item.pair
    kind = (
        DocumentChangeKind.ADDED
        if old is None
        else DocumentChangeKind.REMOVED
        if new is None
        else DocumentChangeKind.RENAMED
        if old != new
        else DocumentChangeKind.CHANGED
    )
    changes = (
        tuple(item.comparison.list_changes(moves.arrived_changes, moves.departed_changes))
        if item.comparison
        else ()
    )
    return DocumentChange(kind, old, new or old or "", item.title, changes, item.error_code)
