"""The three versions of a document by sections, whose ids are equal in all of them, and their merged tree.

A section that one side removed is removed, unless the other side changed a part of it. The parts of a heading
(level, words and anchors) are merged one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import Evidence, SectionMatch
from workspace.diff.sequences import find_definitely_moved
from workspace.document.heading_text import rewrite_heading
from workspace.document.headings import replace_words
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

Id = tuple[str, int]
"""Names a section: the version in which it was met first (`base`, `ours`, `theirs`), and its position."""


class TreePosition(NamedTuple):
    """The position of a section: its parent, and how many levels deeper it is (from 0, at the top)."""

    parent: Id | None
    depth: int


class SectionVersion:
    """One version: its sections by id, in order. A title in front matter has no bytes and is left out."""

    def __init__(self, document: Document, ids: Mapping[int, Id]) -> None:
        self.document = document
        self.sections: dict[Id, Section] = {}
        self.standing: dict[Id, TreePosition] = {}
        self.children: dict[Id | None, list[Id]] = {}
        self.before: dict[Id, bytes] = {}
        self.previous: dict[Id, Id | None] = {}
        data = document.data
        position = first = max(document.front_matter_end, len(BOM) if data.startswith(BOM) else 0)
        above: Id | None = None
        for section in document.sections:
            start, end = find_core_span(document, section)
            if start >= end:
                continue
            id = ids[section.position]
            parent = None if section.parent is None else ids[section.parent]
            level = 0 if section.parent is None else document.sections[section.parent].level
            self.sections[id] = section
            self.standing[id] = TreePosition(parent, section.level - level)
            self.children.setdefault(parent, []).append(id)
            self.before[id], self.previous[id] = data[position:start], above
            position, above = end, id
        self.opening = self.before[next(iter(self.before))] if self.before else data[first:]
        self.closing = data[position:] if self.before else b""

    def heading(self, id: Id) -> tuple[Document, Section]:
        """Return a section with its document."""
        return self.document, self.sections[id]

    def text(self, id: Id) -> bytes:
        """Return a section's own text, without its heading and the blank lines around it."""
        start, end = find_own_span(self.document, self.sections[id])
        return self.document.data[start:end]

    def lead(self, id: Id) -> bytes | None:
        """Return the bytes between a section's heading and its text; None if one of them is missing."""
        section = self.sections[id]
        start, end = find_own_span(self.document, section)
        if section.heading is None or section.body == section.start or start >= end:
            return None
        return self.document.data[find_text_end(self.document.data, section.start, section.body) : start]

    def whole(self, id: Id) -> bytes:
        """Return a section with all below it."""
        section, data = self.sections[id], self.document.data
        start = find_text_start(data, section.start, section.tree_end)
        return data[start : find_text_end(data, start, section.tree_end)]

    def below(self, id: Id) -> Sequence[Id]:
        """Return all sections below one."""
        found: list[Id] = []
        waiting = [*self.children.get(id, ())]
        while waiting:
            found.append(waiting.pop())
            waiting += self.children.get(found[-1], ())
        return found


def find_core_span(document: Document, section: Section) -> tuple[int, int]:
    """Return the bytes [start, end) of a section's heading and own text, without blank lines around both."""
    start = find_text_start(document.data, section.start, section.end)
    return start, find_text_end(document.data, start, section.end)


def find_own_span(document: Document, section: Section) -> tuple[int, int]:
    """Return the bytes [start, end) of a section's own text, without the blank lines around it."""
    start = find_text_start(document.data, section.body, section.end)
    return start, find_text_end(document.data, start, section.end)


def build_versions(
    base: Document | None, ours: Document, theirs: Document
) -> tuple[SectionVersion | None, SectionVersion, SectionVersion]:
    """Return the three versions. Sections that both sides added at one address are the same section."""
    left = {} if base is None else {item.position: ("base", item.position) for item in base.sections}
    mine, yours = (
        {} if base is None else SectionMatch(base, side, Evidence.TEXT).pairs for side in (ours, theirs)
    )
    found = {
        item.position: left[mine[item.position]] if item.position in mine else ("ours", item.position)
        for item in ours.sections
    }
    added = {
        item.key: found[item.position]
        for item in ours.sections
        if item.position not in mine and item.key == item.address
    }
    present: dict[int, Id] = {}
    for item in theirs.sections:
        if item.position in yours:
            present[item.position] = left[yours[item.position]]
        elif item.key == item.address and item.key in added:
            present[item.position] = added[item.key]
        else:
            present[item.position] = ("theirs", item.position)
    return (
        None if base is None else SectionVersion(base, left),
        SectionVersion(ours, found),
        SectionVersion(theirs, present),
    )


class MergedTree(NamedTuple):
    """The sections in order, each with its level and its parent."""

    levels: Mapping[Id, int]
    parents: Mapping[Id, Id | None]


def merge_trees(
    base: SectionVersion | None,
    ours: SectionVersion,
    theirs: SectionVersion,
    kept: Collection[Id],
    conflicts: Conflicts,
) -> MergedTree:
    """Return the merged tree of sections. Sections moved differently by both sides are placed as in ours."""
    return _TreeMerger(base, ours, theirs, kept, conflicts).placed()


