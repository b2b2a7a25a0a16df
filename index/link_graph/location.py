"""Where the link graph is: in the folder of the index, under a name that only the user's own key makes.

    links-<schema>-<seal>.sqlite    beside it, SQLite's own -wal and -shm
    links.lock                      held while every document is read

The seal covers the folder's name and inode, so that a file which came with someone's archive of a repository
is never opened. Deleting any of them is safe.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from index.link_graph.store import LinkStore
from index.port import Progress
from index.storage.files import remove
from index.storage.keys import user_key
from index.storage.location import Location
from index.storage.locking import locked
from index.storage.manifest import IndexDamaged

SCHEMA = 1
"""The version of the tables and of what is kept; a graph of another version is not opened."""

_PATIENCE = 300.0
"""Seconds to wait for another process that reads every document."""


class Place(NamedTuple):
    """An open graph, and the location that it was opened at: None is memory."""

    store: LinkStore
    location: Location | None
    inode: int | None

    @classmethod
    def open(cls, location: Location | None) -> Place:
        """Open the graph of a location; a damaged one is removed. Raises IndexUnwritable, IndexBusy."""
        if location is None:
            return cls(LinkStore(None), None, None)
        file = _file(location)
        try:
            store = LinkStore(file)
        except IndexDamaged:
            discard(location)
            store = LinkStore(file)
        with suppress(OSError):
            return cls(store, location, file.stat().st_ino)
        return cls(store, location, None)

    def is_at(self, location: Location | None) -> bool:
        """Return True if this is the graph of a location, and its file the one that others would open."""
        if location is None or location != self.location:
            return location == self.location
        try:
            return _file(location).stat().st_ino == self.inode
        except OSError:
            return False

    @contextmanager
    def alone(self, progress: Progress | None) -> Iterator[None]:
        """Keep other processes from reading every document as well. Raises IndexBusy, IndexUnwritable."""
        if self.location is None:
            yield
            return

        def waiting() -> None:
            if progress:
                progress(0, 0, "Waiting for another process to read links")

        with locked(self.location.folder / "links.lock", _PATIENCE, waiting):
            yield


def discard(location: Location) -> None:
    """Remove the graphs in a folder, those of other versions too. Who has one open goes on with it."""
    with suppress(OSError):
        remove(entry for entry in location.folder.iterdir() if entry.name.startswith("links-"))


def _file(location: Location) -> Path:
    folder = location.folder
    with suppress(OSError):
        text = b"docyard links\0%s\0%d" % (os.fsencode(folder.name), folder.lstat().st_ino)
        return folder / f"links-{SCHEMA}-{hmac.digest(user_key(), text, 'sha256').hex()[:32]}.sqlite"
    return folder / "links-gone.sqlite"
