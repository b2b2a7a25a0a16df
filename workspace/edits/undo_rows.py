"""Revert one commit in a row of units that later commits may have changed.

A row is a list of units: the sections of a document without their subsections, or the keys of front matter.

Three rows are compared: after the commit (`base`), before the commit (`before`), and the current row
(`current`). A unit has the same id in all three rows. A unit is reverted only if it is the same in `base` and
`current`. If it is the same in `before` and `current`, it is already reverted. Any other unit that the commit
changed is a conflict. Units that the commit did not change stay as they are in `current`.
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
    """The row after the revert, the reverted units with their actions, and the units that conflict.

    In `actions` and `conflicts`, a unit has its current text or, if it is missing now, its text before the
    commit.
    """

    units: tuple[RowUnit, ...]
    actions: tuple[tuple[RowUnit, UndoAction], ...]
    conflicts: tuple[RowUnit, ...]


def revert_row(
    base: Sequence[RowUnit],
    before: Sequence[RowUnit],
    current: Sequence[RowUnit],
    preserved_ids: Collection[RowUnitId] = (),
) -> RevertResult:
    """Return the row `current` without the changes from `before` to `base`.

    Units in `preserved_ids` stay as they are, because the source or the target of their move is not reverted.
    """
    return _RowRevert(base, before, current, preserved_ids).run()


class _RowRevert:
    """A revert of the row `current`, with the actions and conflicts so far."""

    def __init__(
        self,
        base: Sequence[RowUnit],
        before: Sequence[RowUnit],
        current: Sequence[RowUnit],
        preserved_ids: Collection[RowUnitId],
    ) -> None:
        self._base, self._before, self._current, self._preserved_ids = base, before, current, preserved_ids
        self._base_by_id = {unit.id: unit for unit in base}
        self._before_by_id = {unit.id: unit for unit in before}
        self._current_by_id = {unit.id: unit for unit in current}
        self._conflicts: dict[RowUnitId, RowUnit] = {}
        self._actions: dict[RowUnitId, tuple[RowUnit, UndoAction]] = {}
        self._removed_ids: set[RowUnitId] = set()

    def run(self) -> RevertResult:
        self._compare_units()
        self._preserve_used_parents()
        for id in self._removed_ids:
            self._actions[id] = self._current_by_id[id], UndoAction.REMOVED
        returning_ids = self._find_returning_ids()
        remaining_units = [
            self._before_by_id[unit.id] if unit.id in self._actions else unit
            for unit in self._current
            if unit.id not in self._removed_ids and unit.id not in returning_ids
        ]
        units = self._reinsert(remaining_units, returning_ids)
        units_by_id = {**self._before_by_id, **self._current_by_id}
        conflicts = tuple(units_by_id.get(id, unit) for id, unit in self._conflicts.items())
        positions = {unit.id: position for position, unit in enumerate([*self._current, *self._before])}
        actions = sorted(self._actions.values(), key=lambda item: positions[item[0].id])
        return RevertResult(units, tuple(actions), conflicts)

    def _compare_units(self) -> None:
        """Record the units to restore, the units to remove, and the units that conflict."""
        for unit in self._base:
            old, current = self._before_by_id.get(unit.id), self._current_by_id.get(unit.id)
            if old is None:
                if current is not None and (current.text != unit.text or unit.id in self._preserved_ids):
                    self._conflicts[unit.id] = current
                elif current is not None:
                    self._removed_ids.add(unit.id)
            elif old.text == unit.text or (current is not None and current.text == old.text):
                continue
            elif current is not None and current.text == unit.text and unit.id not in self._preserved_ids:
                self._actions[unit.id] = current, UndoAction.RESTORED
            else:
                self._conflicts[unit.id] = current or unit
        for unit in self._before:
            current = self._current_by_id.get(unit.id)
            if unit.id not in self._base_by_id and current is not None and current.text != unit.text:
                self._conflicts[unit.id] = current

    def _preserve_used_parents(self) -> None:
        """Record a conflict instead of a removal for each section below which other sections remain."""
        for unit in self._current:
            parent = self.find_parent(unit) if unit.id not in self._removed_ids else None
            visited: set[RowUnitId] = set()  # two sections can each have been moved below the other one
            while parent is not None and parent not in visited:
                visited.add(parent)
                if parent in self._removed_ids:
                    self._removed_ids.discard(parent)
                    self._conflicts[parent] = self._current_by_id[parent]
                    self._conflicts.setdefault(unit.id, unit)
                parent_unit = self._current_by_id.get(parent) or self._before_by_id.get(parent)
                parent = self.find_parent(parent_unit) if parent_unit else None

    def find_parent(self, unit: RowUnit) -> RowUnitId | None:
        """Return the id of a unit's parent after the revert."""
        old, base = self._before_by_id.get(unit.id), self._base_by_id.get(unit.id)
        if old is not None and (base is None or old.parent != base.parent):
            return old.parent
        return self._current_by_id[unit.id].parent if unit.id in self._current_by_id else unit.parent

    def _find_returning_ids(self) -> set[RowUnitId]:
        """Return the ids of the units that return to the position from which the commit moved them.

        Record their actions, and the conflicts of moved units that cannot return.
        """
        base_ids, before_ids, current_ids = (
            [unit.id for unit in row] for row in (self._base, self._before, self._current)
        )
        # Of two swapped units either may have moved: choose the alternative in which more parents changed.
        displaced_ids = find_displaced(base_ids, before_ids), find_displaced(base_ids[::-1], before_ids[::-1])
        moved_ids = max(displaced_ids, key=lambda ids: sum(self._has_new_parent(id) for id in ids))
        later_moved_ids = find_displaced(base_ids, current_ids)
        old_predecessors, current_predecessors = (
            _find_predecessors(self._before, self._current_by_id),
            _find_predecessors(self._current, self._before_by_id),
        )
        returning_ids: set[RowUnitId] = set()
        for id in moved_ids:
            if id not in self._current_by_id:
                self._conflicts.setdefault(id, self._base_by_id[id])
            elif id in later_moved_ids:
                if old_predecessors[id] != current_predecessors[id]:  # no later commit has moved it back
                    self._conflicts.setdefault(id, self._current_by_id[id])
            elif id not in self._conflicts:
                returning_ids.add(id)
                self._actions[id] = self._current_by_id[id], UndoAction.MOVED
        return returning_ids

    def _has_new_parent(self, id: RowUnitId) -> bool:
        return self._base_by_id[id].parent != self._before_by_id[id].parent

    def _reinsert(
        self, remaining_units: Sequence[RowUnit], returning_ids: set[RowUnitId]
    ) -> tuple[RowUnit, ...]:
        """Return the row with the reverted units, each after its nearest old predecessor that is in the row.

        Record their actions, and the conflicts of units that are not reinserted.
        """
        units = {unit.id: unit for unit in remaining_units}
        row = LinkedList(units)
        last_id: RowUnitId | None = None
        for unit in self._before:
            if unit.id in row:
                last_id = unit.id
            elif unit.id in returning_ids or (
                unit.id not in self._base_by_id and unit.id not in self._current_by_id
            ):
                if unit.id in self._preserved_ids and unit.id not in returning_ids:
                    self._conflicts[unit.id] = unit
                    continue
                predecessor = last_id
                if (
                    predecessor is None
                    and unit.level
                    and (first_id := row.find_next(None))
                    and not units[first_id].level
                ):
                    predecessor = first_id  # no unit is inserted before a preamble
                # A reinserted preamble (level 0) is not moved after deeper units, because it comes first.
                while (
                    unit.level
                    and (next_id := row.find_next(predecessor))
                    and units[next_id].level > unit.level
                ):
                    if self._is_below(next_id, unit.id):
                        break
                    predecessor = next_id
                is_only_moved = unit.id in returning_ids and unit.text == self._base_by_id[unit.id].text
                units[unit.id] = self._current_by_id[unit.id] if is_only_moved else unit
                row.insert(predecessor, unit.id)
                self._actions.setdefault(unit.id, (unit, UndoAction.REINSERTED))
                last_id = unit.id
        return tuple(units[id] for id in row)

    def _is_below(self, id: RowUnitId, other_id: RowUnitId) -> bool:
        """Return True if a unit was below another one before the commit."""
        unit = self._before_by_id.get(id)
        while unit is not None and unit.parent is not None:
            if unit.parent == other_id:
                return True
            unit = self._before_by_id.get(unit.parent)
        return False


