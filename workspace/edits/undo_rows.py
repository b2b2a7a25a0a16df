"""The revert of one commit in a row of units that later commits may have changed.

Three rows are compared: after the commit (`base`), before the commit (`before`), and the current one (`now`).
A unit is reverted only if it is the same in `base` and `now`. If it is the same in `before` and `now`, it is
already reverted. Any other unit that the commit changed is a clash. Units that the commit did not change stay
as they are in `now`.

A document is a row of units: its front matter, its sections' own texts, and the blank lines between them. The
units of one section have one id in all three versions.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.sections import Evidence, SectionMatch
from workspace.diff.sequences import LinkedList, find_displaced
from workspace.markdown.lines import BLANK

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from workspace.document.document import Document


class UndoAction(StrEnum):
    """The action that reverts a change of a unit."""

    RESTORED = "restored"
    REMOVED = "removed"
    REINSERTED = "brought_back"
    MOVED = "moved"


class RevertResult(NamedTuple):
    """The row after the revert, the reverted units with their actions, and the units that clash.

    A unit is the current one, else the one before the commit.
    """

    units: tuple[SectionUnit, ...]
    done: tuple[tuple[SectionUnit, UndoAction], ...]
    clashes: tuple[SectionUnit, ...]


def revert_row(
    base: Sequence[SectionUnit],
    before: Sequence[SectionUnit],
    now: Sequence[SectionUnit],
    held: Collection[Id] = (),
) -> RevertResult:
    """Return the row `now` without the changes from `before` to `base`.

    Units in `held` stay as they are, because the other side of their move stays.
    """
    return _Row(base, before, now, held).run()


class _Row:
    """A revert of the row `now`, with the changes and clashes so far."""

    def __init__(
        self,
        base: Sequence[SectionUnit],
        before: Sequence[SectionUnit],
        now: Sequence[SectionUnit],
        held: Collection[Id],
    ) -> None:
        self._base, self._before, self._now, self._held = base, before, now, held
        self._base_by_id = {unit.id: unit for unit in base}
        self._before_by_id = {unit.id: unit for unit in before}
        self._now_by_id = {unit.id: unit for unit in now}
        self._clashes: dict[Id, SectionUnit] = {}
        self._done: dict[Id, tuple[SectionUnit, UndoAction]] = {}
        self._removed: set[Id] = set()

    def run(self) -> RevertResult:
        self._compare()
        self._preserve_used_parents()
        for id in self._removed:
            self._done[id] = self._now_by_id[id], UndoAction.REMOVED
        moved_back = self._find_moved_units()
        remaining = [
            self._before_by_id[unit.id] if unit.id in self._done else unit
            for unit in self._now
            if unit.id not in self._removed and unit.id not in moved_back
        ]
        units = self._reinsert(remaining, moved_back)
        units_by_id = {**self._before_by_id, **self._now_by_id}
        clashes = tuple(units_by_id.get(id, unit) for id, unit in self._clashes.items())
        order = {unit.id: position for position, unit in enumerate([*self._now, *self._before])}
        done = sorted(self._done.values(), key=lambda item: order[item[0].id])
        return RevertResult(units, tuple(done), clashes)

    def _compare(self) -> None:
        for unit in self._base:
            old, now = self._before_by_id.get(unit.id), self._now_by_id.get(unit.id)
            if old is None:
                if now is not None and (now.text != unit.text or unit.id in self._held):
                    self._clashes[unit.id] = now
                elif now is not None:
                    self._removed.add(unit.id)
            elif old.text == unit.text or (now is not None and now.text == old.text):
                continue
            elif now is not None and now.text == unit.text and unit.id not in self._held:
                self._done[unit.id] = now, UndoAction.RESTORED
            else:
                self._clashes[unit.id] = now or unit
        for unit in self._before:
            now = self._now_by_id.get(unit.id)
            if unit.id not in self._base_by_id and now is not None and now.text != unit.text:
                self._clashes[unit.id] = now

    def _preserve_used_parents(self) -> None:
        """Preserve a section to which later commits have added sections."""
        for unit in self._now:
            parent = self.parent_of(unit) if unit.id not in self._removed else None
            visited: set[Id] = set()  # two sections can each have been moved below the other
            while parent is not None and parent not in visited:
                visited.add(parent)
                if parent in self._removed:
                    self._removed.discard(parent)
                    self._clashes[parent] = self._now_by_id[parent]
                    self._clashes.setdefault(unit.id, unit)
                parent_unit = self._now_by_id.get(parent) or self._before_by_id.get(parent)
                parent = self.parent_of(parent_unit) if parent_unit else None

    def parent_of(self, unit: SectionUnit) -> Id | None:
        """Return the parent of a unit after the revert."""
        old, base = self._before_by_id.get(unit.id), self._base_by_id.get(unit.id)
        if old is not None and (base is None or old.parent != base.parent):
            return old.parent
        return self._now_by_id[unit.id].parent if unit.id in self._now_by_id else unit.parent

    def _find_moved_units(self) -> set[Id]:
        """Return the units that the commit moved, and that return to their old position."""
        base_ids, before_ids, now_ids = (
            [unit.id for unit in row] for row in (self._base, self._before, self._now)
        )
        # Of two swapped units either may have moved: prefer the reading in which more parents changed.
        readings = find_displaced(base_ids, before_ids), find_displaced(base_ids[::-1], before_ids[::-1])
        moved = max(readings, key=lambda ids: sum(self._has_new_parent(id) for id in ids))
        moved_since = find_displaced(base_ids, now_ids)
        predecessors_before, predecessors_now = (
            _find_predecessors(self._before, self._now_by_id),
            _find_predecessors(self._now, self._before_by_id),
        )
        moved_back: set[Id] = set()
        for id in moved:
            if id not in self._now_by_id:
                self._clashes.setdefault(id, self._base_by_id[id])
            elif id in moved_since:
                if predecessors_before[id] != predecessors_now[id]:  # no later commit has moved it back
                    self._clashes.setdefault(id, self._now_by_id[id])
            elif id not in self._clashes:
                moved_back.add(id)
                self._done[id] = self._now_by_id[id], UndoAction.MOVED
        return moved_back

    def _has_new_parent(self, id: Id) -> bool:
        return self._base_by_id[id].parent != self._before_by_id[id].parent

    def _reinsert(self, remaining: Sequence[SectionUnit], moved_back: set[Id]) -> tuple[SectionUnit, ...]:
        """Return the row with the reverted units, each after its nearest earlier predecessor that remains."""
        units = {unit.id: unit for unit in remaining}
        row = LinkedList(units)
        last: Id | None = None
        for unit in self._before:
            if unit.id in row:
                last = unit.id
            elif unit.id in moved_back or (
                unit.id not in self._base_by_id and unit.id not in self._now_by_id
            ):
                if unit.id in self._held and unit.id not in moved_back:
                    self._clashes[unit.id] = unit
                    continue
                predecessor = last
                if (
                    predecessor is None
                    and unit.level
                    and (first := row.after(None))
                    and not units[first].level
                ):
                    predecessor = first  # no unit is inserted before a preamble
                # A reinserted preamble (level 0) is not moved after deeper units, because it comes first.
                while (
                    unit.level
                    and (following := row.after(predecessor))
                    and units[following].level > unit.level
                ):
                    if self._is_below(following, unit.id):
                        break
                    predecessor = following
                is_edited = unit.id in moved_back and unit.text == self._base_by_id[unit.id].text
                units[unit.id] = self._now_by_id[unit.id] if is_edited else unit
                row.insert(predecessor, unit.id)
                self._done.setdefault(unit.id, (unit, UndoAction.REINSERTED))
                last = unit.id
        return tuple(units[id] for id in row)

    def _is_below(self, id: Id, other: Id) -> bool:
        """Return True if a unit was below another one before the commit."""
        unit = self._before_by_id.get(id)
        while unit is not None and unit.parent is not None:
            if unit.parent == other:
                return True
            unit = self._before_by_id.get(unit.parent)
        return False


def _find_predecessors(row: Sequence[SectionUnit], others: Collection[Id]) -> Mapping[Id, Id | None]:
    """Return the nearest preceding unit that is in `others`, for each unit of a row."""
    predecessors: dict[Id, Id | None] = {}
    last: Id | None = None
    for unit in row:
        predecessors[unit.id] = last
        if unit.id in others:
            last = unit.id
    return predecessors


Id = tuple[str, int | bytes]
"""The id of a unit: the version in which it was found first, and its position (or its key) there."""


class SectionUnit(NamedTuple):
    """A section's own bytes without the blank lines after them, which are `gap` (None for the last unit).

    `start` is its offset in its document, `key` its address there, `parent` the unit above it.
    """

    id: Id
    text: bytes
    gap: bytes | None = None
    level: int = 1
    parent: Id | None = None
    key: str = ""
    start: int = 0


class UnitRow(NamedTuple):
    """A document in parts: the text before its first section, its units, and the blank lines at its end."""

    head: bytes
    units: tuple[SectionUnit, ...]
    end: bytes


def read_units(document: Document, ids: Mapping[int, Id]) -> UnitRow:
    """Return the units of a document. `ids` are the ids of the units, by the position of their sections."""
    sections = document.sections
    if not sections:
        return UnitRow(document.data, (), b"")
    units: list[SectionUnit] = []
    gap = b""
    for item in sections:
        source = document.source(item)
        text = source.rstrip(BLANK)
        gap = source[len(text) :]
        parent = None if item.parent is None else ids[item.parent]
        units.append(SectionUnit(ids[item.position], text, gap, item.level, parent, item.key, item.start))
    units[-1] = units[-1]._replace(gap=None)
    return UnitRow(document.data[: sections[0].start], tuple(units), gap)


def identify_units(base: Document, before: Document, now: Document) -> tuple[dict[int, Id], ...]:
    """Return the ids of units in three versions: after a commit, before it, and now."""
    base_ids: dict[int, Id] = {item.position: ("base", item.position) for item in base.sections}
    before_ids = _assign_ids(before, "before", SectionMatch(base, before, Evidence.TEXT).pairs, base_ids)
    base_pairs = SectionMatch(base, now, Evidence.TEXT).pairs
    now_ids = _assign_ids(now, "now", base_pairs, base_ids)
    used_ids = set(now_ids.values())
    for position, origin in SectionMatch(before, now, Evidence.TEXT).pairs.items():
        # A unit that the commit removed and a later commit added again has one id.
        id = before_ids[origin]
        if position not in base_pairs and id[0] == "before" and id not in used_ids:
            now_ids[position] = id
            used_ids.add(id)
    return base_ids, before_ids, now_ids


def _assign_ids(
    document: Document, version: str, pairs: Mapping[int, int], base_ids: Mapping[int, Id]
) -> dict[int, Id]:
    return {
        item.position: base_ids[pairs[item.position]] if item.position in pairs else (version, item.position)
        for item in document.sections
    }
