"""Three trees made one: what theirs did to the base, done to ours, file by file.

Documents that both sides changed are merged by `documents`; every other file is taken whole, from the side
that changed it. A document is known again where it was renamed. What cannot be merged stays as it is in ours,
and is a conflict.

What one side of a merge did to the files of the base: changed, added, removed, renamed.

Whether a file that comes with a merge has room where it is to stand.

What a merge of trees could not decide, by path, and what resolutions have decided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from workspace.diff.renames import Renames
from workspace.errors import LimitExceeded
from workspace.git import trees
from workspace.git.objects import FILE_MODE, blob_id
from workspace.git.trees import Whole, walk
from workspace.merge.conflict import Choice, Conflict, InvalidResolution, Resolution, UnitId, UnitKind
from workspace.paths import InvalidPath, is_git_folder, twin_key
from workspace.snapshot.snapshot import DocumentNotFound

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from workspace.git.objects import Entry
    from workspace.git.reader import GitReader
    from workspace.merge.conflict import MergedDocument, UnitId
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
        """Return where a file of the base is here; one that was removed is where it was, and nothing."""
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
    """Return what each of two commits did to a base.

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


class Room:
    """What ours has, less what leaves it. `leaving` may change meanwhile."""

    def __init__(self, ours: Snapshot, theirs: Snapshot, leaving: Collection[str]) -> None:
        self._ours, self._theirs, self._leaving = ours, theirs, leaving
        self._names: dict[str, Mapping[str, Collection[str]]] = {}

    def taken(self, path: str) -> str | None:
        """Return the path in ours that keeps a file from standing at a path; None if there is none.

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
        for other in self._named(folder).get(twin_key(name), ()):
            path = folder + other
            entry = self._ours.entry(path)
            if other == name or entry is None or self._theirs.entry(path) is not None:
                continue
            if self._stays(path, entry):
                return path
        return None

    def _named(self, folder: str) -> Mapping[str, Collection[str]]:
        """Return the names in a folder of ours, by what twins have in common."""
        if folder not in self._names:
            found: dict[str, list[str]] = {}
            entry = self._ours.entry(folder[:-1]) if folder else None
            tree = entry.id if entry is not None and entry.is_tree else None if folder else self._ours.tree
            for item in self._ours.git.tree(tree) if tree else ():
                found.setdefault(twin_key(item.name), []).append(item.name)
            self._names[folder] = found
        return self._names[folder]

    def _stays(self, path: str, entry: Entry) -> bool:
        if not entry.is_tree:
            return path not in self._leaving
        return any(f"{path}/{below}" not in self._leaving for below, _ in walk(self._ours.git, entry.id))


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
    conflict: Conflict


class Decisions:
    """The conflicts of one merge as they are found, each decided by a resolution where there is one."""

    def __init__(self, git: GitReader, resolutions: Resolutions) -> None:
        self._git = git
        self._resolutions = resolutions
        self._found: dict[tuple[str, UnitId], FileConflict] = {}
        self._resolved: dict[tuple[str, UnitId], None] = {}

    @property
    def conflicts(self) -> tuple[FileConflict, ...]:
        """What nobody has decided, in order of paths."""
        return tuple(sorted(self._found.values(), key=lambda found: found.path))

    @property
    def resolved(self) -> tuple[tuple[str, UnitId], ...]:
        """What resolutions have decided, by path and unit."""
        return tuple(self._resolved)

    def of(self, path: str) -> Mapping[UnitId, Resolution]:
        """Return the resolutions for one document."""
        return self._resolutions.get(path, {})

    def is_decided(self, path: str) -> bool:
        """Return True if there is a resolution for a file as a whole."""
        return WHOLE in self.of(path)

    def add(self, path: str, merged: MergedDocument) -> None:
        """Take over what the merge of a document has found."""
        for conflict in merged.conflicts:
            self._found[path, conflict.unit] = FileConflict(path, conflict)
        self._resolved |= {(path, unit): None for unit in merged.resolved}

    def whole(
        self, path: str, base: Entry | None, ours: Entry | None, theirs: Entry | None
    ) -> bytes | Whole | None:
        """What is to stand in place of a file; None for what ours has there, which also stays undecided."""
        resolution = self._resolution(path, WHOLE)
        if resolution is None:
            versions = (self._shown(entry) for entry in (base, ours, theirs))
            self._found.setdefault((path, WHOLE), FileConflict(path, Conflict(WHOLE, *versions)))
            return None
        match resolution.choice:
            case Choice.OURS:
                return None
            case Choice.THEIRS:
                return Whole(theirs)
            case Choice.CONTENT:
                return Whole(None) if resolution.content is None else resolution.content

    def takes_their_place(self, base: Located, ours: Located, theirs: Located) -> bool:
        """Return True if a file that both sides renamed goes to the path of theirs.

        Raises InvalidResolution.
        """
        resolution = self._resolution(ours.path, PLACE)
        if resolution is None:
            self._add_place(ours.path, base.path, ours.path, theirs.path)
            return False
        if resolution.choice is Choice.CONTENT:
            raise _undecidable(
                "where a file stands cannot be decided by new content", "Choose 'ours' or 'theirs'."
            )
        return resolution.choice is Choice.THEIRS

    def leave(self, path: str, taken: str) -> None:
        """What theirs has at a path is left out, because of what ours has. Raises InvalidResolution."""
        resolution = self._resolution(path, PLACE)
        if resolution is None:
            self._add_place(path, None, taken, path)
        elif resolution.choice is not Choice.OURS:
            raise _undecidable(
                "one of two files whose names exclude each other can only be left out",
                "Choose 'ours', or rename one of them first.",
            )

    def _add_place(self, path: str, *paths: str | None) -> None:
        versions = (None if name is None else name.encode("utf-8", "surrogateescape") for name in paths)
        self._found[path, PLACE] = FileConflict(path, Conflict(PLACE, *versions))

    def _resolution(self, path: str, unit: UnitId) -> Resolution | None:
        resolution = self.of(path).get(unit)
        if resolution is not None:
            self._resolved[path, unit] = None
        return resolution

    def _shown(self, entry: Entry | None) -> bytes | None:
        if entry is None:
            return None
        data = self._git.blob_within(entry.id, _SHOWN) if entry.is_blob else None
        return b"%o %s" % (entry.mode, entry.id.encode()) if data is None else data


def _undecidable(message: str, fix: str) -> InvalidResolution:
    return InvalidResolution(message, fix=fix)


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
        """Return what stands at a path after the merge: new bytes, an entry of ours or theirs, or nothing."""
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
    """Merge two commits that have a base in common; `resolutions` decide conflicts, by path and unit.

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
        """Merge file by file, then looks whether there is room for what comes."""
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
        """Return where a file stands that both sides have."""
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
        """Return what a file holds after the merge; None if that is what it holds in ours."""
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
        """Return the documents of both sides made one; None where the files are to be taken as wholes."""
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
        """Return True if it was decided that what comes takes the place of a file."""
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
    """Return what stands at a path, if it is no folder."""
    entry = snapshot.entry(path)
    return None if entry is None or entry.is_tree else entry


def _same(one: Entry, other: Entry) -> bool:
    return (one.id, one.mode) == (other.id, other.mode)
