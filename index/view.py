"""What is seen of an index: one moment of it to search in, and what there is of it for a person to know."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from index.generation import SCHEMA, TAGS, TYPE, Generation, State
from index.integrity import IndexDamaged, read_manifest
from index.location import Location
from index.locking import is_locked

FILTERS = (TYPE, TAGS)
"""The taxonomy keys of every workspace, in the order in which they are shown."""

_TRIES = 3


class View:
    """The index at one moment. `stale` means that the branch has moved on, and it was not followed yet."""

    def __init__(self, generation: Generation, *, stale: bool = False) -> None:
        self.generation = generation
        self.stale = stale

    @property
    def commit(self) -> str | None:
        return self.generation.state.commit

    @cached_property
    def edition(self) -> str | None:
        """What decides the lists: the commit, and which of its documents were left out."""
        left_out = self.generation.state.unreadable
        if not left_out:
            return self.commit
        return (
            f"{self.commit} without {hashlib.sha256(json.dumps(sorted(left_out)).encode()).hexdigest()[:16]}"
        )

    @cached_property
    def values(self) -> Mapping[str, Mapping[str, int]]:
        """The live values of each taxonomy key, with the number of chunks that have them."""
        return {key: self.generation.values(key) for key in FILTERS}


@dataclass(frozen=True, slots=True)
class Status:
    """What there is of an index, found without changing it. `folder` is None for an index in memory.

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


def glimpse(folder: Path) -> Generation | None:
    """Read an index without holding its lock, every checksum included; None if it is damaged."""
    from index.engine import Index

    for _ in range(_TRIES):
        try:
            return Index.open(folder).read()
        except IndexDamaged:
            # A writer may sweep a file away between our reading of its name and of its bytes.
            continue
    return None


def status_of(location: Location | None, tip: str | None, in_memory: Generation | None) -> Status:
    """Say what there is in a location, without building, mending or following."""
    if location is None:
        state = in_memory.state if in_memory else None
        return Status(None, SCHEMA, tip, state, len(in_memory.parts) if in_memory else 0, 0, damaged=False)
    folder = location.current()
    busy = is_locked(location.lock)
    generation = glimpse(folder) if folder else None
    return Status(
        folder=location.folder,
        schema=SCHEMA,
        tip=tip,
        state=generation.state if generation else None,
        segments=len(generation.parts) if generation else 0,
        size=sum(file.stat().st_size for file in folder.iterdir() if file.is_file()) if folder else 0,
        damaged=folder is not None and generation is None,
        blocked=location.blocked(),
        # What a writer at work has not finished looks like what a dead one left.
        leftovers=() if busy else tuple(entry.name for entry in leftovers(location, folder)),
        busy=busy,
    )


def leftovers(location: Location, folder: Path | None) -> list[Path]:
    """List what writers that died left in a location, whose index is in `folder`."""
    found = location.leftovers(keep=folder)
    if folder is not None:
        try:
            found += read_manifest(folder).leftovers(folder)
        except IndexDamaged:
            return found
    return found
