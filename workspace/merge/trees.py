"""The three-way merge of trees, file by file.

Documents that both sides changed are merged by `documents`; every other file is taken whole, from the side
that changed it. Renamed documents are followed. A file that cannot be merged stays as it is in ours, and is a
conflict; so is a file whose path is blocked by another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.errors import LimitExceeded
from workspace.git import trees
from workspace.git.objects import FILE_MODE, hash_blob
from workspace.git.trees import WholeEntry, walk_tree
from workspace.merge.conflict import (
    InvalidResolution,
    Resolution,
    ResolutionChoice,
    UnitConflict,
    UnitId,
    UnitKind,
)
from workspace.paths import InvalidPath, fold_name, is_git_folder
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from workspace.git.objects import TreeEntry
    from workspace.git.reader import GitReader
    from workspace.merge.conflict import MergedDocument, UnitId
    from workspace.snapshot.snapshot import Snapshot


class FileLocation(NamedTuple):
    """The path of a file on a side, and its entry; None where it was removed."""

    path: str
    entry: TreeEntry | None


class TreeSide(NamedTuple):
    """One side: its commit, its differences from the base by path, and the new paths of renamed documents."""

    snapshot: Snapshot
    changes: Mapping[str, trees.TreeChange]
    renames: Mapping[str, str]

    def locate(self, path: str, entry: TreeEntry) -> FileLocation:
        """Return the location of a file of the base; a removed one is at its old path, without an entry."""
        path = self.renames.get(path, path)
        change = self.changes.get(path)
        return FileLocation(path, change.new if change is not None else entry)

    def added(self) -> Mapping[str, TreeEntry]:
        """Return the entries at paths that the base does not have, without renamed documents; by path."""
        moved = {*self.renames.values()}
        return {
            path: change.new
            for path, change in self.changes.items()
            if change.old is None and change.new is not None and path not in moved
        }


def compare_sides(base: Snapshot, ours: Snapshot, theirs: Snapshot) -> tuple[TreeSide, TreeSide]:
    """Return the changes of each of two commits to a base.

    A document that one side renamed, and of which the other has too little left to tell, was renamed by both
    if it came to the same place.
    """
    one, other = _compare_side(base, ours), _compare_side(base, theirs)
    return _drop_disputed_renames(one, other), _drop_disputed_renames(other, one)


def _compare_side(base: Snapshot, snapshot: Snapshot) -> TreeSide:
    changes = {change.path: change for change in trees.diff_trees(snapshot.git, base.tree, snapshot.tree)}
    return TreeSide(snapshot, changes, _find_renames(base, snapshot))


def _find_renames(base: Snapshot, snapshot: Snapshot) -> Mapping[str, str]:
    if base.tree is None or snapshot.tree is None:
        return {}
    found = Renames(snapshot.git, base.tree, snapshot.tree, snapshot.config.is_document)
    now = {path: found.of(path) for path in found.gone}
    # Of two equal documents that went, either may be the one that came.
    times = Counter(now.values())
    return {path: new for path, new in now.items() if new is not None and times[new] == 1}


def _drop_disputed_renames(side: TreeSide, other: TreeSide) -> TreeSide:
    added = side.added()
    shared = {}
    for path, new in other.renames.items():
        change = side.changes.get(path)
        is_gone = change is not None and change.new is None and path not in side.renames
        if is_gone and new in added and added[new].is_blob:
            shared[path] = new
    return side._replace(renames={**side.renames, **shared}) if shared else side


class PathCollisions:
    """The paths of ours, without those that are removed. `leaving` may change meanwhile."""

    def __init__(self, ours: Snapshot, theirs: Snapshot, leaving: Collection[str]) -> None:
        self._ours, self._theirs, self._leaving = ours, theirs, leaving
        self._names: dict[str, Mapping[str, Collection[str]]] = {}

    def find_blocking_path(self, path: str) -> str | None:
        """Return the path in ours that blocks a file's path; None if the path is free.

        It is the path itself, a file where a folder is needed, or a twin: a name that some disks take for the
        same. Twins that stand beside each other in theirs may do so here. Raises InvalidPath for a path in a
        folder of Git's own, which no honest tree has.
        """
        folder = ""
        parts = path.split("/")
        for depth, name in enumerate(parts, 1):
            if is_git_folder(name) or name in ("", ".", ".."):
                raise InvalidPath(path, "a part of it is a name that Git keeps for itself")
            here = folder + name
            entry = self._ours.entry(here)
            is_folder = entry is not None and entry.is_tree and depth < len(parts)
            if entry is not None and not is_folder and self._stays(here, entry):
                return here
            twin = None if is_folder else self._twin(folder, name)
            if twin is not None:
                return twin
            folder = f"{here}/"
        return None

    def _twin(self, folder: str, name: str) -> str | None:
        for other in self._named(folder).get(fold_name(name), ()):
            path = folder + other
            entry = self._ours.entry(path)
            if other == name or entry is None or self._theirs.entry(path) is not None:
                continue
            if self._stays(path, entry):
                return path
        return None

    def _named(self, folder: str) -> Mapping[str, Collection[str]]:
        """Return the names in a folder of ours, by their folded form."""
        if folder not in self._names:
            found: dict[str, list[str]] = {}
            entry = self._ours.entry(folder[:-1]) if folder else None
            tree = entry.id if entry is not None and entry.is_tree else None if folder else self._ours.tree
            for item in self._ours.git.tree(tree) if tree else ():
                found.setdefault(fold_name(item.name), []).append(item.name)
            self._names[folder] = found
        return self._names[folder]

    def _stays(self, path: str, entry: TreeEntry) -> bool:
        if not entry.is_tree:
            return path not in self._leaving
        return any(f"{path}/{below}" not in self._leaving for below, _ in walk_tree(self._ours.git, entry.id))


WHOLE = UnitId(UnitKind.DOCUMENT)
"""A document or another file as a whole."""

PLACE = UnitId(UnitKind.PLACE)
"""The path at which a file stands."""

Resolutions = Mapping[str, Mapping[UnitId, Resolution]]
"""How conflicts are decided: by path, and within a document by unit."""

_SHOWN = 10_000_000


class FileConflict(NamedTuple):
    """A conflict, and the path of its file: as it is in ours, else in theirs.

    A conflict of the whole file has its bytes, or, where it is no regular file or has more than 10 MB, what
    Git calls it: its mode and the id of its object. A conflict of the place has paths; without a base, that
    of theirs cannot be had beside that of ours, because one would have to be a folder, or both are one file
    where letter case or Unicode forms do not count.
    """

    path: str
    conflict: UnitConflict


class FileConflicts:
    """The conflicts of one merge, collected during it, each decided by a resolution if there is one."""

    def __init__(self, git: GitReader, resolutions: Resolutions) -> None:
        self._git = git
        self._resolutions = resolutions
        self._found: dict[tuple[str, UnitId], FileConflict] = {}
        self._resolved: dict[tuple[str, UnitId], None] = {}

    @property
    def conflicts(self) -> tuple[FileConflict, ...]:
        """The undecided conflicts, in order of paths."""
        return tuple(sorted(self._found.values(), key=lambda found: found.path))

    @property
    def resolved(self) -> tuple[tuple[str, UnitId], ...]:
        """The resolutions that were applied, by path and unit."""
        return tuple(self._resolved)

    def select_resolutions(self, path: str) -> Mapping[UnitId, Resolution]:
        """Return the resolutions for one document."""
        return self._resolutions.get(path, {})

    def is_decided(self, path: str) -> bool:
        """Return True if there is a resolution for a file as a whole."""
        return WHOLE in self.select_resolutions(path)

    def add(self, path: str, merged: MergedDocument) -> None:
        """Add the conflicts of a document's merge."""
        for conflict in merged.conflicts:
            self._found[path, conflict.unit] = FileConflict(path, conflict)
        self._resolved |= {(path, unit): None for unit in merged.resolved}

    def resolve_file(
        self, path: str, base: TreeEntry | None, ours: TreeEntry | None, theirs: TreeEntry | None
    ) -> bytes | WholeEntry | None:
        """Return the entry that replaces a file; None keeps that of ours, and an undecided one stays ours."""
        resolution = self._resolution(path, WHOLE)
        if resolution is None:
            versions = (self._shown(entry) for entry in (base, ours, theirs))
            self._found.setdefault((path, WHOLE), FileConflict(path, UnitConflict(WHOLE, *versions)))
            return None
        match resolution.choice:
            case ResolutionChoice.OURS:
                return None
            case ResolutionChoice.THEIRS:
                return WholeEntry(theirs)
            case ResolutionChoice.CONTENT:
                return WholeEntry(None) if resolution.content is None else resolution.content

    def takes_their_place(self, base: FileLocation, ours: FileLocation, theirs: FileLocation) -> bool:
        """Return True if a file that both sides renamed moves to the path of theirs.

        Raises InvalidResolution.
        """
        resolution = self._resolution(ours.path, PLACE)
        if resolution is None:
            self._add_place(ours.path, base.path, ours.path, theirs.path)
            return False
        if resolution.choice is ResolutionChoice.CONTENT:
            raise _undecidable_error(
                "where a file stands cannot be decided by new content", "Choose 'ours' or 'theirs'."
            )
        return resolution.choice is ResolutionChoice.THEIRS

    def leave(self, path: str, taken: str) -> None:
        """Leave out the entry of theirs at a path, which ours blocks. Raises InvalidResolution."""
        resolution = self._resolution(path, PLACE)
        if resolution is None:
            self._add_place(path, None, taken, path)
        elif resolution.choice is not ResolutionChoice.OURS:
            raise _undecidable_error(
                "one of two files whose names exclude each other can only be left out",
                "Choose 'ours', or rename one of them first.",
            )

    def _add_place(self, path: str, *paths: str | None) -> None:
        versions = (None if name is None else name.encode("utf-8", "surrogateescape") for name in paths)
        self._found[path, PLACE] = FileConflict(path, UnitConflict(PLACE, *versions))

    def _resolution(self, path: str, unit: UnitId) -> Resolution | None:
        resolution = self.select_resolutions(path).get(unit)
        if resolution is not None:
            self._resolved[path, unit] = None
        return resolution

    def _shown(self, entry: TreeEntry | None) -> bytes | None:
        if entry is None:
            return None
        data = self._git.blob_within(entry.id, _SHOWN) if entry.is_blob else None
        return b"%o %s" % (entry.mode, entry.id.encode()) if data is None else data


