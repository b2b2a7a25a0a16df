"""The three versions of a document, their sections known by ids that are the same in all of them.

Where the sections of a merged document stand: below what, how deep, and in which order.

Which sections a merge keeps: what one side removed goes, unless the other side changed what is in it.

Headings merged: their level, their words and their anchors, each for itself.
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
from workspace.merge.conflict import CLASH, Conflict, UnitId, UnitKind, three_way
from workspace.merge.order import merged_order

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.merge.conflict import Conflicts

Id = tuple[str, int]


"""Names a section: the version in which it was met first (`base`, `ours`, `theirs`), and its position."""


class Standing(NamedTuple):
    """Where a section stands: what it stands below, and how many levels deeper (from 0, at the top)."""

    parent: Id | None
    depth: int


class Side:
    """One version: its sections by id, in order. Such as have no bytes (a title of front matter) are none."""

    def __init__(self, document: Document, ids: Mapping[int, Id]) -> None:
        self.document = document
        self.sections: dict[Id, Section] = {}
        self.standing: dict[Id, Standing] = {}
        self.children: dict[Id | None, list[Id]] = {}
        self.before: dict[Id, bytes] = {}
        self.previous: dict[Id, Id | None] = {}
        data = document.data
        position = first = max(document.front_matter_end, len(BOM) if data.startswith(BOM) else 0)
        above: Id | None = None
        for section in document.sections:
            start, end = core(document, section)
            if start >= end:
                continue
            id = ids[section.position]
            parent = None if section.parent is None else ids[section.parent]
            level = 0 if section.parent is None else document.sections[section.parent].level
            self.sections[id] = section
            self.standing[id] = Standing(parent, section.level - level)
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
        start, end = own_span(self.document, self.sections[id])
        return self.document.data[start:end]

    def lead(self, id: Id) -> bytes | None:
        """Return what stands between a section's heading and its text; None where one of them is missing."""
        section = self.sections[id]
        start, end = own_span(self.document, section)
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


def core(document: Document, section: Section) -> tuple[int, int]:
    """The bytes [start, end) of a section's heading and own text, without the blank lines around both."""
    start = find_text_start(document.data, section.start, section.end)
    return start, find_text_end(document.data, start, section.end)


def own_span(document: Document, section: Section) -> tuple[int, int]:
    """Return the bytes [start, end) of a section's own text, without the blank lines around it."""
    start = find_text_start(document.data, section.body, section.end)
    return start, find_text_end(document.data, start, section.end)


def sides(base: Document | None, ours: Document, theirs: Document) -> tuple[Side | None, Side, Side]:
    """Return the three versions. What both sides added with one address is the same section."""
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
    return None if base is None else Side(base, left), Side(ours, found), Side(theirs, present)


class Placed(NamedTuple):
    """The sections in order, each with its level and what it stands below."""

    levels: Mapping[Id, int]
    parents: Mapping[Id, Id | None]


def placed(base: Side | None, ours: Side, theirs: Side, kept: Collection[Id], conflicts: Conflicts) -> Placed:
    """Return the merged tree of sections. What both sides moved differently stands as in ours."""
    return _Places(base, ours, theirs, kept, conflicts).placed()


class _Places:
    def __init__(
        self, base: Side | None, ours: Side, theirs: Side, kept: Collection[Id], conflicts: Conflicts
    ) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._kept, self._conflicts = kept, conflicts

    def placed(self) -> Placed:
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
        return Placed(levels, {id: standing[id].parent for id in levels})

    def _ordered(
        self, parent: Id | None, members: Mapping[Id | None, list[Id]], standing: Mapping[Id, Standing]
    ) -> list[Id]:
        """Return what stands below a section, or at the top, in order."""
        found = members.get(parent, [])
        if len(found) < 2:
            return found
        base, ours, theirs = (
            side.children.get(parent, []) if side else [] for side in (self._base, self._ours, self._theirs)
        )
        order = merged_order(base, ours, theirs, set(found), self._is_as_theirs)
        # What stood elsewhere on both sides, below something that is gone, comes last.
        known = set(order)
        row = [*order, *(id for id in found if id not in known)]
        # Behind a sibling of a higher level, one of a lower level would stand below it. A preamble has none.
        return sorted(row, key=lambda id: -(standing[id].depth or MAX_LEVEL + 1))

    def _standing(self, id: Id) -> Standing:
        """Below what a section stands: where the side that moved it put it."""
        base = self._base.standing.get(id) if self._base else None
        ours, theirs = self._ours.standing.get(id), self._theirs.standing.get(id)
        if ours is None or theirs is None:
            chosen = ours or theirs
            assert chosen is not None
            return self._held(id, chosen)
        merged = three_way(base, ours, theirs)
        if merged is not CLASH:
            assert merged is not None
            return self._held(id, merged)
        if base is not None:
            parent = three_way(base.parent, ours.parent, theirs.parent)
            depth = three_way(base.depth, ours.depth, theirs.depth)
            if parent is not CLASH and depth is not CLASH and ours.parent == theirs.parent:
                return self._held(id, Standing(parent, depth))
        return self._held(id, theirs if self._is_as_theirs(id) else ours)

    def _held(self, id: Id, chosen: Standing) -> Standing:
        """A place below something that is kept: as the other side has it, else one that is higher up."""
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
        return Standing(parent, 1 if parent else side.sections[id].level)

    def _break_circles(self, standing: dict[Id, Standing]) -> None:
        """Two sections that were each put below the other one stand as in ours."""
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
        conflict = Conflict(UnitId(UnitKind.PLACE, key), *(_place(side, id) for side in versions))
        return self._conflicts.is_for_theirs(conflict)


