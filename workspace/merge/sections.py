"""The sections of the three versions of a document, with common ids, and the merged tree of sections.

A section that one side removed is removed, unless the other side changed it. The level, words and anchors of
a heading are merged separately.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import Evidence, SectionMatch
from workspace.diff.sequences import find_definitely_moved
from workspace.document.heading_splices import rewrite_heading
from workspace.document.headings import plan_inline_replacement
from workspace.document.splices import Splice, apply_splices, find_text_end, find_text_start
from workspace.edits.content import MAX_LEVEL
from workspace.markdown.lines import BOM
from workspace.merge.conflict import CLASH, UnitConflict, UnitId, UnitKind, merge_values
from workspace.merge.order import merge_order

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.merge.conflict import Conflicts

SectionId = tuple[str, int]
"""The first version that has a section (`base`, `ours`, `theirs`), and the section's position there."""


class TreePosition(NamedTuple):
    """The position of a section: its parent, and its depth.

    The depth is the difference between the levels of the section and of its parent. Without a parent, it is
    the level of the section.
    """

    parent: SectionId | None
    depth: int


class SectionVersion:
    """One version of a document: its sections by id, in order.

    A title in front matter has no bytes and is omitted.
    """

    def __init__(self, document: Document, ids: Mapping[int, SectionId]) -> None:
        self.document = document
        self.sections: dict[SectionId, Section] = {}
        self.positions: dict[SectionId, TreePosition] = {}
        self.children: dict[SectionId | None, list[SectionId]] = {}
        self.gaps_before: dict[SectionId, bytes] = {}
        self.previous_ids: dict[SectionId, SectionId | None] = {}
        data = document.data
        position = content_start = max(document.front_matter_end, len(BOM) if data.startswith(BOM) else 0)
        previous_id: SectionId | None = None
        for section in document.sections:
            start, end = find_core_span(document, section)
            if start >= end:
                continue
            id = ids[section.position]
            parent = None if section.parent is None else ids[section.parent]
            level = 0 if section.parent is None else document.sections[section.parent].level
            self.sections[id] = section
            self.positions[id] = TreePosition(parent, section.level - level)
            self.children.setdefault(parent, []).append(id)
            self.gaps_before[id], self.previous_ids[id] = data[position:start], previous_id
            position, previous_id = end, id
        self.opening_bytes = (
            self.gaps_before[next(iter(self.gaps_before))] if self.gaps_before else data[content_start:]
        )
        self.closing_bytes = data[position:] if self.gaps_before else b""

    def get_document_section(self, id: SectionId) -> tuple[Document, Section]:
        """Return a section with its document."""
        return self.document, self.sections[id]

    def read_own_text(self, id: SectionId) -> bytes:
        """Return a section's own text, without its heading and the blank lines around it."""
        start, end = find_own_span(self.document, self.sections[id])
        return self.document.data[start:end]

    def read_gap_after_heading(self, id: SectionId) -> bytes | None:
        """Return the bytes between a section's heading and its text; None if either is missing."""
        section = self.sections[id]
        start, end = find_own_span(self.document, section)
        if section.heading is None or section.body_start == section.start or start >= end:
            return None
        return self.document.data[
            find_text_end(self.document.data, section.start, section.body_start) : start
        ]

    def read_full_text(self, id: SectionId) -> bytes:
        """Return the bytes of a section with its subsections."""
        section, data = self.sections[id], self.document.data
        start = find_text_start(data, section.start, section.tree_end)
        return data[start : find_text_end(data, start, section.tree_end)]

    def list_below(self, id: SectionId) -> Sequence[SectionId]:
        """Return the ids of all sections below a section."""
        ids: list[SectionId] = []
        pending_ids = [*self.children.get(id, ())]
        while pending_ids:
            ids.append(pending_ids.pop())
            pending_ids += self.children.get(ids[-1], ())
        return ids


def find_core_span(document: Document, section: Section) -> tuple[int, int]:
    """Return the byte range [start, end) of a section's heading and own text, without outer blank lines."""
    start = find_text_start(document.data, section.start, section.end)
    return start, find_text_end(document.data, start, section.end)


def find_own_span(document: Document, section: Section) -> tuple[int, int]:
    """Return the byte range [start, end) of a section's own text, without the blank lines around it."""
    start = find_text_start(document.data, section.body_start, section.end)
    return start, find_text_end(document.data, start, section.end)