def _find_predecessors(
    row: Sequence[RowUnit], other_ids: Collection[RowUnitId]
) -> Mapping[RowUnitId, RowUnitId | None]:
    """Return the id of the nearest preceding unit that is in `other_ids`, by the id of each unit of a row."""
    predecessors: dict[RowUnitId, RowUnitId | None] = {}
    last_id: RowUnitId | None = None
    for unit in row:
        predecessors[unit.id] = last_id
        if unit.id in other_ids:
            last_id = unit.id
    return predecessors


RowUnitId = tuple[str, int | bytes]
"""The id of a unit: the first of `base`, `before` and `current` that contains it, and its position there.

The id of a key of front matter is `key` and the key.
"""


class RowUnit(NamedTuple):
    """A section's own bytes, or the lines of a front matter key, without the blank lines after them.

    `gap` is these blank lines; None for the last unit and for a key. `start` is the offset of the section in
    its document, `key` its address, and `parent` the id of the parent's unit.
    """

    id: RowUnitId
    text: bytes
    gap: bytes | None = None
    level: int = 1
    parent: RowUnitId | None = None
    key: str = ""
    start: int = 0


class UnitRow(NamedTuple):
    """A document as a row: the text before its first section, its units, and the blank lines at its end."""

    head: bytes
    units: tuple[RowUnit, ...]
    end_gap: bytes