def _place(side: Side | None, id: Id) -> bytes | None:
    """Return what a section stands below and behind, by their addresses."""
    if side is None or id not in side.sections:
        return None
    parent = side.standing[id].parent
    row = side.children[parent]
    place = row.index(id)
    names = (
        side.sections[other].key if other else "" for other in (parent, row[place - 1] if place else None)
    )
    return "\n".join(names).encode()


def kept_sections(base: Side | None, ours: Side, theirs: Side, conflicts: Conflicts) -> set[Id]:
    """Return the ids of the sections that the merged document has.

    A section that one side removed and in which the other one changed, moved or added something is one
    conflict, with all that stands below it.
    """
    kept = {*ours.sections, *theirs.sections}
    if base is None:
        return kept
    for remover, other in ((ours, theirs), (theirs, ours)):
        removed = {id for id in base.sections if id not in remover.sections and id in other.sections}
        moved = _moved(base, other, removed)
        for root, group in _groups(other, removed).items():
            goes = True
            if any(id in moved or _is_changed(base, other, id, removed) for id in group):
                was, now = base.whole(root), other.whole(root)
                versions = (None, now) if remover is ours else (now, None)
                unit = UnitId(UnitKind.SECTION, base.sections[root].key)
                goes = conflicts.is_for_theirs(Conflict(unit, was, *versions)) is (remover is theirs)
            if goes:
                kept.difference_update(group)
                added = {id for id in other.below(root) if id not in remover.sections}
                kept.difference_update(added)
    return kept


def _groups(other: Side, removed: set[Id]) -> dict[Id, list[Id]]:
    """The sections that were removed, by the topmost of them that they stand below in the other version."""
    roots: dict[Id, Id] = {}
    groups: dict[Id, list[Id]] = {}
    for id in other.sections:  # in order, so a parent comes before its children
        if id in removed:
            parent = other.standing[id].parent
            roots[id] = id if parent is None or parent not in removed else roots[parent]
            groups.setdefault(roots[id], []).append(id)
    return groups


def _moved(base: Side, other: Side, removed: set[Id]) -> set[Id]:
    """Return what a side put elsewhere among its siblings, of some sections."""
    found: set[Id] = set()
    for parent in {base.standing[id].parent for id in removed}:
        found |= find_definitely_moved(base.children[parent], other.children.get(parent, []))
    return found & removed


def _is_changed(base: Side, other: Side, id: Id, removed: set[Id]) -> bool:
    """Return True if a side changed a section that the other one removed, or put something below it."""
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


class Heading(NamedTuple):
    """A heading in its parts: the lines with anchors above it, anchors before its words, words, and after.

    `below` are the attribute lists on the lines below it.
    """

    above: bytes
    prefix: str
    words: str
    suffix: str
    below: bytes


def heading_bytes(document: Document, section: Section, level: int | None = None) -> bytes:
    """The lines of a section's heading with the anchors above it, at a level; no line ending behind them."""
    data = document.data
    start = find_text_start(data, section.start, section.body)
    end = find_text_end(data, start, section.body)
    if level is None or level == section.level or section.heading is None or section.is_preamble:
        return data[start:end]
    splices = rewrite_heading(document, section, level=level)
    return apply_splices(data[:end], splices)[start:]


def merged_heading(
    base: tuple[Document, Section] | None,
    ours: tuple[Document, Section],
    theirs: tuple[Document, Section],
    level: int,
) -> bytes | None:
    """The heading of three versions at a level; None where both sides changed one part of it differently."""
    texts = [None if side is None else heading_bytes(*side, level) for side in (base, ours, theirs)]
    merged = three_way(*texts)
    if merged is not CLASH:
        return merged or b""
    parts = [None if side is None else _parts(*side) for side in (base, ours, theirs)]
    if parts[0] is None or parts[1] is None or parts[2] is None:
        return None
    above, prefix, words, suffix, below = (three_way(*versions) for versions in zip(*parts, strict=True))
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


def _parts(document: Document, section: Section) -> Heading | None:
    if section.heading is None:
        return None
    first = find_text_start(document.data, section.start, section.body)
    text = section.heading.text
    above = document.data[first : section.heading_start]
    behind = section.heading.below_start
    below = document.data[behind : find_text_end(document.data, behind, section.body)]
    return Heading(above, text.prefix, text.words, text.suffix, below)