def build_versions(
    base: Document | None, ours: Document, theirs: Document
) -> tuple[SectionVersion | None, SectionVersion, SectionVersion]:
    """Return the three versions. Sections that both sides added at one address are the same section."""
    base_ids = {} if base is None else {item.position: ("base", item.position) for item in base.sections}
    our_pairs, their_pairs = (
        {} if base is None else SectionMatch(base, side, Evidence.TEXT).pairs for side in (ours, theirs)
    )
    our_ids = {
        item.position: base_ids[our_pairs[item.position]]
        if item.position in our_pairs
        else ("ours", item.position)
        for item in ours.sections
    }
    our_added_ids = {
        item.key: our_ids[item.position]
        for item in ours.sections
        if item.position not in our_pairs and item.key == item.address
    }
    their_ids: dict[int, SectionId] = {}
    for item in theirs.sections:
        if item.position in their_pairs:
            their_ids[item.position] = base_ids[their_pairs[item.position]]
        elif item.key == item.address and item.key in our_added_ids:
            their_ids[item.position] = our_added_ids[item.key]
        else:
            their_ids[item.position] = ("theirs", item.position)
    return (
        None if base is None else SectionVersion(base, base_ids),
        SectionVersion(ours, our_ids),
        SectionVersion(theirs, their_ids),
    )


class MergedTree(NamedTuple):
    """The sections in order, each with its level and its parent."""

    levels: Mapping[SectionId, int]
    parents: Mapping[SectionId, SectionId | None]


def merge_trees(
    base: SectionVersion | None,
    ours: SectionVersion,
    theirs: SectionVersion,
    remaining_ids: Collection[SectionId],
    conflicts: Conflicts,
) -> MergedTree:
    """Return the merged tree of sections.

    Sections moved differently by both sides are placed as in ours, unless a resolution takes theirs.
    """
    return _TreeMerger(base, ours, theirs, remaining_ids, conflicts).merge()


class _TreeMerger:
    """The merge of three trees of sections, one for each version."""

    def __init__(
        self,
        base: SectionVersion | None,
        ours: SectionVersion,
        theirs: SectionVersion,
        remaining_ids: Collection[SectionId],
        conflicts: Conflicts,
    ) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._remaining_ids, self._conflicts = remaining_ids, conflicts

    def merge(self) -> MergedTree:
        """Return the merged tree."""
        ids = [
            id
            for id in dict.fromkeys([*self._ours.sections, *self._theirs.sections])
            if id in self._remaining_ids
        ]
        positions = {id: self._merge_position(id) for id in ids}
        self._break_cycles(positions)
        members: dict[SectionId | None, list[SectionId]] = {}
        for id, position in positions.items():
            members.setdefault(position.parent, []).append(id)
        levels: dict[SectionId, int] = {}
        pending_ids = self._order_children(None, members, positions)[::-1]
        while pending_ids:
            id = pending_ids.pop()
            parent, depth = positions[id]
            levels[id] = depth + (levels[parent] if parent else 0)
            pending_ids += self._order_children(id, members, positions)[::-1]
        return MergedTree(levels, {id: positions[id].parent for id in levels})

    def _order_children(
        self,
        parent: SectionId | None,
        members: Mapping[SectionId | None, list[SectionId]],
        positions: Mapping[SectionId, TreePosition],
    ) -> list[SectionId]:
        """Return the children of a section, or the top-level sections, in order."""
        children = members.get(parent, [])
        if len(children) < 2:
            return children
        base, ours, theirs = (
            side.children.get(parent, []) if side else [] for side in (self._base, self._ours, self._theirs)
        )
        order = merge_order(base, ours, theirs, set(children), self._resolve_for_theirs)
        # Sections whose parents on both sides were removed come last.
        ordered_ids = set(order)
        ids_in_order = [*order, *(id for id in children if id not in ordered_ids)]
        # After a sibling of a higher level, a deeper section would become its child. A preamble has no level.
        return sorted(ids_in_order, key=lambda id: -(positions[id].depth or MAX_LEVEL + 1))

    def _merge_position(self, id: SectionId) -> TreePosition:
        """Return the position of a section, taken from the side that moved the section."""
        base = self._base.positions.get(id) if self._base else None
        ours, theirs = self._ours.positions.get(id), self._theirs.positions.get(id)
        if ours is None or theirs is None:
            position = ours or theirs
            assert position is not None
            return self._ensure_parent_remains(id, position)
        merged_position = merge_values(base, ours, theirs)
        if merged_position is not CLASH:
            assert merged_position is not None
            return self._ensure_parent_remains(id, merged_position)
        if base is not None:
            parent = merge_values(base.parent, ours.parent, theirs.parent)
            depth = merge_values(base.depth, ours.depth, theirs.depth)
            if parent is not CLASH and depth is not CLASH and ours.parent == theirs.parent:
                return self._ensure_parent_remains(id, TreePosition(parent, depth))
        return self._ensure_parent_remains(id, theirs if self._resolve_for_theirs(id) else ours)

    def _ensure_parent_remains(self, id: SectionId, position: TreePosition) -> TreePosition:
        """Return a position whose parent remains: `position`, the other side's, or one below an ancestor."""
        if position.parent is None or position.parent in self._remaining_ids:
            return position
        for side in (self._ours, self._theirs):
            other_position = side.positions.get(id)
            if other_position is not None and (
                other_position.parent is None or other_position.parent in self._remaining_ids
            ):
                return other_position
        side = self._ours if id in self._ours.positions else self._theirs
        parent: SectionId | None = position.parent
        while parent is not None and parent not in self._remaining_ids:
            parent = side.positions[parent].parent if parent in side.positions else None
        return TreePosition(parent, 1 if parent else side.sections[id].level)

    def _break_cycles(self, positions: dict[SectionId, TreePosition]) -> None:
        """Move the sections of each parent cycle to their positions in ours, or in theirs by a resolution."""
        checked_ids: set[SectionId | None] = {None}
        for start in [*positions]:
            path: dict[SectionId, None] = {}
            id: SectionId | None = start
            while id is not None and id not in checked_ids and id not in path:
                path[id] = None
                id = positions[id].parent
            if id is not None and id in path:
                cycle = [*path][[*path].index(id) :]
                are_resolved_for_theirs = [self._resolve_for_theirs(item) for item in cycle]
                chosen_side = self._theirs if any(are_resolved_for_theirs) else self._ours
                for item in cycle:
                    if item in chosen_side.positions:
                        positions[item] = self._ensure_parent_remains(item, chosen_side.positions[item])
            checked_ids.update(path)

    def _resolve_for_theirs(self, id: SectionId) -> bool:
        """Record the conflict of a section's position; return True if its resolution chooses theirs."""
        versions = (self._base, self._ours, self._theirs)
        key = next(side.sections[id].key for side in versions if side and id in side.sections)
        conflict = UnitConflict(
            UnitId(UnitKind.POSITION, key), *(_find_position(side, id) for side in versions)
        )
        return self._conflicts.resolve_for_theirs(conflict)