def read_unit_row(document: Document, ids: Mapping[int, RowUnitId]) -> UnitRow:
    """Return a document as a row. `ids` are the ids of the units, by the position of their sections."""
    sections = document.sections
    if not sections:
        return UnitRow(document.data, (), b"")
    units: list[RowUnit] = []
    gap = b""
    for item in sections:
        source = document.source(item)
        text = source.rstrip(BLANK)
        gap = source[len(text) :]
        parent = None if item.parent is None else ids[item.parent]
        units.append(RowUnit(ids[item.position], text, gap, item.level, parent, item.key, item.start))
    units[-1] = units[-1]._replace(gap=None)
    return UnitRow(document.data[: sections[0].start], tuple(units), gap)


def identify_units(base: Document, before: Document, current: Document) -> tuple[dict[int, RowUnitId], ...]:
    """Return the ids of the units of each version, by the position of their sections.

    The versions are the document after a commit (`base`), before the commit, and now.
    """
    base_ids: dict[int, RowUnitId] = {item.position: ("base", item.position) for item in base.sections}
    before_ids = _assign_ids(before, "before", SectionMatch(base, before, Evidence.TEXT).pairs, base_ids)
    base_pairs = SectionMatch(base, current, Evidence.TEXT).pairs
    current_ids = _assign_ids(current, "current", base_pairs, base_ids)
    used_ids = set(current_ids.values())
    for position, origin in SectionMatch(before, current, Evidence.TEXT).pairs.items():
        # A unit that the commit removed and a later commit added again has one id.
        id = before_ids[origin]
        if position not in base_pairs and id[0] == "before" and id not in used_ids:
            current_ids[position] = id
            used_ids.add(id)
    return base_ids, before_ids, current_ids


def _assign_ids(
    document: Document, version: str, pairs: Mapping[int, int], base_ids: Mapping[int, RowUnitId]
) -> dict[int, RowUnitId]:
    return {
        item.position: base_ids[pairs[item.position]] if item.position in pairs else (version, item.position)
        for item in document.sections
    }
