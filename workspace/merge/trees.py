"""The three-way merge of trees, file by file.

Documents that both sides changed are merged by `documents`; every other file is copied from the side that
changed it. Renames of documents are detected. A file that cannot be merged is a conflict, and the version of
ours is preserved. A file whose path is blocked by another file is also a conflict.
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
    """The path of a file on a side, and its entry; None if the file was removed."""

    path: str
    entry: TreeEntry | None


class TreeSide(NamedTuple):
    """One side of a merge: its snapshot, its changes by path, and the new paths of renamed documents."""

    snapshot: Snapshot
    changes: Mapping[str, trees.TreeChange]
    renames: Mapping[str, str]

    def locate(self, path: str, entry: TreeEntry) -> FileLocation:
        """Return the location of a file of the base; a removed file has its old path and no entry."""
        path = self.renames.get(path, path)
        change = self.changes.get(path)
        return FileLocation(path, change.new if change is not None else entry)

    def list_added(self) -> Mapping[str, TreeEntry]:
        """Return the entries at paths that the base does not have, by path, without renamed documents."""
        renamed_paths = {*self.renames.values()}
        return {
            path: change.new
            for path, change in self.changes.items()
            if change.old is None and change.new is not None and path not in renamed_paths
        }


def compare_sides(base: Snapshot, ours: Snapshot, theirs: Snapshot) -> tuple[TreeSide, TreeSide]:
    """Return the changes of two commits from their base.

    If a side has also rewritten a renamed document, its rename may not be detected. The document then counts
    as renamed by both sides if the other side renamed it to a path that this side added.
    """
    our_side, their_side = _compare_side(base, ours), _compare_side(base, theirs)
    return _add_shared_renames(our_side, their_side), _add_shared_renames(their_side, our_side)


def _compare_side(base: Snapshot, snapshot: Snapshot) -> TreeSide:
    changes = {change.path: change for change in trees.diff_trees(snapshot.git, base.tree, snapshot.tree)}
    return TreeSide(snapshot, changes, _find_renames(base, snapshot))


def _find_renames(base: Snapshot, snapshot: Snapshot) -> Mapping[str, str]:
    if base.tree is None or snapshot.tree is None:
        return {}
    renames = Renames(snapshot.git, base.tree, snapshot.tree, snapshot.config.is_document)
    new_paths = {path: renames.find_new_path(path) for path in renames.removed_blobs}
    # Two removed documents that match one new document are ambiguous, so neither is renamed.
    document_counts = Counter(new_paths.values())
    return {
        path: new_path
        for path, new_path in new_paths.items()
        if new_path is not None and document_counts[new_path] == 1
    }


def _add_shared_renames(side: TreeSide, other: TreeSide) -> TreeSide:
    added_entries = side.list_added()
    shared_renames = {}
    for path, new_path in other.renames.items():
        change = side.changes.get(path)
        is_deleted = change is not None and change.new is None and path not in side.renames
        if is_deleted and new_path in added_entries and added_entries[new_path].is_blob:
            shared_renames[path] = new_path
    return side._replace(renames={**side.renames, **shared_renames}) if shared_renames else side


class PathCollisions:
    """A check that paths of theirs are free in ours.

    `vacated_paths` are the paths of files of ours that the merge removes or moves. The caller may change them
    between checks.
    """

    def __init__(self, ours: Snapshot, theirs: Snapshot, vacated_paths: Collection[str]) -> None:
        self._ours, self._theirs, self._vacated_paths = ours, theirs, vacated_paths
        self._names: dict[str, Mapping[str, Collection[str]]] = {}

    def find_blocking_path(self, path: str) -> str | None:
        """Return the path in ours that blocks a file's path; None if the path is free.

        A path is blocked by an entry at the path, by a file where a folder is needed, or by a similar name.
        Similar names are equal on a disk that ignores letter case or Unicode forms. Similar names that are
        both in theirs do not block each other. Raises InvalidPath for a path inside a folder named `.git`.
        """
        folder = ""
        parts = path.split("/")
        for depth, name in enumerate(parts, 1):
            if is_git_folder(name) or name in ("", ".", ".."):
                raise InvalidPath(path, "a part of the path is a name that Git reserves")
            prefix = folder + name
            entry = self._ours.entry(prefix)
            is_folder = entry is not None and entry.is_tree and depth < len(parts)
            if entry is not None and not is_folder and self._remains_in_ours(prefix, entry):
                return prefix
            similar_path = None if is_folder else self._find_similar_name(folder, name)
            if similar_path is not None:
                return similar_path
            folder = f"{prefix}/"
        return None

    def _find_similar_name(self, folder: str, name: str) -> str | None:
        for other in self._group_names(folder).get(fold_name(name), ()):
            path = folder + other
            entry = self._ours.entry(path)
            if other == name or entry is None or self._theirs.entry(path) is not None:
                continue
            if self._remains_in_ours(path, entry):
                return path
        return None

    def _group_names(self, folder: str) -> Mapping[str, Collection[str]]:
        """Return the names in a folder of ours, by their folded form."""
        if folder not in self._names:
            groups: dict[str, list[str]] = {}
            entry = self._ours.entry(folder[:-1]) if folder else None
            tree = entry.id if entry is not None and entry.is_tree else None if folder else self._ours.tree
            for item in self._ours.git.tree(tree) if tree else ():
                groups.setdefault(fold_name(item.name), []).append(item.name)
            self._names[folder] = groups
        return self._names[folder]

    def _remains_in_ours(self, path: str, entry: TreeEntry) -> bool:
        if not entry.is_tree:
            return path not in self._vacated_paths
        return any(
            f"{path}/{inner_path}" not in self._vacated_paths
            for inner_path, _ in walk_tree(self._ours.git, entry.id)
        )


FILE_UNIT = UnitId(UnitKind.DOCUMENT)
"""The unit of a full document or another file."""

PATH_UNIT = UnitId(UnitKind.POSITION)
"""The unit of a file's path."""