def _find_position(side: SectionVersion | None, id: SectionId) -> bytes | None:
    """Return the addresses of a section's parent and predecessor; None if the version lacks the section."""
    if side is None or id not in side.sections:
        return None
    parent = side.positions[id].parent
    siblings = side.children[parent]
    index = siblings.index(id)
    addresses = (
        side.sections[other].key if other else ""
        for other in (parent, siblings[index - 1] if index else None)
    )
    return "\n".join(addresses).encode()


def select_sections(
    base: SectionVersion | None, ours: SectionVersion, theirs: SectionVersion, conflicts: Conflicts
) -> set[SectionId]:
    """Return the ids of the sections of the merged document.

    If one side removed a section, and the other side changed it, moved it or added to it, the section and its
    subsections are one conflict.
    """
    remaining_ids = {*ours.sections, *theirs.sections}
    if base is None:
        return remaining_ids
    for removing_side, other in ((ours, theirs), (theirs, ours)):
        removed_ids = {
            id for id in base.sections if id not in removing_side.sections and id in other.sections
        }
        moved_ids = _find_reordered(base, other, removed_ids)
        for root, group in _group_removed(other, removed_ids).items():
            is_removed = True
            if any(id in moved_ids or _is_changed(base, other, id, removed_ids) for id in group):
                old_text, new_text = base.read_full_text(root), other.read_full_text(root)
                versions = (None, new_text) if removing_side is ours else (new_text, None)
                unit = UnitId(UnitKind.SECTION, base.sections[root].key)
                is_removed = conflicts.resolve_for_theirs(UnitConflict(unit, old_text, *versions)) is (
                    removing_side is theirs
                )
            if is_removed:
                remaining_ids.difference_update(group)
                added_ids = {id for id in other.list_below(root) if id not in removing_side.sections}
                remaining_ids.difference_update(added_ids)
    return remaining_ids


def _group_removed(other: SectionVersion, removed_ids: set[SectionId]) -> dict[SectionId, list[SectionId]]:
    """Return the removed sections, by their topmost removed ancestor in the other version."""
    roots: dict[SectionId, SectionId] = {}
    groups: dict[SectionId, list[SectionId]] = {}
    for id in other.sections:  # in order, so a parent comes before its children
        if id in removed_ids:
            parent = other.positions[id].parent
            roots[id] = id if parent is None or parent not in removed_ids else roots[parent]
            groups.setdefault(roots[id], []).append(id)
    return groups


