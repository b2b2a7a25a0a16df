"""The status of an index, read without changing, updating or repairing the index."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from index.port import State
from index.storage.location import SCHEMA_VERSION, IndexFolder
from index.storage.locking import is_locked
from index.storage.manifest import IndexDamaged, read_index_manifest


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The status of an index: its folder (None for one in memory), number of segments, and size in bytes.

    `blocked` names the index's own files that cannot be used, for example because a folder has the name of a
    file. `leftovers` names the files of dead writers. `is_busy` is True while a process writes the index.
    `engine` is the storage; `size` and `segments` are those in it.
    """

    folder: Path | None
    schema: int
    tip: str | None
    state: State | None
    segments: int
    size: int
    is_damaged: bool
    blocked: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    is_busy: bool = False
    engine: Literal["files", "postgresql"] = "files"

    @property
    def is_current(self) -> bool:
        return self.state is not None and self.state.commit == self.tip


def read_status(
    location: IndexFolder | None, tip: str | None, state: State | None, segments: int
) -> IndexStatus:
    """Return the status of the index in a location. `state` is None if it is missing or damaged."""
    if location is None:
        return IndexStatus(None, SCHEMA_VERSION, tip, state, segments, 0, is_damaged=False)
    folder = location.current()
    is_busy = is_locked(location.lock)
    return IndexStatus(
        folder=location.folder,
        schema=SCHEMA_VERSION,
        tip=tip,
        state=state,
        segments=segments,
        size=sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) if folder else 0,
        is_damaged=folder is not None and state is None,
        blocked=location.find_blocked_files(),
        # The unfinished files of an active writer cannot be distinguished from those of a dead writer.
        leftovers=() if is_busy else tuple(entry.name for entry in find_index_leftovers(location)),
        is_busy=is_busy,
    )


def find_index_leftovers(location: IndexFolder) -> list[Path]:
    """List the files of dead writers in a location and in the folder of its current index."""
    folder = location.current()
    leftovers = location.list_leftovers(keep=folder)
    if folder is not None:
        try:
            leftovers += read_index_manifest(folder).list_leftovers(folder)
        except IndexDamaged:
            return leftovers
    return leftovers