Resolutions = Mapping[str, Mapping[UnitId, Resolution]]
"""Resolutions by path, and within a document by unit."""

_MAX_CONFLICT_BYTES = 10_000_000


class FileConflict(NamedTuple):
    """A conflict, and the path of its file in ours, else in theirs.

    A conflict of a file has the file's bytes. For an irregular file, or a file of more than 10 MB, it has the
    mode and the object id. A conflict of a path has paths. Without a base, the paths of ours and theirs
    exclude each other: one path would be a folder of the other, or the paths differ only in letter case or
    Unicode form.
    """

    path: str
    conflict: UnitConflict


class FileConflicts:
    """The conflicts of one merge, collected during the merge. A conflict may have a resolution."""

    def __init__(self, git: GitReader, resolutions: Resolutions) -> None:
        self._git = git
        self._resolutions = resolutions
        self._unresolved: dict[tuple[str, UnitId], FileConflict] = {}
        self._resolved: dict[tuple[str, UnitId], None] = {}

    @property
    def conflicts(self) -> tuple[FileConflict, ...]:
        """The conflicts without a resolution, in order of paths."""
        return tuple(sorted(self._unresolved.values(), key=lambda item: item.path))

    @property
    def resolved_units(self) -> tuple[tuple[str, UnitId], ...]:
        """The resolutions that were applied, by path and unit."""
        return tuple(self._resolved)

    def select_resolutions(self, path: str) -> Mapping[UnitId, Resolution]:
        """Return the resolutions for one document."""
        return self._resolutions.get(path, {})

    def has_file_resolution(self, path: str) -> bool:
        """Return True if a resolution exists for the full file."""
        return FILE_UNIT in self.select_resolutions(path)

    def add(self, path: str, merged_document: MergedDocument) -> None:
        """Add the conflicts of a document's merge."""
        for conflict in merged_document.conflicts:
            self._unresolved[path, conflict.unit] = FileConflict(path, conflict)
        self._resolved |= {(path, unit): None for unit in merged_document.resolved_units}

    def resolve_file(
        self, path: str, base: TreeEntry | None, ours: TreeEntry | None, theirs: TreeEntry | None
    ) -> bytes | WholeEntry | None:
        """Record the conflict of a file, and return the file's change by its resolution.

        Return None if the version of ours is preserved.
        """
        resolution = self._find_resolution(path, FILE_UNIT)
        if resolution is None:
            versions = (self._format_version(entry) for entry in (base, ours, theirs))
            self._unresolved.setdefault(
                (path, FILE_UNIT), FileConflict(path, UnitConflict(FILE_UNIT, *versions))
            )
            return None
        match resolution.choice:
            case ResolutionChoice.OURS:
                return None
            case ResolutionChoice.THEIRS:
                return WholeEntry(theirs)
            case ResolutionChoice.UNION:
                raise _make_resolution_error(
                    f"both versions of the file '{path}' cannot stay",
                    "Choose 'ours' or 'theirs', or write the content.",
                )
            case ResolutionChoice.CONTENT:
                return WholeEntry(None) if resolution.content is None else resolution.content

    def resolve_path_for_theirs(self, base: FileLocation, ours: FileLocation, theirs: FileLocation) -> bool:
        """Record the conflict of a file that both sides renamed; return True if it gets the path of theirs.

        Raises InvalidResolution.
        """
        resolution = self._find_resolution(ours.path, PATH_UNIT)
        if resolution is None:
            self._add_path_conflict(ours.path, base.path, ours.path, theirs.path)
            return False
        if not resolution.choice.is_side:
            raise _make_resolution_error(
                "the path of a file cannot be resolved with new content", "Choose 'ours' or 'theirs'."
            )
        return resolution.choice is ResolutionChoice.THEIRS

    def omit_file(self, path: str, blocking_path: str) -> None:
        """Record that a file of theirs is omitted, because a file of ours blocks its path.

        Raises InvalidResolution.
        """
        resolution = self._find_resolution(path, PATH_UNIT)
        if resolution is None:
            self._add_path_conflict(path, None, blocking_path, path)
        elif resolution.choice is not ResolutionChoice.OURS:
            raise _make_resolution_error(
                "the paths of two files exclude each other, so the file of theirs can only be omitted",
                "Choose 'ours', or rename one of the files first.",
            )

    def _add_path_conflict(self, path: str, *paths: str | None) -> None:
        versions = (None if name is None else name.encode("utf-8", "surrogateescape") for name in paths)
        self._unresolved[path, PATH_UNIT] = FileConflict(path, UnitConflict(PATH_UNIT, *versions))

    def _find_resolution(self, path: str, unit: UnitId) -> Resolution | None:
        resolution = self.select_resolutions(path).get(unit)
        if resolution is not None:
            self._resolved[path, unit] = None
        return resolution

    def _format_version(self, entry: TreeEntry | None) -> bytes | None:
        if entry is None:
            return None
        data = self._git.blob_within(entry.id, _MAX_CONFLICT_BYTES) if entry.is_blob else None
        return b"%o %s" % (entry.mode, entry.id.encode()) if data is None else data