def _find_reordered(
    base: SectionVersion, other: SectionVersion, removed_ids: set[SectionId]
) -> set[SectionId]:
    """Return the removed sections that a side moved among their siblings."""
    reordered_ids: set[SectionId] = set()
    for parent in {base.positions[id].parent for id in removed_ids}:
        reordered_ids |= find_definitely_moved(base.children[parent], other.children.get(parent, []))
    return reordered_ids & removed_ids


def _is_changed(
    base: SectionVersion, other: SectionVersion, id: SectionId, removed_ids: set[SectionId]
) -> bool:
    """Return True if a side changed a section that the other side removed, or added a section below it."""
    children = set(other.children.get(id, ())) - removed_ids
    if not children.issubset(base.children.get(id, ())):
        return True
    if base.positions[id] != other.positions[id] or base.read_own_text(id) != other.read_own_text(id):
        return True
    old_section, new_section = base.sections[id], other.sections[id]
    if old_section.heading is None or new_section.heading is None:
        return old_section.heading is not new_section.heading
    # If the parent was moved, the level may differ, and the anchor may be the old address.
    keeps_name = new_section.anchor in (old_section.anchor, old_section.address)
    return old_section.heading.text.title != new_section.heading.text.title or not keeps_name


class HeadingParts(NamedTuple):
    """The parts of a heading.

    `lines_above` contain the anchors above the heading, and `lines_below` the attribute lists below the
    heading. `prefix` and `suffix` are the texts before and after its words, with anchors.
    """

    lines_above: bytes
    prefix: str
    words: str
    suffix: str
    lines_below: bytes


def format_heading(document: Document, section: Section, level: int | None = None) -> bytes:
    """Return the lines of a section's heading with the anchors above it, without the last line ending.

    `level` replaces the heading's level, if it is not None.
    """
    data = document.data
    start = find_text_start(data, section.start, section.body_start)
    end = find_text_end(data, start, section.body_start)
    if level is None or level == section.level or section.heading is None or section.is_preamble:
        return data[start:end]
    splices = rewrite_heading(document, section, level=level)
    return apply_splices(data[:end], splices)[start:]


def merge_heading(
    base: tuple[Document, Section] | None,
    ours: tuple[Document, Section],
    theirs: tuple[Document, Section],
    level: int,
) -> bytes | None:
    """Return the merged heading at a level; None if both sides changed one of its parts differently."""
    texts = [None if side is None else format_heading(*side, level) for side in (base, ours, theirs)]
    merged_text = merge_values(*texts)
    if merged_text is not CLASH:
        return merged_text or b""
    parts = [None if side is None else _split_heading(*side) for side in (base, ours, theirs)]
    if parts[0] is None or parts[1] is None or parts[2] is None:
        return None
    lines_above, prefix, words, suffix, lines_below = (
        merge_values(*versions) for versions in zip(*parts, strict=True)
    )
    if lines_above is CLASH or prefix is CLASH or words is CLASH or suffix is CLASH or lines_below is CLASH:
        return None
    document, section = ours
    assert section.heading is not None
    start, end, text = plan_inline_replacement(
        document.lines, section.heading.block, f"{prefix}{words}{suffix}"
    )
    heading_lines_start = find_text_start(document.data, section.start, section.body_start)
    splices = (
        rewrite_heading(document, section, level=level, title_splices=[Splice(start, end, text)])
        if level != section.level and not section.is_preamble
        else [Splice(start, end, text)]
    )
    if lines_above != parts[1].lines_above:
        splices.append(Splice(heading_lines_start, section.heading_start, lines_above))
    end_of_heading = find_text_end(document.data, heading_lines_start, section.body_start)
    if lines_below != parts[1].lines_below:
        end_of_heading = find_text_end(document.data, heading_lines_start, section.heading.below_start)
    merged_bytes = apply_splices(document.data[:end_of_heading], splices)[heading_lines_start:]
    return (
        merged_bytes
        if lines_below == parts[1].lines_below or not lines_below
        else merged_bytes + document.line_ending + lines_below
    )


def _split_heading(document: Document, section: Section) -> HeadingParts | None:
    if section.heading is None:
        return None
    heading_lines_start = find_text_start(document.data, section.start, section.body_start)
    text = section.heading.text
    lines_above = document.data[heading_lines_start : section.heading_start]
    below_start = section.heading.below_start
    lines_below = document.data[below_start : find_text_end(document.data, below_start, section.body_start)]
    return HeadingParts(lines_above, text.prefix, text.title, text.suffix, lines_below)