def _undecidable_error(message: str, fix: str) -> InvalidResolution:
    return InvalidResolution(message, fix=fix)


class FileSources(NamedTuple):
    """The paths of one file in the base, in ours and in theirs."""

    base: str
    ours: str
    theirs: str


class Merge(NamedTuple):
    """The merge into ours: the changes of a commit on top of it, and the conflicts.

    `changes` are the new bytes of documents that were merged, and what is taken whole from theirs, by path.
    `moved` are paths of documents in ours whose renaming by theirs is among the changes. `resolved` are the
    conflicts that a resolution has decided, by path and unit; one that is not among them was for nothing.
    `bases` are the commits in which both lines of history part. `sources` has the paths that a file had, by
    its path after the merge or by one that it left.
    """

    bases: tuple[str, ...]
    ours: Snapshot
    theirs: Snapshot
    changes: Mapping[str, bytes | WholeEntry]
    conflicts: tuple[FileConflict, ...]
    moved: Mapping[str, str]
    resolved: tuple[tuple[str, UnitId], ...] = ()
    sources: Mapping[str, FileSources] = MappingProxyType({})

    @property
    def is_done(self) -> bool:
        """Return True if ours already holds all commits of theirs."""
        return self.theirs.commit in self.bases

    def source(self, path: str, side: Snapshot) -> str:
        """Return the path of a file on one side, given its path after the merge or one that it left."""
        found = self.sources.get(path, FileSources(path, path, path))
        return found.ours if side is self.ours else found.theirs

    def entry(self, path: str) -> bytes | TreeEntry | None:
        """Return the entry at a path after the merge: new bytes, an entry of ours or theirs, or nothing."""
        change = self.changes.get(path)
        if isinstance(change, bytes):
            return change
        return change.entry if change is not None else self.ours.entry(path)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a regular file after the merge; None if none is there."""
        found = self.entry(path)
        if found is None or isinstance(found, bytes):
            return found
        return self.ours.git.blob(found.id) if found.is_blob else None


def merge_snapshots(
    base: Snapshot, ours: Snapshot, theirs: Snapshot, resolutions: Resolutions | None = None
) -> Merge:
    """Merge two commits with a common base; `resolutions` decide conflicts, by path and unit.

    Raises InvalidResolution, InvalidConfig.
    """
    return _Merging(
        base, *compare_sides(base, ours, theirs), FileConflicts(ours.git, resolutions or {})
    ).merge()


class _Merging:
    """One merge: the changes in ours, the paths that are left, and the paths that are added.

    What comes is known with the path that it has in ours, if it was renamed; None if it is new there.
    """

    def __init__(self, base: Snapshot, ours: TreeSide, theirs: TreeSide, decisions: FileConflicts) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._decisions = decisions
        self._changes: dict[str, bytes | WholeEntry] = {}
        self._coming: dict[str, tuple[str | None, bytes | WholeEntry]] = {}
        # By path after the merge, of what comes, of all else, and of paths that no file has any more.
        self._coming_from: dict[str, FileSources] = {}
        self._leaving: set[str] = set()
        self._sources: dict[str, FileSources] = {}
        self._left: dict[str, FileSources] = {}

    def merge(self) -> Merge:
        """Merge file by file, then move back files whose path is blocked."""
        for path, change in sorted(self._theirs.changes.items()):
            if change.old is not None:
                self._merge_file(FileLocation(path, change.old))
        added = self._ours.added()
        for path, entry in sorted(self._theirs.added().items()):
            self._add(FileLocation(path, entry), is_new_here=path in added)
        self._send_back()
        changes = {
            **{path: WholeEntry(None) for path in self._leaving},
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

    def _has(self, path: str, changes: Mapping[str, bytes | WholeEntry]) -> bool:
        """Return True if a file is at a path after the merge."""
        change = changes.get(path)
        return (
            change != WholeEntry(None) if change is not None else bool(find_file(self._ours.snapshot, path))
        )

    def _merge_file(self, base: FileLocation) -> None:
        """Merge one file of the base that theirs changed, removed or renamed."""
        assert base.entry is not None
        ours, theirs = (side.locate(base.path, base.entry) for side in (self._ours, self._theirs))
        sources = FileSources(base.path, ours.path, theirs.path)
        for path in sources:
            self._left.setdefault(path, sources)
        if theirs.entry is None:
            if ours == base:
                self._leaving.add(base.path)
            elif ours.entry is not None:
                self._take_whole(ours.path, base.entry, ours.entry, None)
        elif ours.entry is None:
            # What stands there by now is what ours has to lose.
            here = find_file(self._ours.snapshot, theirs.path)
            self._take_whole(theirs.path, base.entry, here, theirs.entry)
        else:
            place = self._place(base, ours, theirs)
            change = self._content(base, ours, theirs)
            if place != ours.path:
                self._coming_from[place] = sources
                self._leaving.add(ours.path)
                self._coming[place] = (ours.path, WholeEntry(ours.entry) if change is None else change)
                return
            self._sources[place] = sources
            if change is not None:
                self._changes[place] = change

    def _place(self, base: FileLocation, ours: FileLocation, theirs: FileLocation) -> str:
        """Return the path of a file that both sides have."""
        if theirs.path in (base.path, ours.path):
            return ours.path
        if ours.path == base.path or self._decisions.takes_their_place(base, ours, theirs):
            return theirs.path
        return ours.path

    def _add(self, theirs: FileLocation, *, is_new_here: bool) -> None:
        """Add one file of theirs."""
        assert theirs.entry is not None
        here = find_file(self._ours.snapshot, theirs.path)
        if here is None or theirs.path in self._leaving:
            self._coming[theirs.path] = (None, WholeEntry(theirs.entry))
        elif not is_new_here:
            # A document stands there that ours has renamed, and that is another one.
            self._take_whole(theirs.path, None, here, theirs.entry)
            if theirs.path in self._changes:
                self._sources[theirs.path] = FileSources(theirs.path, theirs.path, theirs.path)
        else:
            change = self._content(None, FileLocation(theirs.path, here), theirs)
            if change is not None:
                self._changes[theirs.path] = change

    def _take_whole(
        self, path: str, base: TreeEntry | None, ours: TreeEntry | None, theirs: TreeEntry | None
    ) -> None:
        """Take a file that cannot be merged: as it is in ours, unless it was decided."""
        change = self._decisions.resolve_file(path, base, ours, theirs)
        if change == WholeEntry(None):
            self._leaving.add(path)
        elif change is not None and ours is None:
            self._coming[path] = (None, change)
        elif change is not None:
            self._changes[path] = change

    def _content(
        self, base: FileLocation | None, ours: FileLocation, theirs: FileLocation
    ) -> bytes | WholeEntry | None:
        """Return the bytes of a file after the merge; None if they are those of ours."""
        here, there, old = ours.entry, theirs.entry, base.entry if base else None
        assert here is not None
        assert there is not None
        if _same(here, there) or (old is not None and _same(there, old)):
            return None
        if old is not None and _same(here, old):
            return WholeEntry(there)
        if old is not None and old.is_blob and here.is_blob and there.is_blob:
            # Text and mode are decided each by itself where one side changed it alone.
            mode = there.mode if here.mode == old.mode else here.mode
            if there.id in (old.id, here.id):
                return None if mode == here.mode else WholeEntry(here._replace(mode=mode))
            if here.id == old.id:
                return WholeEntry(there._replace(mode=mode))
        merged = self._document(base, ours, theirs)
        if merged is None:
            return self._decisions.resolve_file(ours.path, old, here, there)
        self._decisions.add(ours.path, merged)
        return None if hash_blob(merged.data) == here.id else merged.data

    def _document(
        self, base: FileLocation | None, ours: FileLocation, theirs: FileLocation
    ) -> MergedDocument | None:
        """Return the merged document of both sides; None if the files are taken whole."""
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
            merged = merge_documents(old, here, there, self._decisions.select_resolutions(one))
        except (DocumentNotFound, LimitExceeded):
            return None
        is_decided = merged.conflicts and self._decisions.is_decided(one)
        return None if is_decided or len(merged.data) > snapshot.config.limits.document_bytes else merged

    def _send_back(self) -> None:
        """Move files with a blocked path back to their path in ours, or out; each is a conflict."""
        room = PathCollisions(self._ours.snapshot, self._theirs.snapshot, self._leaving)
        is_settled = False
        while not is_settled:
            is_settled = True
            for path, (old, change) in list(self._coming.items()):
                taken = room.find_blocking_path(path)
                if taken is None or self._is_given(path, taken):
                    continue
                del self._coming[path]
                self._left[path] = FileSources(path, taken, path)
                is_settled = False
                if old is not None:  # which takes the room of others again
                    self._leaving.discard(old)
                    self._sources[old] = self._coming_from[path]
                    if change != WholeEntry(self._ours.snapshot.entry(old)):
                        self._changes[old] = change

    def _is_given(self, path: str, taken: str) -> bool:
        """Return True if a resolution lets an added file replace another."""
        here = find_file(self._ours.snapshot, path)
        if taken != path or here is None:
            self._decisions.leave(path, taken)
            return False
        if path in self._changes:
            self._decisions.leave(path, taken)
            return False
        there = find_file(self._theirs.snapshot, path)
        change = self._decisions.resolve_file(path, None, here, there)
        if isinstance(change, bytes):
            self._coming[path] = (self._coming[path][0], change)
        # What theirs has renamed comes with what ours has changed in it.
        return change is not None


def find_file(snapshot: Snapshot, path: str) -> TreeEntry | None:
    """Return the entry at a path, unless it is a folder."""
    entry = snapshot.entry(path)
    return None if entry is None or entry.is_tree else entry


def _same(one: TreeEntry, other: TreeEntry) -> bool:
    return (one.id, one.mode) == (other.id, other.mode)
