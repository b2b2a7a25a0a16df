"""Reinsert an old version of a section: in place of its current version, or at its old position.

Only the bytes of the section and its subsections are inserted. Their levels fit the position, and their
line endings are those of the document. An anchor is written only if the section would otherwise have another
address.

The module also traces documents and sections to another commit, through the trees of the commits between
them. It reads the version of a document at another commit with the settings of the branch's tip.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import Evidence, SectionMatch
from workspace.document.document import Document
from workspace.document.heading_splices import rewrite_heading
from workspace.document.splices import (
    Edit,
    Splice,
    StructureChanged,
    apply_edit,
    find_needed_blank_line,
    find_text_end,
    make_insertion_splice,
)
from workspace.edits.content import MAX_LEVEL, LevelConflict, collect_anchor_names
from workspace.edits.section_move import (
    convert_line_endings,
    cut_section,
    move_text,
    paste_block,
    plan_addresses,
)
from workspace.edits.section_position import find_target_position
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph, walk_first_parents
from workspace.history.moved_addresses import MAX_COMMITS
from workspace.history.section_tracker import SectionTracker
from workspace.markdown.lines import normalize_line_endings
from workspace.snapshot.snapshot import check_lfs_pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.config.config import WorkspaceConfig
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.edits.section_position import TargetPosition
    from workspace.git.ancestry import Node
    from workspace.git.reader import GitReader
    from workspace.history.section_tracker import SectionPosition
    from workspace.markdown.attribute_lists import AnchorForm
    from workspace.snapshot.snapshot import Snapshot

_MAX_ROUNDS = 3


class ParentMissing(WorkspaceError):
    """An error: the parent of a removed section is missing too. `parent` is its old address."""

    code = "PARENT_GONE"


class ReinsertedSection(NamedTuple):
    """The document after a reinsertion, the section in it, and the splices of the reinsertion."""

    document: Document
    section: Section
    splices: tuple[Splice, ...]


def reinsert_section(
    document: Document,
    current_section: Section | None,
    old_document: Document,
    old_section: Section,
    form: AnchorForm,
) -> ReinsertedSection:
    """Insert a section of an old version, with its subsections, into a document.

    The old section replaces `current_section`. If that is None, the old section is inserted at its position
    in the old version. Raises ParentMissing and StructureChanged. Raises LevelConflict for a section that
    would be deeper than H6, and InvalidAddress for an address that cannot be written as an anchor.
    """
    if old_section.is_preamble or (current_section is not None and current_section.is_preamble):
        return _reinsert_preamble(document, current_section, old_document, old_section)
    position = None if current_section else find_removed_position(document, old_document, old_section)
    old_sections = (old_section, *old_document.descendants(old_section))
    level = current_section.level if current_section else position.level if position else old_section.level
    shift = level - old_section.level
    _check_depth(old_sections, shift)
    replaced_sections = (current_section, *document.descendants(current_section)) if current_section else ()
    address_plan = plan_addresses(
        old_document, old_sections, collect_anchor_names(document, replaced_sections)
    )
    expected_address = (
        current_section.address
        if current_section and old_section.anchor is None
        else address_plan.addresses[old_section.position]
    )
    anchor: str | None = None
    for _ in range(_MAX_ROUNDS):
        inner_splices = [
            splice
            for item in old_sections
            for splice in rewrite_heading(
                old_document,
                item,
                level=item.level + shift,
                anchor=anchor if item is old_section else None,
                form=form,
                renamed_anchors=address_plan.new_names,
            )
        ]
        splice, start, size = _make_splice(
            document, current_section, position, old_document, old_section, inner_splices
        )
        new_document = apply_edit(document, Edit((splice,), {}, ""))
        inserted_sections = [
            item
            for item in new_document.sections
            if item.has_heading and start <= item.heading_start < start + size
        ]
        _check_inserted(old_sections, inserted_sections, shift)
        if (
            inserted_sections[0].address == expected_address
            or anchor == expected_address
            or old_section.anchor is not None
        ):
            return ReinsertedSection(new_document, inserted_sections[0], (splice,))
        anchor = expected_address
    raise _make_structure_error(old_section)


def find_removed_position(document: Document, old_document: Document, old_section: Section) -> TargetPosition:
    """Return the position for a removed section: after its nearest preceding sibling that still exists.

    Without such a sibling, the position is before the nearest following sibling, or else at the end of the
    parent. Raises ParentMissing.
    """
    match = SectionMatch(old_document, document, Evidence.TEXT)
    parent = None if old_section.parent is None else old_document.sections[old_section.parent]
    current_parent = match.find_successor(parent) if parent else None
    if parent and current_parent is None:
        raise ParentMissing(
            f"'{old_section.key}' was in '{parent.key}', which is missing from {document.path} as well",
            fix=f"Restore '{parent.key}', or the whole document.",
            parent=parent.key,
        )
    siblings = old_document.children(parent)
    index = next(number for number, item in enumerate(siblings) if item.position == old_section.position)
    parent_key = current_parent.key if current_parent else None
    for field, siblings_by_distance in (
        ("after", reversed(siblings[:index])),
        ("before", iter(siblings[index + 1 :])),
    ):
        for sibling in siblings_by_distance:
            successor = match.find_successor(sibling)
            if (
                successor
                and not successor.is_preamble
                and successor.parent == (current_parent.position if current_parent else None)
            ):
                before, after = (None, successor.key) if field == "after" else (successor.key, None)
                return find_target_position(document, parent_key, before, after, None)
    return find_target_position(document, parent_key, None, None, None)


def _make_splice(
    document: Document,
    current_section: Section | None,
    position: TargetPosition | None,
    old_document: Document,
    old_section: Section,
    inner_splices: list[Splice],
) -> tuple[Splice, int, int]:
    """Return the splice that inserts the section, and the start and size of the inserted bytes."""
    ending = _choose_line_ending(document, old_document)
    cut_range = cut_section(old_document, old_section)
    block = move_text(old_document.data, cut_range.start, cut_range.end, inner_splices, ending).data
    if current_section is not None:
        text_end = find_text_end(document.data, current_section.start, current_section.tree_end)
        text = normalize_line_endings(block.decode("utf-8", "replace"))
        blank_line = find_needed_blank_line(document, text, text_end, current_section.tree_end)
        return Splice(current_section.start, text_end, block + blank_line), current_section.start, len(block)
    assert position is not None
    heading_splices = [item for item in inner_splices if item.end <= old_section.body_start]
    heading = move_text(
        old_document.data, old_section.start, old_section.body_start, heading_splices, ending
    ).data
    insertion, block_start = paste_block(document, position.offset, block, heading, cut_range.gap, ending)
    return insertion, insertion.start + block_start, len(block)


def _reinsert_preamble(
    document: Document, current_section: Section | None, old_document: Document, old_section: Section
) -> ReinsertedSection:
    """Replace the current title and introduction by the old title and introduction."""
    if not old_section.is_preamble or (current_section is not None and not current_section.is_preamble):
        raise _make_structure_error(old_section)
    text = convert_line_endings(
        old_document.data[
            old_section.start : find_text_end(old_document.data, old_section.start, old_section.end)
        ],
        _choose_line_ending(document, old_document),
    )
    if current_section is not None:
        splice = Splice(
            current_section.start,
            find_text_end(document.data, current_section.start, current_section.end),
            text,
        )
    else:
        offset = document.sections[0].start if document.sections else len(document.data)
        splice = make_insertion_splice(
            document, offset, normalize_line_endings(text.decode("utf-8", "replace"))
        )
    new_document = apply_edit(
        document,
        Edit((splice,), {}, "", renamed_position=current_section.position if current_section else None),
    )
    preamble = new_document.preamble
    if preamble is None:
        raise _make_structure_error(old_section)
    return ReinsertedSection(new_document, preamble, (splice,))


def _choose_line_ending(document: Document, old_document: Document) -> bytes:
    return (
        document.line_ending if b"\n" in document.data or b"\r" in document.data else old_document.line_ending
    )


def _check_depth(sections: tuple[Section, ...], shift: int) -> None:
    deepest_section = max(sections, key=lambda item: item.level)
    if deepest_section.level + shift > MAX_LEVEL:
        raise LevelConflict(
            f"'{deepest_section.key}' would be deeper than H{MAX_LEVEL} where '{sections[0].key}' is now",
            fix="Move the section higher up with move_section first.",
            slug=deepest_section.key,
        )


def _check_inserted(old_sections: tuple[Section, ...], inserted_sections: list[Section], shift: int) -> None:
    """Raise StructureChanged unless the inserted sections have the expected titles and levels."""
    if len(old_sections) != len(inserted_sections):
        raise _make_structure_error(old_sections[0])
    for old_section, new_section in zip(old_sections, inserted_sections, strict=True):
        if old_section.title != new_section.title or old_section.level + shift != new_section.level:
            raise _make_structure_error(old_section)


def _make_structure_error(section: Section) -> StructureChanged:
    return StructureChanged(
        f"'{section.key}' would not be read as the same section at its current position",
        fix="Restore the whole document, or close every code fence (```) and comment (<!-- -->) before it.",
        section=section.key,
    )


_MAX_READ_BYTES = 30_000_000


def list_commits_between(git: GitReader, newer: str, older: str) -> Sequence[Node]:
    """Return the first-parent history from a newer commit back to an older one, including both.

    If the older commit is not in that history, or is too far back, return only these two commits.
    """
    graph = Graph(git)
    nodes: list[Node] = []
    for node in walk_first_parents(graph.node, git.boundary, newer, max_commits=MAX_COMMITS):
        nodes.append(node)
        if node.id == older:
            return nodes
    return [nodes[0], graph.node(older)]


class HistoryTracer:
    """A tracer of positions and versions in the history of a workspace, with the settings of `snapshot`."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._tracker = SectionTracker(snapshot.git, snapshot.config.is_document, _MAX_READ_BYTES)
        self._changes: dict[str, Sequence[tuple[str, str, str | None]]] = {}

    def map_position(self, history: Sequence[Node], position: SectionPosition) -> SectionPosition | None:
        """Map a position in the first commit of a sequence to the last; return None if it is missing there.

        The sequence may begin with the newest or with the oldest commit.
        """
        for old_tree, new_tree in pairwise(node.tree for node in history):
            next_position = (
                position if old_tree == new_tree else self._tracker.step(position, old_tree, new_tree)
            )
            if next_position is None:
                return None
            position = next_position
        return position

    def list_later_changes(self, history: Sequence[Node], path: str, key: str | None) -> Sequence[str]:
        """Return the commits, newest first, that changed a document or, with `key`, its section of that key.

        `history` begins with the newest commit, and `path` is the path of the document there. Use a tracer
        for one history only, because it caches the changes by path.
        """
        if path not in self._changes:
            blobs = [self._tracker.blob(node.tree, path) for node in history]
            self._changes[path] = [
                (node.id, new_blob, old_blob)
                for node, (new_blob, old_blob) in zip(history, pairwise(blobs), strict=False)
                if new_blob is not None and new_blob != old_blob
            ]
        return [
            commit
            for commit, new_blob, old_blob in self._changes[path]
            if key is None
            or self._read_section_text(path, new_blob, key) != self._read_section_text(path, old_blob, key)
        ]

    def _read_section_text(self, path: str, blob: str | None, key: str) -> bytes | None:
        """Return the own text of a section in a version of a document, or None if it is missing."""
        document = self._tracker.document(path, blob) if blob else None
        section = document.section_by_key(key) if document else None
        return document.source(section).rstrip() if document and section else None


SHORT_ID_LENGTH = 7
"""The number of characters of a shortened commit id."""


class NotAtCommit(WorkspaceError):
    """An error: the document or section did not exist at the commit. `ref` is the id of the commit."""

    code = "NOT_AT_REF"


def read_version(snapshot: Snapshot, path: str, config: WorkspaceConfig) -> Document | None:
    """Return the document at a path of a commit, or None if the path did not exist.

    The limits of `config` apply, but not its selection of documents. Raises NotAtCommit if the path is not a
    file, LfsTextMissing for a pointer of Git LFS, and LimitExceeded.
    """
    entry = snapshot.entry(path)
    if entry is None:
        return None
    if not entry.is_blob:
        kind = "a folder" if entry.is_tree else "a link or a submodule"
        raise NotAtCommit(
            f"'{path}' was {kind} at {str(snapshot.commit)[:SHORT_ID_LENGTH]}, "
            "and only documents can be restored",
            fix="Choose a commit in which it was a document.",
            ref=snapshot.commit,
        )
    config.limits.check_document(path, snapshot.git.blob_size(entry.id))
    data = snapshot.git.blob(entry.id)
    check_lfs_pointer(path, data)
    return Document.parse(data, path)
