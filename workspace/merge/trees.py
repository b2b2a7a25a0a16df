"""Three trees made one: what theirs did to the base, done to ours, file by file.

Documents that both sides changed are merged by `documents`; every other file is taken whole, from the side
that changed it. A document is known again where it was renamed. What cannot be merged stays as it is in ours,
and is a conflict.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workspace.config.config import LimitExceeded
from workspace.git.objects import FILE_MODE, blob_id
from workspace.git.trees import Whole
from workspace.merge.deciding import Decisions
from workspace.merge.room import Room
from workspace.merge.sides import Located, sides_of
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.git import Entry
    from workspace.merge.conflict import MergedDocument, UnitId
    from workspace.merge.deciding import FileConflict, Resolutions
    from workspace.merge.sides import Side
    from workspace.snapshot.snapshot import Snapshot


class Sources(NamedTuple):
    """The paths that one file has in the base, in ours and in theirs."""

    base: str
    ours: str
    theirs: str


class Merge(NamedTuple):
    """What a merge makes of ours: the changes of a commit on top of it, and what it could not decide.

    `changes` are the new bytes of documents that were merged, and what is taken whole from theirs, by path.
    `moved` are paths of documents in ours whose renaming by theirs is among the changes. `resolved` are the
    conflicts that a resolution has decided, by path and unit; one that is not among them was for nothing.
    `bases` are the commits in which both lines of history part. `sources` has the paths that a file had, by
    its path after the merge or by one that it left.
    """

    bases: tuple[str, ...]
    ours: Snapshot
    theirs: Snapshot
    changes: Mapping[str, bytes | Whole]
    conflicts: tuple[FileConflict, ...]
    moved: Mapping[str, str]
    resolved: tuple[tuple[str, UnitId], ...] = ()
    sources: Mapping[str, Sources] = MappingProxyType({})

    @property
    def is_done(self) -> bool:
        """Whether ours holds all commits of theirs already."""
        return self.theirs.commit in self.bases

    def source(self, path: str, side: Snapshot) -> str:
        """Return the path that a file has on one side, given its path after the merge or one that it left."""
        found = self.sources.get(path, Sources(path, path, path))
        return found.ours if side is self.ours else found.theirs

    def entry(self, path: str) -> bytes | Entry | None:
        """What stands at a path after the merge: new bytes, an entry of ours or theirs, or nothing."""
        change = self.changes.get(path)
        if isinstance(change, bytes):
            return change
        return change.entry if change is not None else self.ours.entry(path)

    def read(self, path: str) -> bytes | None:
        """The bytes of a regular file after the merge; None if none is there."""
        found = self.entry(path)
        if found is None or isinstance(found, bytes):
            return found
        return self.ours.git.blob(found.id) if found.is_blob else None


def merge_snapshots(
    base: Snapshot, ours: Snapshot, theirs: Snapshot, resolutions: Resolutions | None = None
) -> Merge:
    """Merges two commits that have a base in common; `resolutions` decide conflicts, by path and unit.

    Raises InvalidResolution, InvalidConfig.
    """
    return _Merging(base, *sides_of(base, ours, theirs), Decisions(ours.git, resolutions or {})).merge()


class _Merging:
    """One merge on its way: what changes in ours, what leaves it, and what comes to a path of its own.

    What comes is known with the path that it has in ours, if it was renamed; None if it is new there.
    """

    def __init__(self, base: Snapshot, ours: Side, theirs: Side, decisions: Decisions) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._decisions = decisions
        self._changes: dict[str, bytes | Whole] = {}
        self._coming: dict[str, tuple[str | None, bytes | Whole]] = {}
        # By path after the merge, of what comes, of all else, and of paths that no file has any more.
        self._coming_from: dict[str, Sources] = {}
        self._leaving: set[str] = set()
        self._sources: dict[str, Sources] = {}
        self._left: dict[str, Sources] = {}

    def merge(self) -> Merge:
        """Merges file by file, then looks whether there is room for what comes."""
        for path, change in sorted(self._theirs.changes.items()):
            if change.old is not None:
                self._merge_file(Located(path, change.old))
        added = self._ours.added()
        for path, entry in sorted(self._theirs.added().items()):
            self._add(Located(path, entry), is_new_here=path in added)
        self._send_back()
        changes = {
            **{path: Whole(None) for path in self._leaving},
            **self._changes,
            **{path: change for path, (_, change) in self._coming.items()},
        }
        moved = {old: path for path, (old, _) in self._coming.items() if old is not None}
        return Merge(
            (self._base.commit,) if self._base.commit else (),
            self._ours.snapshot,
            self._theirs.snapshot,
            dict(sorted(changes.items())),
            self._decisions.conflicts,
            moved,
            self._decisions.resolved,
            {
                **{path: found for path, found in self._left.items() if not self._has(path, changes)},
                **self._sources,
                **{path: found for path, found in self._coming_from.items() if path in self._coming},
            },
        )

    def _has(self, path: str, changes: Mapping[str, bytes | Whole]) -> bool:
        """Return True if a file is at a path after the merge."""
        change = changes.get(path)
        return change != Whole(None) if change is not None else bool(file_at(self._ours.snapshot, path))

    def _merge_file(self, base: Located) -> None:
        """One file of the base that theirs changed, removed or renamed."""
        assert base.entry is not None
        ours, theirs = (side.locate(base.path, base.entry) for side in (self._ours, self._theirs))
        sources = Sources(base.path, ours.path, theirs.path)
        for path in sources:
            self._left.setdefault(path, sources)
        if theirs.entry is None:
            if ours == base:
                self._leaving.add(base.path)
            elif ours.entry is not None:
                self._take_whole(ours.path, base.entry, ours.entry, None)
        elif ours.entry is None:
            # What stands there by now is what ours has to lose.
            here = file_at(self._ours.snapshot, theirs.path)
            self._take_whole(theirs.path, base.entry, here, theirs.entry)
        else:
            place = self._place(base, ours, theirs)
            change = self._content(base, ours, theirs)
            if place != ours.path:
                self._coming_from[place] = sources
                self._leaving.add(ours.path)
                self._coming[place] = (ours.path, Whole(ours.entry) if change is None else change)
                return
            self._sources[place] = sources
            if change is not None:
                self._changes[place] = change

    def _place(self, base: Located, ours: Located, theirs: Located) -> str:
        """Where a file stands that both sides have."""
        if theirs.path in (base.path, ours.path):
            return ours.path
        if ours.path == base.path or self._decisions.takes_their_place(base, ours, theirs):
            return theirs.path
        return ours.path

    def _add(self, theirs: Located, *, is_new_here: bool) -> None:
        """One file that theirs added."""
        assert theirs.entry is not None
        here = file_at(self._ours.snapshot, theirs.path)
        if here is None or theirs.path in self._leaving:
            self._coming[theirs.path] = (None, Whole(theirs.entry))
        elif not is_new_here:
            # A document stands there that ours has renamed, and that is another one.
            self._take_whole(theirs.path, None, here, theirs.entry)
            if theirs.path in self._changes:
                self._sources[theirs.path] = Sources(theirs.path, theirs.path, theirs.path)
        else:
            change = self._content(None, Located(theirs.path, here), theirs)
            if change is not None:
                self._changes[theirs.path] = change

    def _take_whole(self, path: str, base: Entry | None, ours: Entry | None, theirs: Entry | None) -> None:
        """A file that cannot be merged: it stays as it is in ours, unless it was decided."""
        change = self._decisions.whole(path, base, ours, theirs)
        if change == Whole(None):
            self._leaving.add(path)
        elif change is not None and ours is None:
            self._coming[path] = (None, change)
        elif change is not None:
            self._changes[path] = change

    def _content(self, base: Located | None, ours: Located, theirs: Located) -> bytes | Whole | None:
        """What a file holds after the merge; None if that is what it holds in ours."""
        here, there, old = ours.entry, theirs.entry, base.entry if base else None
        assert here is not None
        assert there is not None
        if _same(here, there) or (old is not None and _same(there, old)):
            return None
        if old is not None and _same(here, old):
            return Whole(there)
        if old is not None and old.is_blob and here.is_blob and there.is_blob:
            # Text and mode are decided each by itself where one side changed it alone.
            mode = there.mode if here.mode == old.mode else here.mode
            if there.id in (old.id, here.id):
                return None if mode == here.mode else Whole(here._replace(mode=mode))
            if here.id == old.id:
                return Whole(there._replace(mode=mode))
        merged = self._document(base, ours, theirs)
        if merged is None:
            return self._decisions.whole(ours.path, old, here, there)
        self._decisions.add(ours.path, merged)
        return None if blob_id(merged.data) == here.id else merged.data

    def _document(self, base: Located | None, ours: Located, theirs: Located) -> MergedDocument | None:
        """The documents of both sides made one; None where the files are to be taken as wholes."""
        entries = [located.entry for located in (base, ours, theirs) if located is not None]
        # New bytes carry no mode of their own.
        if any(entry is None or entry.mode != FILE_MODE for entry in entries):
            return None
        # Imported here because a server answers its first questions without reading a document.
        from workspace.merge.documents import merge_documents

        snapshot, (one, other) = self._ours.snapshot, (ours.path, theirs.path)
        try:
            old = self._base.document(base.path) if base else None
            here, there = snapshot.document(one), self._theirs.snapshot.document(other)
            merged = merge_documents(old, here, there, self._decisions.of(one))
        except (DocumentNotFound, LimitExceeded):
            return None
        is_decided = merged.conflicts and self._decisions.is_decided(one)
        return None if is_decided or len(merged.data) > snapshot.config.limits.document_bytes else merged

    def _send_back(self) -> None:
        """Where there is no room for what comes, it stays where it is in ours, or out; that is a conflict."""
        room = Room(self._ours.snapshot, self._theirs.snapshot, self._leaving)
        is_settled = False
        while not is_settled:
            is_settled = True
            for path, (old, change) in list(self._coming.items()):
                taken = room.taken(path)
                if taken is None or self._is_given(path, taken):
                    continue
                del self._coming[path]
                self._left[path] = Sources(path, taken, path)
                is_settled = False
                if old is not None:  # which takes the room of others again
                    self._leaving.discard(old)
                    self._sources[old] = self._coming_from[path]
                    if change != Whole(self._ours.snapshot.entry(old)):
                        self._changes[old] = change

    def _is_given(self, path: str, taken: str) -> bool:
        """Whether it was decided that what comes takes the place of a file."""
        here = file_at(self._ours.snapshot, path)
        if taken != path or here is None:
            self._decisions.leave(path, taken)
            return False
        if path in self._changes:
            self._decisions.leave(path, taken)
            return False
        there = file_at(self._theirs.snapshot, path)
        change = self._decisions.whole(path, None, here, there)
        if isinstance(change, bytes):
            self._coming[path] = (self._coming[path][0], change)
        # What theirs has renamed comes with what ours has changed in it.
        return change is not None


def file_at(snapshot: Snapshot, path: str) -> Entry | None:
    """What stands at a path, if it is no folder."""
    entry = snapshot.entry(path)
    return None if entry is None or entry.is_tree else entry


def _same(one: Entry, other: Entry) -> bool:
    return (one.id, one.mode) == (other.id, other.mode)
