"""The location of the link graph: a file in the index's folder, with a seal in its name.

    links-<schema>-<seal>.sqlite    and SQLite's own -wal and -shm files
    links.lock                      held while all documents are read

The seal is made with the user's key. It covers the folder's name and inode, so that a file that was copied
with the repository is never opened. Any of these files may be deleted.
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
from index.storage.files import remove_entries
from index.storage.keys import load_user_key
from index.storage.location import IndexFolder
from index.storage.locking import hold_lock
from index.storage.manifest import IndexDamaged

SCHEMA_VERSION = 1
"""The version of the tables and records; a graph of another version is not opened."""

_READ_TIMEOUT_S = 300.0
"""Seconds to wait for another process that reads all documents."""


class OpenGraph(NamedTuple):
    """An open graph, and the location at which it was opened; None means memory.

    `inode` is that of the file, None in memory or if it cannot be read.
    """

    store: LinkStore
    location: IndexFolder | None
    inode: int | None

    @classmethod
    def open(cls, location: IndexFolder | None) -> OpenGraph:
        """Open the graph at a location; replace a damaged one. Raises IndexUnwritable, IndexBusy."""
        if location is None:
            return cls(LinkStore(None), None, None)
        file = _make_graph_path(location)
        try:
            store = LinkStore(file)
        except IndexDamaged:
            discard_graphs(location)
            store = LinkStore(file)
        with suppress(OSError):
            return cls(store, location, file.stat().st_ino)
        return cls(store, location, None)

    def is_at(self, location: IndexFolder | None) -> bool:
        """Return True if this is the graph at a location, and its file was not replaced."""
        if location is None or location != self.location:
            return location == self.location
        try:
            return _make_graph_path(location).stat().st_ino == self.inode
        except OSError:
            return False

    @contextmanager
    def lock_full_reads(self, progress: Progress | None) -> Iterator[None]:
        """Prevent other processes from reading all documents. Raises IndexBusy, IndexUnwritable."""
        if self.location is None:
            yield
            return

        def report_waiting() -> None:
            if progress:
                progress(0, 0, "Waiting for another process to read links")

        with hold_lock(self.location.folder / "links.lock", _READ_TIMEOUT_S, report_waiting):
            yield


def discard_graphs(location: IndexFolder) -> None:
    """Remove the graphs in a folder, including those of other versions.

    A process that has a graph open can still use it.
    """
    with suppress(OSError):
        remove_entries(entry for entry in location.folder.iterdir() if entry.name.startswith("links-"))


def _make_graph_path(location: IndexFolder) -> Path:
    folder = location.folder
    with suppress(OSError):
        text = b"docyard links\0%s\0%d" % (os.fsencode(folder.name), folder.lstat().st_ino)
        return (
            folder
            / f"links-{SCHEMA_VERSION}-{hmac.digest(load_user_key(), text, 'sha256').hex()[:32]}.sqlite"
        )
    return folder / "links-gone.sqlite"  # the folder is missing, so that this file cannot be opened
