"""LinkGraph: which documents link to a path, at the commit that is asked about.

    nothing there, damaged, read by other rules, at a lost commit   ->  every document is read anew
    behind the tip                                                  ->  what changed is read
    asked about another commit than it stands for                   ->  what differs is looked at that once

It is a structure beside the index, which grows no slower for it, and a cache: a document that it does not
know as it is in the commit that is read counts as one that may link anywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from index.link_graph.store import Standing
from index.port import BaseMoved, Progress
from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged
from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.links.inbound import ScannedInbound, scan_documents
from workspace.snapshot.snapshot import changed_documents

if TYPE_CHECKING:
    from index.link_graph.location import Place
    from index.link_graph.records import LongRecords, Record
    from index.link_graph.store import Found, LinkStore, Row
    from index.storage.location import Home
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

T = TypeVar("T")

_FEW = 300
"""Changed documents that are read while somebody waits."""

_TRIES = 20
_LAST = 5.0
"""Seconds that closing waits for a thread that reads documents."""


class LinkGraph:
    """The link graph of a workspace's served branch. Safe to use from several threads.

    `home` is where it may live: beside the index, but another object than the index's own.
    """

    def __init__(self, workspace: Workspace, home: Home) -> None:
        """Open nothing yet."""
        self._workspace = workspace
        self._home = home
        self._place: Place | None = None
        self._opening = threading.Lock()
        self._following = threading.Lock()
        self._reader: threading.Thread | None = None
        self._is_closing = False
        self._stood: Snapshot | None = None

    @cached_property
    def _long(self) -> LongRecords:
        from index.link_graph.records import LongRecords

        return LongRecords()

    @property
    def is_reading(self) -> bool:
        """Whether every document is being read in a thread that `begin` started."""
        reader = self._reader
        return reader is not None and reader.is_alive()

    def follow(
        self, snapshot: Snapshot, progress: Progress | None = None, *, is_waited_for: bool = True
    ) -> None:
        """Bring the graph to a snapshot, however many documents have to be read.

        Unless it is waited for, that takes no more of the machine than others leave. Raises IndexBusy,
        DamagedRepository.
        """

        def bring(place: Place) -> None:
            standing, wanted = place.store.standing(), Standing.of(snapshot)
            if wanted.is_same(standing) or self._advance(place.store, standing, snapshot):
                return
            with place.alone(progress):
                if place.store.standing() != standing:
                    raise BaseMoved("another process was first", fix="Look at it again.", commit=None)
                rows = self._rows(snapshot, progress, is_waited_for)
                place.store.replace(wanted, rows, standing)

        with self._following:
            self._is_closing = False
            self._do(bring)

    def begin(self, snapshot: Snapshot) -> threading.Thread:
        """Follow in a thread of its own, unless one does so already; give that thread."""

        def work() -> None:
            with suppress(WorkspaceError):  # whoever asks goes on without the graph, and begins it again
                self.follow(snapshot, is_waited_for=False)

        with self._opening:
            if self._reader is None or not self._reader.is_alive():
                self._reader = threading.Thread(target=work, name="links", daemon=True)
                self._reader.start()
            return self._reader

    def linking_to(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """As `Inbound` says, in whatever state the graph is; it never waits for every document to be read."""
        try:
            known = self._known(snapshot, paths)
        except (IndexBusy, IndexDamaged, IndexUnwritable):
            known = None
        if known is None:
            return ScannedInbound().linking_to(snapshot, paths)
        found, unknown = known
        own = (path for path in paths if _is_document(snapshot, path))
        return sorted(
            {*(item.path for item in found), *scan_documents(snapshot, unknown.items(), paths), *own}
        )

    def records(self, snapshot: Snapshot, path: str) -> list[tuple[str, Record]] | None:
        """Return the links of each document that may link to a file or folder, in order of paths.

        Of a long document they are those that may lead there. None where too many documents have to be read
        first, as `follow` does. Raises IndexBusy.
        """
        from index.link_graph.build import Reading
        from index.link_graph.records import keys_of_path

        rules = Standing.of(snapshot).rules
        known = self._known(snapshot, (path,), lambda source, blob: (rules, source, blob) in self._long)
        if known is None or len(known[1]) > _FEW:
            return None
        reading = Reading.of(snapshot)
        likely = partial(self._long.likely, rules, path, reading.record)
        records = [(item.path, likely(item)) for item in known[0]]
        keys = set(keys_of_path(path))
        for source, blob in known[1].items():
            record = reading.record(source, blob)
            if keys & record.keys(source, reading.rules):
                records.append((source, record))
        return sorted(records, key=lambda item: item[0])

    def all_records(
        self, snapshot: Snapshot, path: str, progress: Progress | None = None
    ) -> list[tuple[str, Record]]:
        """Return the same, however long it takes. Raises IndexBusy, DamagedRepository."""
        from index.link_graph.build import Reading

        if snapshot.commit == self._workspace.tip():
            self.follow(snapshot, progress)
        known = self.records(snapshot, path)
        if known is not None:
            return known
        reading, documents = Reading.of(snapshot), snapshot.documents
        return [
            (source, reading.record(source, documents[source]))
            for source in self.linking_to(snapshot, (path,))
        ]

    def close(self) -> None:
        """Let go of the file, and stop reading; using the graph again opens it again."""
        self._is_closing = True
        reader = self._reader
        if reader is not None:
            reader.join(_LAST)
        with self._opening:
            # A reader that waits for another process still uses the file, and lets go of it by itself.
            if self._place is not None and (reader is None or not reader.is_alive()):
                self._place.store.close()
            self._place = self._stood = None
            self._home.leave()

    def _known(
        self, snapshot: Snapshot, paths: Collection[str], has: Callable[[str, str], bool] | None = None
    ) -> tuple[list[Found], Mapping[str, str]] | None:
        """What the graph knows of links to some paths, and the documents that are not as it knows them.

        None where it knows nothing, or nothing that could be compared with the snapshot.
        """
        from index.link_graph.records import keys_of_path

        keys = {key for path in paths for key in keys_of_path(path)}

        def ask(place: Place) -> tuple[list[Found], Mapping[str, str]] | None:
            self._catch_up(place.store, snapshot)
            standing, found = place.store.linking(keys, has)
            if Standing.of(snapshot).is_same(standing):
                return found, {}
            changes = self._changes(standing, snapshot)
            if changes is None:
                return None
            unknown = {path: blob for path, blob in changes.items() if blob is not None}
            return [item for item in found if item.path not in changes], unknown

        return self._do(ask)

    def _catch_up(self, store: LinkStore, snapshot: Snapshot) -> None:
        """Take in a few changed documents of the tip, unless another thread does so."""
        standing = store.standing()
        if standing is None or Standing.of(snapshot).is_same(standing):
            return
        if snapshot.commit == self._workspace.tip() and self._following.acquire(blocking=False):
            try:
                self._advance(store, standing, snapshot)
            finally:
                self._following.release()

    def _advance(self, store: LinkStore, standing: Standing | None, snapshot: Snapshot) -> bool:
        """Take in what changed; False if there is nothing to go on from, or too much changed."""
        from index.link_graph.build import Reading

        changes = self._changes(standing, snapshot)
        if standing is None or changes is None:
            return False
        # The listing of a new commit takes longer than all else here, and few changes do without.
        if len(changes) > _FEW and len(changes) > len(snapshot.documents) / 3:
            return False
        reading = Reading.of(snapshot)
        rows = [reading.row(path, blob) for path, blob in changes.items() if blob is not None]
        gone = [path for path, blob in changes.items() if blob is None]
        store.apply(standing, Standing.of(snapshot), rows, gone)
        self._stood = snapshot
        return True

    def _changes(self, standing: Standing | None, snapshot: Snapshot) -> dict[str, str | None] | None:
        """The blobs of the documents that differ from those that the graph knows; None if that is unknown."""
        if standing is None or standing.rules != Standing.of(snapshot).rules or standing.commit is None:
            return None
        stood = self._stood
        try:
            if stood is None or stood.commit != standing.commit:
                if not self._workspace.exists(standing.commit):
                    return None
                stood = self._workspace.snapshot(standing.commit)
            return {path: blob for path, _, blob in changed_documents(stood, snapshot)}
        except DamagedRepository:  # it was reset away, and is pruned by halves
            return None

    def _rows(self, snapshot: Snapshot, progress: Progress | None, is_waited_for: bool) -> Iterator[Row]:
        from index.link_graph.build import Reading, read_rows

        documents = list(snapshot.documents.items())
        for row in read_rows(Reading.of(snapshot), documents, progress, is_waited_for=is_waited_for):
            if self._is_closing:
                raise IndexBusy("the link graph was closed while it was made", fix="Open it again.")
            yield row

    def _do(self, work: Callable[[Place], T]) -> T:
        """Do work with the graph: again if another writer was first, and anew or elsewhere if it fails."""
        for _ in range(_TRIES):
            place = self._open()
            try:
                return work(place)
            except BaseMoved:
                continue
            except IndexDamaged:
                self._renew(place)
            except IndexUnwritable:
                if place.location is None:
                    raise
                self._home.give_up(place.location)
        raise IndexBusy("the branch moves faster than its links can follow", fix="Try again in a moment.")

    def _open(self) -> Place:
        from index.link_graph.location import Place

        with self._opening:
            while True:
                location = self._home.settle()
                if self._place is not None and self._place.is_at(location):
                    return self._place
                try:
                    self._place = Place.open(location)
                except (IndexUnwritable, IndexDamaged):
                    if location is None:
                        raise
                    self._home.give_up(location)

    def _renew(self, place: Place) -> None:
        """Remove a graph that proved damaged, unless another thread did."""
        from index.link_graph.location import discard

        with self._opening:
            if self._place is place:
                self._place = None
                if place.location is not None:
                    discard(place.location)


def _is_document(snapshot: Snapshot, path: str) -> bool:
    """Return True if a document stands at a path; the commit need not be listed for it."""
    entry = snapshot.entry(path)
    return entry is not None and entry.is_blob and snapshot.config.is_document(path)
