"""The revert of one commit in a row of units that others may have changed since.

Three rows are compared: as the commit left it (`base`), as it found it (`before`), and as it is now. A unit
is reverted only if it is as the commit left it. A unit that is as it was before the commit is done already.
Any other unit that the commit changed is a clash. Units that it did not change stay as they are now.

A document as a row of units: its front matter, its sections' own texts, and the blank lines between them.

Undoing compares three versions unit by unit, so the units of one section have one id in all of them.
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
    """The row afterwards, what was done to which unit, and the units that others have changed since.

    A unit is given as it is now, else as it was before the commit.
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
    """Return the row `now` without what made `base` of `before`.

    Units of `held` stay as they are, because the other side of their move stays.
    """
    return _Row(base, before, now, held).run()


class _Row:
    def __init__(
        self,
        base: Sequence[SectionUnit],
        before: Sequence[SectionUnit],
        now: Sequence[SectionUnit],
        held: Collection[Id],
    ) -> None:
        self._base, self._before, self._now, self._held = base, before, now, held
        self._left = {unit.id: unit for unit in base}
        self._was = {unit.id: unit for unit in before}
        self._is = {unit.id: unit for unit in now}
        self._clashes: dict[Id, SectionUnit] = {}
        self._done: dict[Id, tuple[SectionUnit, UndoAction]] = {}
        self._removed: set[Id] = set()

    def run(self) -> RevertResult:
        self._compare()
        self._preserve_used_parents()
        for id in self._removed:
            self._done[id] = self._is[id], UndoAction.REMOVED
        going = self._find_moved_units()
        stays = [
            self._was[unit.id] if unit.id in self._done else unit
            for unit in self._now
            if unit.id not in self._removed and unit.id not in going
        ]
        units = self._reinsert(stays, going)
        known = {**self._was, **self._is}
        clashes = tuple(known.get(id, unit) for id, unit in self._clashes.items())
        order = {unit.id: place for place, unit in enumerate([*self._now, *self._before])}
        done = sorted(self._done.values(), key=lambda item: order[item[0].id])
        return RevertResult(units, tuple(done), clashes)

    def _compare(self) -> None:
        for unit in self._base:
            old, now = self._was.get(unit.id), self._is.get(unit.id)
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
            now = self._is.get(unit.id)
            if unit.id not in self._left and now is not None and now.text != unit.text:
                self._clashes[unit.id] = now

    def _preserve_used_parents(self) -> None:
        """Preserve a section to which others have added sections since."""
        for unit in self._now:
            above = self.parent_of(unit) if unit.id not in self._removed else None
            met: set[Id] = set()  # each of two sections can have been put below the other one
            while above is not None and above not in met:
                met.add(above)
                if above in self._removed:
                    self._removed.discard(above)
                    self._clashes[above] = self._is[above]
                    self._clashes.setdefault(unit.id, unit)
                higher = self._is.get(above) or self._was.get(above)
                above = self.parent_of(higher) if higher else None

    def parent_of(self, unit: SectionUnit) -> Id | None:
        """Return the parent of a unit after the revert."""
        old, left = self._was.get(unit.id), self._left.get(unit.id)
        if old is not None and (left is None or old.parent != left.parent):
            return old.parent
        return self._is[unit.id].parent if unit.id in self._is else unit.parent

    def _find_moved_units(self) -> set[Id]:
        """Return the units that the commit moved, and that go back to their place."""
        left, was, is_now = ([unit.id for unit in row] for row in (self._base, self._before, self._now))
        # Of two swapped units either may have moved: prefer the reading in which more parents changed.
        readings = find_displaced(left, was), find_displaced(left[::-1], was[::-1])
        moved = max(readings, key=lambda ids: sum(self._has_new_parent(id) for id in ids))
        since = find_displaced(left, is_now)
        previous, present = _predecessors(self._before, self._is), _predecessors(self._now, self._was)
        going: set[Id] = set()
        for id in moved:
            if id not in self._is:
                self._clashes.setdefault(id, self._left[id])
            elif id in since:
                if previous[id] != present[id]:  # not put back already
                    self._clashes.setdefault(id, self._is[id])
            elif id not in self._clashes:
                going.add(id)
                self._done[id] = self._is[id], UndoAction.MOVED
        return going

    def _has_new_parent(self, id: Id) -> bool:
        return self._left[id].parent != self._was[id].parent

    def _reinsert(self, stays: Sequence[SectionUnit], going: set[Id]) -> tuple[SectionUnit, ...]:
        """Return the row with the reverted units, each after its nearest earlier predecessor that remains."""
        units = {unit.id: unit for unit in stays}
        row = LinkedList(units)
        last: Id | None = None
        for unit in self._before:
            if unit.id in row:
                last = unit.id
            elif unit.id in going or (unit.id not in self._left and unit.id not in self._is):
                if unit.id in self._held and unit.id not in going:
                    self._clashes[unit.id] = unit
                    continue
                at = last
                if at is None and unit.level and (first := row.after(None)) and not units[first].level:
                    at = first  # nothing comes before the introduction
                # An introduction comes before all others, though their level is lower.
                while unit.level and (following := row.after(at)) and units[following].level > unit.level:
                    if self._is_below(following, unit.id):
                        break
                    at = following
                is_edited = unit.id in going and unit.text == self._left[unit.id].text
                units[unit.id] = self._is[unit.id] if is_edited else unit
                row.insert(at, unit.id)
                self._done.setdefault(unit.id, (unit, UndoAction.REINSERTED))
                last = unit.id
        return tuple(units[id] for id in row)

    def _is_below(self, id: Id, other: Id) -> bool:
        """Return True if a unit was below another one before the commit."""
        unit = self._was.get(id)
        while unit is not None and unit.parent is not None:
            if unit.parent == other:
                return True
            unit = self._was.get(unit.parent)
        return False