def _make_resolution_error(message: str, fix: str) -> InvalidResolution:
    return InvalidResolution(message, fix=fix)


class VersionPaths(NamedTuple):
    """The paths of one file in the base, in ours and in theirs."""

    base: str
    ours: str
    theirs: str


class Merge(NamedTuple):
    """The merge into ours: the changes of a commit on top of it, and the conflicts.

    `changes` maps the path of each changed file to its new bytes or its `WholeEntry`. `moved_paths` maps the
    path in ours of each document that theirs renamed to its new path. `resolved_units` are the conflicts with
    a resolution, by path and unit; any other resolution had no effect. `bases` are the merge bases.
    `version_paths` maps the path of a file after the merge, or a former path, to the file's paths in all
    versions.
    """

    bases: tuple[str, ...]
    ours: Snapshot
    theirs: Snapshot
    changes: Mapping[str, bytes | WholeEntry]
    conflicts: tuple[FileConflict, ...]
    moved_paths: Mapping[str, str]
    resolved_units: tuple[tuple[str, UnitId], ...] = ()
    version_paths: Mapping[str, VersionPaths] = MappingProxyType({})

    @property
    def is_up_to_date(self) -> bool:
        """Return True if ours already contains all commits of theirs."""
        return self.theirs.commit in self.bases

    def find_path_on_side(self, path: str, side: Snapshot) -> str:
        """Return the path of a file on one side, from its path after the merge or a former path."""
        paths = self.version_paths.get(path, VersionPaths(path, path, path))
        return paths.ours if side is self.ours else paths.theirs

    def entry(self, path: str) -> bytes | TreeEntry | None:
        """Return the entry at a path after the merge: new bytes, an entry of ours or theirs, or None."""
        change = self.changes.get(path)
        if isinstance(change, bytes):
            return change
        return change.entry if change is not None else self.ours.entry(path)

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a regular file after the merge; None if the file does not exist."""
        entry = self.entry(path)
        if entry is None or isinstance(entry, bytes):
            return entry
        return self.ours.git.blob(entry.id) if entry.is_blob else None


def merge_snapshots(
    base: Snapshot, ours: Snapshot, theirs: Snapshot, resolutions: Resolutions | None = None
) -> Merge:
    """Merge two commits with a common base; `resolutions` are by path and unit.

    Raises InvalidResolution, InvalidConfig.
    """
    return _TreeMerge(
        base, *compare_sides(base, ours, theirs), FileConflicts(ours.git, resolutions or {})
    ).merge()


class _TreeMerge:
    """One merge: the changes in ours, the vacated paths, and the paths that are added.

    `_incoming_files` maps each added path to a change, and to the file's path in ours (None for a new file).
    """

    def __init__(
        self, base: Snapshot, ours: TreeSide, theirs: TreeSide, file_conflicts: FileConflicts
    ) -> None:
        self._base, self._ours, self._theirs = base, ours, theirs
        self._file_conflicts = file_conflicts
        self._changes: dict[str, bytes | WholeEntry] = {}
        self._incoming_files: dict[str, tuple[str | None, bytes | WholeEntry]] = {}
        # The versions of incoming files, of other files, and of paths without a file after the merge.
        self._incoming_version_paths: dict[str, VersionPaths] = {}
        self._vacated_paths: set[str] = set()
        self._version_paths: dict[str, VersionPaths] = {}
        self._vacated_version_paths: dict[str, VersionPaths] = {}

    def merge(self) -> Merge:
        """Merge file by file, then move back files whose path is blocked."""
        for path, change in sorted(self._theirs.changes.items()):
            if change.old is not None:
                self._merge_file(FileLocation(path, change.old))
        our_added_entries = self._ours.list_added()
        for path, entry in sorted(self._theirs.list_added().items()):
            self._add_file(FileLocation(path, entry), is_added_by_both=path in our_added_entries)
        self._resolve_collisions()
        changes = {
            **{path: WholeEntry(None) for path in self._vacated_paths},
            **self._changes,
            **{path: change for path, (_, change) in self._incoming_files.items()},
        }
        moved_paths = {
            old_path: path for path, (old_path, _) in self._incoming_files.items() if old_path is not None
        }
        return Merge(
            (self._base.commit,) if self._base.commit else (),
            self._ours.snapshot,
            self._theirs.snapshot,
            dict(sorted(changes.items())),
            self._file_conflicts.conflicts,
            moved_paths,
            self._file_conflicts.resolved_units,
            {
                **{
                    path: paths
                    for path, paths in self._vacated_version_paths.items()
                    if not self._exists_after(path, changes)
                },
                **self._version_paths,
                **{
                    path: paths
                    for path, paths in self._incoming_version_paths.items()
                    if path in self._incoming_files
                },
            },
        )

    def _exists_after(self, path: str, changes: Mapping[str, bytes | WholeEntry]) -> bool:
        """Return True if a file is at a path after the merge."""
        change = changes.get(path)
        return (
            change != WholeEntry(None) if change is not None else bool(find_file(self._ours.snapshot, path))
        )

    def _merge_file(self, base: FileLocation) -> None:
        """Merge one file of the base that theirs changed, removed or renamed."""
        assert base.entry is not None
        ours, theirs = (side.locate(base.path, base.entry) for side in (self._ours, self._theirs))
        version_paths = VersionPaths(base.path, ours.path, theirs.path)
        for path in version_paths:
            self._vacated_version_paths.setdefault(path, version_paths)
        if theirs.entry is None:
            if ours == base:
                self._vacated_paths.add(base.path)
            elif ours.entry is not None:
                self._resolve_unmergeable_file(ours.path, base.entry, ours.entry, None)
        elif ours.entry is None:
            # Theirs would replace the file that is at this path in ours.
            blocking_entry = find_file(self._ours.snapshot, theirs.path)
            self._resolve_unmergeable_file(theirs.path, base.entry, blocking_entry, theirs.entry)
        else:
            new_path = self._choose_path(base, ours, theirs)
            change = self._merge_content(base, ours, theirs)
            if new_path != ours.path:
                self._incoming_version_paths[new_path] = version_paths
                self._vacated_paths.add(ours.path)
                self._incoming_files[new_path] = (
                    ours.path,
                    WholeEntry(ours.entry) if change is None else change,
                )
                return
            self._version_paths[new_path] = version_paths
            if change is not None:
                self._changes[new_path] = change

    def _choose_path(self, base: FileLocation, ours: FileLocation, theirs: FileLocation) -> str:
        """Return the path of a file that both sides have."""
        if theirs.path in (base.path, ours.path):
            return ours.path
        if ours.path == base.path or self._file_conflicts.resolve_path_for_theirs(base, ours, theirs):
            return theirs.path
        return ours.path

    def _add_file(self, theirs: FileLocation, *, is_added_by_both: bool) -> None:
        """Add one file of theirs."""
        assert theirs.entry is not None
        our_entry = find_file(self._ours.snapshot, theirs.path)
        if our_entry is None or theirs.path in self._vacated_paths:
            self._incoming_files[theirs.path] = (None, WholeEntry(theirs.entry))
        elif not is_added_by_both:
            # A different document of ours, which ours renamed, is at this path.
            self._resolve_unmergeable_file(theirs.path, None, our_entry, theirs.entry)
            if theirs.path in self._changes:
                self._version_paths[theirs.path] = VersionPaths(theirs.path, theirs.path, theirs.path)
        else:
            change = self._merge_content(None, FileLocation(theirs.path, our_entry), theirs)
            if change is not None:
                self._changes[theirs.path] = change

    def _resolve_unmergeable_file(
        self, path: str, base: TreeEntry | None, ours: TreeEntry | None, theirs: TreeEntry | None
    ) -> None:
        """Keep the version of ours of a file that cannot be merged, unless a resolution replaces it."""
        change = self._file_conflicts.resolve_file(path, base, ours, theirs)
        if change == WholeEntry(None):
            self._vacated_paths.add(path)
        elif change is not None and ours is None:
            self._incoming_files[path] = (None, change)
        elif change is not None:
            self._changes[path] = change

    def _merge_content(
        self, base: FileLocation | None, ours: FileLocation, theirs: FileLocation
    ) -> bytes | WholeEntry | None:
        """Return the content of a file after the merge; None if it is the content of ours."""
        our_entry, their_entry, base_entry = ours.entry, theirs.entry, base.entry if base else None
        assert our_entry is not None
        assert their_entry is not None
        if _is_same_file(our_entry, their_entry) or (
            base_entry is not None and _is_same_file(their_entry, base_entry)
        ):
            return None
        if base_entry is not None and _is_same_file(our_entry, base_entry):
            return WholeEntry(their_entry)
        if base_entry is not None and base_entry.is_blob and our_entry.is_blob and their_entry.is_blob:
            # Content and mode are merged separately, if only one side changed each of them.
            mode = their_entry.mode if our_entry.mode == base_entry.mode else our_entry.mode
            if their_entry.id in (base_entry.id, our_entry.id):
                return None if mode == our_entry.mode else WholeEntry(our_entry._replace(mode=mode))
            if our_entry.id == base_entry.id:
                return WholeEntry(their_entry._replace(mode=mode))
        merged_document = self._merge_document(base, ours, theirs)
        if merged_document is None:
            return self._file_conflicts.resolve_file(ours.path, base_entry, our_entry, their_entry)
        self._file_conflicts.add(ours.path, merged_document)
        return None if hash_blob(merged_document.data) == our_entry.id else merged_document.data

    def _merge_document(
        self, base: FileLocation | None, ours: FileLocation, theirs: FileLocation
    ) -> MergedDocument | None:
        """Return the merged document of both sides; None if the files cannot be merged."""
        entries = [location.entry for location in (base, ours, theirs) if location is not None]
        # New bytes have no mode.
        if any(entry is None or entry.mode != FILE_MODE for entry in entries):
            return None
        # Imported here because a server answers its first requests without parsing a document.
        from workspace.merge.documents import merge_documents

        snapshot, (our_path, their_path) = self._ours.snapshot, (ours.path, theirs.path)
        try:
            base_document = self._base.document(base.path) if base else None
            our_document, their_document = (
                snapshot.document(our_path),
                self._theirs.snapshot.document(their_path),
            )
            merged_document = merge_documents(
                base_document, our_document, their_document, self._file_conflicts.select_resolutions(our_path)
            )
        except (DocumentNotFound, LimitExceeded):
            return None
        has_file_resolution = merged_document.conflicts and self._file_conflicts.has_file_resolution(our_path)
        return (
            None
            if has_file_resolution or len(merged_document.data) > snapshot.config.limits.document_bytes
            else merged_document
        )

    def _resolve_collisions(self) -> None:
        """Move files with a blocked path back to their path in ours, or omit the files, as conflicts."""
        collisions = PathCollisions(self._ours.snapshot, self._theirs.snapshot, self._vacated_paths)
        is_stable = False
        while not is_stable:
            is_stable = True
            for path, (old_path, change) in list(self._incoming_files.items()):
                blocking_path = collisions.find_blocking_path(path)
                if blocking_path is None or self._resolve_blocked_path(path, blocking_path):
                    continue
                del self._incoming_files[path]
                self._vacated_version_paths[path] = VersionPaths(path, blocking_path, path)
                is_stable = False
                if old_path is not None:  # the old path may block other files again
                    self._vacated_paths.discard(old_path)
                    self._version_paths[old_path] = self._incoming_version_paths[path]
                    if change != WholeEntry(self._ours.snapshot.entry(old_path)):
                        self._changes[old_path] = change

    def _resolve_blocked_path(self, path: str, blocking_path: str) -> bool:
        """Record the conflict of an added file with the file that blocks its path.

        Return True if the resolution replaces the blocking file.
        """
        our_entry = find_file(self._ours.snapshot, path)
        if blocking_path != path or our_entry is None:
            self._file_conflicts.omit_file(path, blocking_path)
            return False
        if path in self._changes:
            self._file_conflicts.omit_file(path, blocking_path)
            return False
        their_entry = find_file(self._theirs.snapshot, path)
        change = self._file_conflicts.resolve_file(path, None, our_entry, their_entry)
        if isinstance(change, bytes):
            self._incoming_files[path] = (self._incoming_files[path][0], change)
        # A file that theirs renamed includes the changes of ours.
        return change is not None


def find_file(snapshot: Snapshot, path: str) -> TreeEntry | None:
    """Return the entry at a path, unless it is a folder."""
    entry = snapshot.entry(path)
    return None if entry is None or entry.is_tree else entry


def _is_same_file(left: TreeEntry, right: TreeEntry) -> bool:
    return (left.id, left.mode) == (right.id, right.mode)
