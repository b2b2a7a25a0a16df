"""The status of an index, read without changing, following or repairing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from index.port import State
from index.storage.location import SCHEMA, Location
from index.storage.locking import is_locked
from index.storage.manifest import IndexDamaged, read_manifest


@dataclass(frozen=True, slots=True)
class Status:
    """`folder` is None for an index in memory, `size` is in bytes.

    `blocked` names the index's own files that cannot be used, such as a folder in a file's place; `leftovers`
    what writers that died left behind. `busy` means that some process is writing the index now.
    """

    folder: Path | None
    schema: int
    tip: str | None
    state: State | None
    segments: int
    size: int
    damaged: bool
    blocked: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    busy: bool = False

    @property
    def is_current(self) -> bool:
        return self.state is not None and self.state.commit == self.tip


def read_status(location: Location | None, tip: str | None, state: State | None, segments: int) -> Status:
    """Tell of the index in a location, whose state is None if it is not there or damaged."""
    if location is None:
        return Status(None, SCHEMA, tip, state, segments, 0, damaged=False)
    folder = location.current()
    busy = is_locked(location.lock)
    return Status(
        folder=location.folder,
        schema=SCHEMA,
        tip=tip,
        state=state,
        segments=segments,
        size=sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) if folder else 0,
        damaged=folder is not None and state is None,
        blocked=location.blocked(),
        # What a writer at work has not finished looks like what a dead one left.
        leftovers=() if busy else tuple(entry.name for entry in find_leftovers(location)),
        busy=busy,
    )


def find_leftovers(location: Location) -> list[Path]:
    """List what writers that died left in a location, and in the folder of the index that serves from it."""
    folder = location.current()
    found = location.leftovers(keep=folder)
    if folder is not None:
        try:
            found += read_manifest(folder).leftovers(folder)
        except IndexDamaged:
            return found
    return found
