"""Which sections a merge keeps: what one side removed goes, unless the other side changed what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace.diff.sequences import surely_displaced
from workspace.merge.conflict import Conflict, UnitId, UnitKind

if TYPE_CHECKING:
    from workspace.merge.conflict import Conflicts
    from workspace.merge.sections import Id, Side


def kept_sections(base: Side | None, ours: Side, theirs: Side, conflicts: Conflicts) -> set[Id]:
    """The ids of the sections that the merged document has.

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
    """What a side put elsewhere among its siblings, of some sections."""
    found: set[Id] = set()
    for parent in {base.standing[id].parent for id in removed}:
        found |= surely_displaced(base.children[parent], other.children.get(parent, []))
    return found & removed


def _is_changed(base: Side, other: Side, id: Id, removed: set[Id]) -> bool:
    """Whether a side changed a section that the other one removed, or put something below it."""
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