def _predecessors(row: Sequence[SectionUnit], others: Collection[Id]) -> Mapping[Id, Id | None]:
    """Return for each unit of a row the nearest one before it that is among `others`."""
    found: dict[Id, Id | None] = {}
    last: Id | None = None
    for unit in row:
        found[unit.id] = last
        if unit.id in others:
            last = unit.id
    return found


Id = tuple[str, int | bytes]
"""Names a unit: the version in which it was met first, and its position (or its key) there."""


class SectionUnit(NamedTuple):
    """A section's own bytes without the blank lines behind them, which are `gap` (None for the last unit).

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
    """A document in parts: all before its first section, its units, and the blank lines at its end."""

    head: bytes
    units: tuple[SectionUnit, ...]
    end: bytes


def read_units(document: Document, ids: Mapping[int, Id]) -> UnitRow:
    """Return the units of a document; `ids` by the position of their sections."""
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
    """Return the ids of three versions: of what a commit left, of what it found, and of what there is now."""
    left: dict[int, Id] = {item.position: ("base", item.position) for item in base.sections}
    found = _find_named(before, "before", SectionMatch(base, before, Evidence.TEXT).pairs, left)
    since = SectionMatch(base, now, Evidence.TEXT).pairs
    present = _find_named(now, "now", since, left)
    known = set(present.values())
    for position, origin in SectionMatch(before, now, Evidence.TEXT).pairs.items():
        # A unit that the commit removed and a later commit added again has one id.
        id = found[origin]
        if position not in since and id[0] == "before" and id not in known:
            present[position] = id
            known.add(id)
    return left, found, present


def _find_named(
    document: Document, version: str, pairs: Mapping[int, int], known: Mapping[int, Id]
) -> dict[int, Id]:
    return {
        item.position: known[pairs[item.position]] if item.position in pairs else (version, item.position)
        for item in document.sections
    }