class _TreeMerger:
    def __init__(
        self,
        base: SectionVersion | None,
        ours: SectionVersion,
        theirs: SectionVersion,
        kept: Collection[Id],
        conflicts: Conflicts,
    ) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._kept, self._conflicts = kept, conflicts

    def placed(self) -> MergedTree:
        """Return the merged tree."""
        ids = [id for id in dict.fromkeys([*self._ours.sections, *self._theirs.sections]) if id in self._kept]
        standing = {id: self._standing(id) for id in ids}
        self._break_circles(standing)
        members: dict[Id | None, list[Id]] = {}
        for id, place in standing.items():
            members.setdefault(place.parent, []).append(id)
        levels: dict[Id, int] = {}
        waiting = self._ordered(None, members, standing)[::-1]
        while waiting:
            id = waiting.pop()
            parent, depth = standing[id]
            levels[id] = depth + (levels[parent] if parent else 0)
            waiting += self._ordered(id, members, standing)[::-1]
        return MergedTree(levels, {id: standing[id].parent for id in levels})

    def _ordered(
        self, parent: Id | None, members: Mapping[Id | None, list[Id]], standing: Mapping[Id, TreePosition]
    ) -> list[Id]:
        """Return the children of a section, or the top-level sections, in order."""
        found = members.get(parent, [])
        if len(found) < 2:
            return found
        base, ours, theirs = (
            side.children.get(parent, []) if side else [] for side in (self._base, self._ours, self._theirs)
        )
        order = merge_order(base, ours, theirs, set(found), self._is_as_theirs)
        # What stood elsewhere on both sides, below something that is gone, comes last.
        known = set(order)
        row = [*order, *(id for id in found if id not in known)]
        # Behind a sibling of a higher level, one of a lower level would stand below it. A preamble has none.
        return sorted(row, key=lambda id: -(standing[id].depth or MAX_LEVEL + 1))

    def _standing(self, id: Id) -> TreePosition:
        """Return the parent of a section: that of the side that moved it."""
        base = self._base.standing.get(id) if self._base else None
        ours, theirs = self._ours.standing.get(id), self._theirs.standing.get(id)
        if ours is None or theirs is None:
            chosen = ours or theirs
            assert chosen is not None
            return self._held(id, chosen)
        merged = merge_values(base, ours, theirs)
        if merged is not CLASH:
            assert merged is not None
            return self._held(id, merged)
        if base is not None:
            parent = merge_values(base.parent, ours.parent, theirs.parent)
            depth = merge_values(base.depth, ours.depth, theirs.depth)
            if parent is not CLASH and depth is not CLASH and ours.parent == theirs.parent:
                return self._held(id, TreePosition(parent, depth))
        return self._held(id, theirs if self._is_as_theirs(id) else ours)

    def _held(self, id: Id, chosen: TreePosition) -> TreePosition:
        """Return a parent that is kept: the other side's, else an ancestor of it."""
        if chosen.parent is None or chosen.parent in self._kept:
            return chosen
        for side in (self._ours, self._theirs):
            other = side.standing.get(id)
            if other is not None and (other.parent is None or other.parent in self._kept):
                return other
        side = self._ours if id in self._ours.standing else self._theirs
        parent: Id | None = chosen.parent
        while parent is not None and parent not in self._kept:
            parent = side.standing[parent].parent if parent in side.standing else None
        return TreePosition(parent, 1 if parent else side.sections[id].level)

    def _break_circles(self, standing: dict[Id, TreePosition]) -> None:
        """Move sections that were each put below the other one back to their position in ours."""
        sound: set[Id | None] = {None}
        for start in [*standing]:
            path: dict[Id, None] = {}
            id: Id | None = start
            while id is not None and id not in sound and id not in path:
                path[id] = None
                id = standing[id].parent
            if id is not None and id in path:
                circle = [*path][[*path].index(id) :]
                decided = [self._is_as_theirs(item) for item in circle]
                chosen = self._theirs if any(decided) else self._ours
                for item in circle:
                    if item in chosen.standing:
                        standing[item] = self._held(item, chosen.standing[item])
            sound.update(path)

    def _is_as_theirs(self, id: Id) -> bool:
        versions = (self._base, self._ours, self._theirs)
        key = next(side.sections[id].key for side in versions if side and id in side.sections)
        conflict = UnitConflict(UnitId(UnitKind.PLACE, key), *(_find_position(side, id) for side in versions))
        return self._conflicts.is_for_theirs(conflict)


def _find_position(side: SectionVersion | None, id: Id) -> bytes | None:
    """Return the parent and the predecessor of a section, by their addresses."""
    if side is None or id not in side.sections:
        return None
    parent = side.standing[id].parent
    row = side.children[parent]
    place = row.index(id)
    names = (
        side.sections[other].key if other else "" for other in (parent, row[place - 1] if place else None)
    )
    return "\n".join(names).encode()


