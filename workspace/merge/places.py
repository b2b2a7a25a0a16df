"""Where the sections of a merged document stand: below what, how deep, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from workspace.edits.content import MAX_LEVEL
from workspace.merge.conflict import Conflict, UnitId, UnitKind
from workspace.merge.order import merged_order
from workspace.merge.sections import Standing
from workspace.merge.three_way import CLASH, three_way

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from workspace.merge.conflict import Conflicts
    from workspace.merge.sections import Id, Side


class Placed(NamedTuple):
    """The sections in order, each with its level and what it stands below."""

    levels: Mapping[Id, int]
    parents: Mapping[Id, Id | None]


def placed(base: Side | None, ours: Side, theirs: Side, kept: Collection[Id], conflicts: Conflicts) -> Placed:
    """The merged tree of sections. What both sides moved differently stands as in ours."""
    return _Places(base, ours, theirs, kept, conflicts).placed()


class _Places:
    def __init__(
        self, base: Side | None, ours: Side, theirs: Side, kept: Collection[Id], conflicts: Conflicts
    ) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._kept, self._conflicts = kept, conflicts

    def placed(self) -> Placed:
        """The merged tree."""
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
        """What stands below a section, or at the top, in order."""
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
    """What a section stands below and behind, by their addresses."""
    if side is None or id not in side.sections:
        return None
    parent = side.standing[id].parent
    row = side.children[parent]
    place = row.index(id)
    names = (
        side.sections[other].key if other else "" for other in (parent, row[place - 1] if place else None)
    )
    return "\n".join(names).encode()
