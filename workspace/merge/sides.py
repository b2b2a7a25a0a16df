"""What one side of a merge did to the files of the base: changed, added, removed, renamed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.git import trees

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.git import Entry
    from workspace.snapshot.snapshot import Snapshot


class Located(NamedTuple):
    """Where a file is on a side, and what it is there; None where it was removed."""

    path: str
    entry: Entry | None


class Side(NamedTuple):
    """One side: its commit, what differs from the base by path, and where renamed documents are by now."""

    snapshot: Snapshot
    changes: Mapping[str, trees.TreeChange]
    renames: Mapping[str, str]

    def locate(self, path: str, entry: Entry) -> Located:
        """Where a file of the base is here; one that was removed is where it was, and nothing."""
        path = self.renames.get(path, path)
        change = self.changes.get(path)
        return Located(path, change.new if change is not None else entry)

    def added(self) -> Mapping[str, Entry]:
        """What this side put where the base has nothing, less the documents that it renamed; by path."""
        moved = {*self.renames.values()}
        return {
            path: change.new
            for path, change in self.changes.items()
            if change.old is None and change.new is not None and path not in moved
        }


def sides_of(base: Snapshot, ours: Snapshot, theirs: Snapshot) -> tuple[Side, Side]:
    """What each of two commits did to a base.

    A document that one side renamed, and of which the other has too little left to tell, was renamed by both
    if it came to the same place.
    """
    one, other = _side(base, ours), _side(base, theirs)
    return _agreed(one, other), _agreed(other, one)


def _side(base: Snapshot, snapshot: Snapshot) -> Side:
    changes = {change.path: change for change in trees.changes(snapshot.git, base.tree, snapshot.tree)}
    return Side(snapshot, changes, _renames(base, snapshot))


def _renames(base: Snapshot, snapshot: Snapshot) -> Mapping[str, str]:
    if base.tree is None or snapshot.tree is None:
        return {}
    found = Renames(snapshot.git, base.tree, snapshot.tree, snapshot.config.is_document)
    now = {path: found.of(path) for path in found.gone}
    # Of two equal documents that went, either may be the one that came.
    times = Counter(now.values())
    return {path: new for path, new in now.items() if new is not None and times[new] == 1}


def _agreed(side: Side, other: Side) -> Side:
    added = side.added()
    shared = {}
    for path, new in other.renames.items():
        change = side.changes.get(path)
        is_gone = change is not None and change.new is None and path not in side.renames
        if is_gone and new in added and added[new].is_blob:
            shared[path] = new
    return side._replace(renames={**side.renames, **shared}) if shared else side
