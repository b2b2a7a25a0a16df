"""Reinsert an old version of a section into a document: over its current version, or at its old place.

Only the section's bytes are inserted. Headings get the levels of the place, and lines the endings of the
document. An anchor is written only if the section would otherwise have another address.

Also trace a document or a section to another commit, over the trees in between. Read the version of a
document at another commit by the settings of the tip.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import Evidence, SectionMatch
from workspace.document.document import Document
from workspace.document.heading_text import rewrite_heading
from workspace.document.splices import (
    Edit,
    Splice,
    StructureChanged,
    apply_edit,
    find_needed_blank_line,
    find_text_end,
    insert_block,
)
from workspace.edits.content import MAX_LEVEL, LevelConflict, collect_anchor_names
from workspace.edits.section_place import find_target_position
from workspace.edits.transplant import (
    convert_line_endings,
    cut_section,
    move_text,
    paste_block,
    plan_addresses,
)
from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph, walk_first_parents
from workspace.history.moves import MAX_COMMITS, Tracker
from workspace.markdown.lines import decode_with_newlines
from workspace.snapshot.snapshot import check_pointer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.config.config import WorkspaceConfig
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.edits.section_place import TargetPosition
    from workspace.git.ancestry import Node
    from workspace.git.reader import GitReader
    from workspace.history.moves import SectionPosition
    from workspace.markdown.attribute_lists import AnchorForm
    from workspace.snapshot.snapshot import Snapshot

_ROUNDS = 3


class ParentMissing(WorkspaceError):
    """The parent of a removed section is missing too. `parent` is its old address."""

    code = "PARENT_GONE"


class ReinsertedSection(NamedTuple):
    """The document afterwards, the section in it, and the splices that made it."""

    document: Document
    section: Section
    splices: tuple[Splice, ...]


def reinsert_section(
    document: Document, now: Section | None, old: Document, then: Section, form: AnchorForm
) -> ReinsertedSection:
    """Put the section `then` of an old version, with its subsections, into a document.

    It replaces `now`, or else returns to its old place. Raises ParentMissing, LevelConflict for a section
    that would be deeper than H6, InvalidAddress for an address that cannot be written as an anchor, and
    StructureChanged.
    """
    if then.is_preamble or (now is not None and now.is_preamble):
        return _introduction(document, now, old, then)
    place = None if now else find_removed_place(document, old, then)
    moved = (then, *old.descendants(then))
    level = now.level if now else place.level if place else then.level
    shift = level - then.level
    _check_depth(moved, shift)
    replaced = (now, *document.descendants(now)) if now else ()
    names = plan_addresses(old, moved, collect_anchor_names(document, replaced))
    wanted = now.address if now and then.anchor is None else names.addresses[then.position]
    anchor: str | None = None
    for _ in range(_ROUNDS):
        inner = [
            splice
            for item in moved
            for splice in rewrite_heading(
                old,
                item,
                level=item.level + shift,
                anchor=anchor if item is then else None,
                form=form,
                names=names.renamed,
            )
        ]
        splice, start, size = _splice(document, now, place, old, then, inner)
        changed = apply_edit(document, Edit((splice,), {}, ""))
        landed = [
            item
            for item in changed.sections
            if item.has_heading and start <= item.heading_start < start + size
        ]
        _check_landed(moved, landed, shift)
        if landed[0].address == wanted or anchor == wanted or then.anchor is not None:
            return ReinsertedSection(changed, landed[0], (splice,))
        anchor = wanted
    raise _structure_error(then)


def find_removed_place(document: Document, old: Document, then: Section) -> TargetPosition:
    """Return the place for a removed section: after its nearest preceding sibling that remains.

    Without one, before the nearest following sibling, else at the end of its parent. Raises ParentMissing.
    """
    match = SectionMatch(old, document, Evidence.TEXT)
    parent = None if then.parent is None else old.sections[then.parent]
    above = match.successor(parent) if parent else None
    if parent and above is None:
        raise ParentMissing(
            f"'{then.key}' was in '{parent.key}', which is missing from {document.path} as well",
            fix=f"Restore '{parent.key}', or the whole document.",
            parent=parent.key,
        )
    siblings = old.children(parent)
    index = next(place for place, item in enumerate(siblings) if item.position == then.position)
    key = above.key if above else None
    for field, others in (("after", reversed(siblings[:index])), ("before", iter(siblings[index + 1 :]))):
        for other in others:
            current = match.successor(other)
            if current and not current.is_preamble and current.parent == (above.position if above else None):
                before, after = (None, current.key) if field == "after" else (current.key, None)
                return find_target_position(document, key, before, after, None)
    return find_target_position(document, key, None, None, None)


def _splice(
    document: Document,
    now: Section | None,
    place: TargetPosition | None,
    old: Document,
    then: Section,
    inner: list[Splice],
) -> tuple[Splice, int, int]:
    """Return the splice, and the start and length of the section's own bytes after it."""
    ending = _ending(document, old)
    cutting = cut_section(old, then)
    block = move_text(old.data, cutting.start, cutting.end, inner, ending).data
    if now is not None:
        stop = find_text_end(document.data, now.start, now.tree_end)
        text = decode_with_newlines(block.decode("utf-8", "replace"))
        after = find_needed_blank_line(document, text, stop, now.tree_end)
        return Splice(now.start, stop, block + after), now.start, len(block)
    assert place is not None
    above = [item for item in inner if item.end <= then.body]
    heading = move_text(old.data, then.start, then.body, above, ending).data
    put, lead = paste_block(document, place.offset, block, heading, cutting.gap, ending)
    return put, put.start + lead, len(block)


