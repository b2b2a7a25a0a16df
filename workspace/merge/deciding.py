"""What a merge of trees could not decide, by path, and what resolutions have decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.trees import Whole
from workspace.merge.conflict import Choice, Conflict, InvalidResolution, Resolution, UnitId, UnitKind

if TYPE_CHECKING:
    from workspace.git import Entry, GitReader
    from workspace.merge.conflict import MergedDocument
    from workspace.merge.sides import Located

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
        """The resolutions for one document."""
        return self._resolutions.get(path, {})

    def is_decided(self, path: str) -> bool:
        """Whether there is a resolution for a file as a whole."""
        return WHOLE in self.of(path)

    def add(self, path: str, merged: MergedDocument) -> None:
        """Takes over what the merge of a document has found."""
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
        """Whether a file that both sides renamed goes to the path of theirs. Raises InvalidResolution."""
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