def select_sections(
    base: SectionVersion | None, ours: SectionVersion, theirs: SectionVersion, conflicts: Conflicts
) -> set[Id]:
    """Return the ids of the sections that the merged document has.

    A section that one side removed and in which the other one changed, moved or added something is one
    conflict, with all that stands below it.
    """
    kept = {*ours.sections, *theirs.sections}
    if base is None:
        return kept
    for remover, other in ((ours, theirs), (theirs, ours)):
        removed = {id for id in base.sections if id not in remover.sections and id in other.sections}
        moved = _find_reordered(base, other, removed)
        for root, group in _group_removed(other, removed).items():
            goes = True
            if any(id in moved or _is_changed(base, other, id, removed) for id in group):
                was, now = base.whole(root), other.whole(root)
                versions = (None, now) if remover is ours else (now, None)
                unit = UnitId(UnitKind.SECTION, base.sections[root].key)
                goes = conflicts.is_for_theirs(UnitConflict(unit, was, *versions)) is (remover is theirs)
            if goes:
                kept.difference_update(group)
                added = {id for id in other.below(root) if id not in remover.sections}
                kept.difference_update(added)
    return kept


def _group_removed(other: SectionVersion, removed: set[Id]) -> dict[Id, list[Id]]:
    """Return the removed sections, by their topmost removed ancestor in the other version."""
    roots: dict[Id, Id] = {}
    groups: dict[Id, list[Id]] = {}
    for id in other.sections:  # in order, so a parent comes before its children
        if id in removed:
            parent = other.standing[id].parent
            roots[id] = id if parent is None or parent not in removed else roots[parent]
            groups.setdefault(roots[id], []).append(id)
    return groups


def _find_reordered(base: SectionVersion, other: SectionVersion, removed: set[Id]) -> set[Id]:
    """Return the given sections that a side moved among their siblings."""
    found: set[Id] = set()
    for parent in {base.standing[id].parent for id in removed}:
        found |= find_definitely_moved(base.children[parent], other.children.get(parent, []))
    return found & removed


def _is_changed(base: SectionVersion, other: SectionVersion, id: Id, removed: set[Id]) -> bool:
    """Return True if a side changed a section that the other one removed, or added a section below it."""
    below = set(other.children.get(id, ())) - removed
    if not below.issubset(base.children.get(id, ())):
        return True
    if base.standing[id] != other.standing[id] or base.text(id) != other.text(id):
        return True
    was, now = base.sections[id], other.sections[id]
    if was.heading is None or now.heading is None:
        return was.heading is not now.heading
    # What stands above it may have been moved: then its level is another, and its address its anchor.
    has_name = now.anchor in (was.anchor, was.address)
    return was.heading.text.words != now.heading.text.words or not has_name


class HeadingParts(NamedTuple):
    """A heading in parts: the lines of anchors above it, anchors before its words, words, and the rest.

    `below` are the attribute lists on the lines below it.
    """

    above: bytes
    prefix: str
    words: str
    suffix: str
    below: bytes


def format_heading(document: Document, section: Section, level: int | None = None) -> bytes:
    """Return the lines of a section's heading with the anchors above it, at a level, unterminated."""
    data = document.data
    start = find_text_start(data, section.start, section.body)
    end = find_text_end(data, start, section.body)
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
    """Return the merged heading at a level; None if both sides changed one part of it differently."""
    texts = [None if side is None else format_heading(*side, level) for side in (base, ours, theirs)]
    merged = merge_values(*texts)
    if merged is not CLASH:
        return merged or b""
    parts = [None if side is None else _split_heading(*side) for side in (base, ours, theirs)]
    if parts[0] is None or parts[1] is None or parts[2] is None:
        return None
    above, prefix, words, suffix, below = (merge_values(*versions) for versions in zip(*parts, strict=True))
    if above is CLASH or prefix is CLASH or words is CLASH or suffix is CLASH or below is CLASH:
        return None
    document, section = ours
    assert section.heading is not None
    start, end, text = replace_words(document.lines, section.heading.block, f"{prefix}{words}{suffix}")
    first = find_text_start(document.data, section.start, section.body)
    splices = (
        rewrite_heading(document, section, level=level, within=[Splice(start, end, text)])
        if level != section.level and not section.is_preamble
        else [Splice(start, end, text)]
    )
    if above != parts[1].above:
        splices.append(Splice(first, section.heading_start, above))
    stop = find_text_end(document.data, first, section.body)
    if below != parts[1].below:
        stop = find_text_end(document.data, first, section.heading.below_start)
    merged_bytes = apply_splices(document.data[:stop], splices)[first:]
    return merged_bytes if below == parts[1].below or not below else merged_bytes + document.ending + below


def _split_heading(document: Document, section: Section) -> HeadingParts | None:
    if section.heading is None:
        return None
    first = find_text_start(document.data, section.start, section.body)
    text = section.heading.text
    above = document.data[first : section.heading_start]
    behind = section.heading.below_start
    below = document.data[behind : find_text_end(document.data, behind, section.body)]
    return HeadingParts(above, text.prefix, text.words, text.suffix, below)