def _introduction(document: Document, now: Section | None, old: Document, then: Section) -> ReinsertedSection:
    """Put an old title and introduction in place of those that are there."""
    if not then.is_preamble or (now is not None and not now.is_preamble):
        raise _structure_error(then)
    text = convert_line_endings(
        old.data[then.start : find_text_end(old.data, then.start, then.end)], _ending(document, old)
    )
    if now is not None:
        splice = Splice(now.start, find_text_end(document.data, now.start, now.end), text)
    else:
        offset = document.sections[0].start if document.sections else len(document.data)
        splice = insert_block(document, offset, decode_with_newlines(text.decode("utf-8", "replace")))
    changed = apply_edit(document, Edit((splice,), {}, "", renamed_position=now.position if now else None))
    preamble = changed.preamble
    if preamble is None:
        raise _structure_error(then)
    return ReinsertedSection(changed, preamble, (splice,))


def _ending(document: Document, old: Document) -> bytes:
    return document.ending if b"\n" in document.data or b"\r" in document.data else old.ending


def _check_depth(moved: tuple[Section, ...], shift: int) -> None:
    deepest = max(moved, key=lambda item: item.level)
    if deepest.level + shift > MAX_LEVEL:
        raise LevelConflict(
            f"'{deepest.key}' would be deeper than H{MAX_LEVEL} where '{moved[0].key}' is now",
            fix="Move the section higher up with move_section first.",
            slug=deepest.key,
        )


def _check_landed(moved: tuple[Section, ...], landed: list[Section], shift: int) -> None:
    """Raise StructureChanged if the sections are not read as what they were."""
    if len(moved) != len(landed):
        raise _structure_error(moved[0])
    for item, current in zip(moved, landed, strict=True):
        if item.title != current.title or item.level + shift != current.level:
            raise _structure_error(item)


def _structure_error(section: Section) -> StructureChanged:
    return StructureChanged(
        f"'{section.key}' would not be read as the same section at its current place",
        fix="Restore the whole document, or close every code fence (```) and comment (<!-- -->) before it.",
        section=section.key,
    )


_READ = 30_000_000  # bytes of versions that one answer may read


def list_commits_between(git: GitReader, newer: str, older: str) -> Sequence[Node]:
    """Return the first-parent history from one commit back to another, both included.

    Only these two where the older one is not on that way, or too far back.
    """
    graph = Graph(git)
    found: list[Node] = []
    for node in walk_first_parents(graph.node, git.boundary, newer, most=MAX_COMMITS):
        found.append(node)
        if node.id == older:
            return found
    return [found[0], graph.node(older)]


class HistoryTracer:
    """Positions and versions in the history of one workspace, by its current settings."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._following = Tracker(snapshot.git, snapshot.config.is_document, _READ)
        self._changes: dict[str, Sequence[tuple[str, str, str | None]]] = {}

    def follow(self, way: Sequence[Node], place: SectionPosition) -> SectionPosition | None:
        """Map a position in the first state to the last one; None if it is missing or unknown."""
        for old, new in pairwise(state.tree for state in way):
            later = place if old == new else self._following.step(place, old, new)
            if later is None:
                return None
            place = later
        return place

    def list_later_changes(self, way: Sequence[Node], path: str, key: str | None) -> Sequence[str]:
        """Return the commits of a way, newest first, that changed a document, or the section of a key in it.

        `path` is that of the document in the first state. Call one object with one way only.
        """
        if path not in self._changes:
            blobs = [self._following.blob(state.tree, path) for state in way]
            self._changes[path] = [
                (state.id, now, then)
                for state, (now, then) in zip(way, pairwise(blobs), strict=False)
                if now is not None and now != then
            ]
        return [
            commit
            for commit, now, then in self._changes[path]
            if key is None or self._text(path, now, key) != self._text(path, then, key)
        ]

    def _text(self, path: str, blob: str | None, key: str) -> bytes | None:
        """Return the own text of a section in a version of a document, where it is there."""
        document = self._following.document(path, blob) if blob else None
        section = document.section_by_key(key) if document else None
        return document.source(section).rstrip() if document and section else None


SHORT_ID_LENGTH = 7
"""Characters of a commit's id where people read it."""


class NotAtRef(WorkspaceError):
    """The document or section did not exist at the commit to restore from. `ref` is its id."""

    code = "NOT_AT_REF"


def read_version(then: Snapshot, path: str, config: WorkspaceConfig) -> Document | None:
    """Return the document at a path of a commit, by any settings; None if the path did not exist.

    `config` has the limits. Raises NotAtRef if it is not a file, NotADocument for a pointer of Git LFS,
    LimitExceeded.
    """
    entry = then.entry(path)
    if entry is None:
        return None
    if not entry.is_blob:
        kind = "a folder" if entry.is_tree else "a link or a submodule"
        raise NotAtRef(
            f"'{path}' was {kind} at {str(then.commit)[:SHORT_ID_LENGTH]}, and only documents are restored",
            fix="Choose a commit in which it was a document.",
            ref=then.commit,
        )
    config.limits.check_document(path, then.git.blob_size(entry.id))
    data = then.git.blob(entry.id)
    check_pointer(path, data)
    return Document.parse(data, path)
