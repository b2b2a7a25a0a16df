"""LinkGraph: which documents link to a path, at a given commit.

    missing, damaged, built with other rules, at a lost commit   ->  read all documents again
    behind the tip                                               ->  read changed documents
    another commit than the graph's                              ->  read the difference for this answer

The graph is a cache next to the index, which stays equally fast. A document whose version the graph does not
have counts as one that may link anywhere.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from index.link_graph.store import GraphState
from index.port import BaseMoved, Progress
from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged
from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.links.inbound import ScannedInbound, scan_documents
from workspace.snapshot.snapshot import changed_documents

if TYPE_CHECKING:
    from index.link_graph.location import OpenGraph
    from index.link_graph.records import LinkRecord, LongRecords
    from index.link_graph.store import DocumentRow, LinkingDocument, LinkStore
    from index.storage.location import IndexLocation
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

    `home` is its location: that of the index, but an object of its own.
    """

    def __init__(self, workspace: Workspace, home: IndexLocation) -> None:
        """Open nothing yet."""
        self._workspace = workspace
        self._home = home
        self._place: OpenGraph | None = None
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
        """Return True if a thread that `begin` started is reading all documents."""
        reader = self._reader
        return reader is not None and reader.is_alive()

    def follow(
        self, snapshot: Snapshot, progress: Progress | None = None, *, is_waited_for: bool = True
    ) -> None:
        """Bring the graph to a snapshot, however many documents have to be read.

        Without `is_waited_for` it runs at low priority. Raises IndexBusy, DamagedRepository.
        """

        def bring(graph: OpenGraph) -> None:
            standing, wanted = graph.store.read_state(), GraphState.of(snapshot)
            if wanted.is_same(standing) or self._advance(graph.store, standing, snapshot):
                return
            with graph.exclusive(progress):
                if graph.store.read_state() != standing:
                    raise BaseMoved("another process was first", fix="Look at it again.", commit=None)
                rows = self._rows(snapshot, progress, is_waited_for)
                graph.store.replace(wanted, rows, standing)

        with self._following:
            self._is_closing = False
            self._do(bring)

    def begin(self, snapshot: Snapshot) -> threading.Thread:
        """Call `follow` in a new thread, unless one is running; return that thread."""

        def work() -> None:
            with suppress(WorkspaceError):  # whoever asks goes on without the graph, and begins it again
                self.follow(snapshot, is_waited_for=False)

        with self._opening:
            if self._reader is None or not self._reader.is_alive():
                self._reader = threading.Thread(target=work, name="links", daemon=True)
                self._reader.start()
            return self._reader

    def linking_to(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """Implement `Inbound` in any state of the graph; never wait until all documents are read."""
        try:
            known = self._query(snapshot, paths)
        except (IndexBusy, IndexDamaged, IndexUnwritable):
            known = None
        if known is None:
            return ScannedInbound().linking_to(snapshot, paths)
        found, unknown = known
        own = (path for path in paths if _is_document(snapshot, path))
        return sorted(
            {*(item.path for item in found), *scan_documents(snapshot, unknown.items(), paths), *own}
        )

    def records(self, snapshot: Snapshot, path: str) -> list[tuple[str, LinkRecord]] | None:
        """Return the links of each document that may link to a file or folder, in order of paths.

        Of a long document only the links that may lead there are returned. Returns None if too many documents
        have to be read first, as `follow` does. Raises IndexBusy.
        """
        from index.link_graph.build import LinkReader
        from index.link_graph.records import path_keys

        rules = GraphState.of(snapshot).rules
        known = self._query(snapshot, (path,), lambda source, blob: (rules, source, blob) in self._long)
        if known is None or len(known[1]) > _FEW:
            return None
        reading = LinkReader.of(snapshot)
        likely = partial(self._long.likely, rules, path, reading.record)
        records = [(item.path, likely(item)) for item in known[0]]
        keys = set(path_keys(path))
        for source, blob in known[1].items():
            record = reading.record(source, blob)
            if keys & record.keys(source, reading.rules):
                records.append((source, record))
        return sorted(records, key=lambda item: item[0])

    def all_records(
        self, snapshot: Snapshot, path: str, progress: Progress | None = None
    ) -> list[tuple[str, LinkRecord]]:
        """Return the records, however long it takes. Raises IndexBusy, DamagedRepository."""
        from index.link_graph.build import LinkReader

        if snapshot.commit == self._workspace.tip():
            self.follow(snapshot, progress)
        known = self.records(snapshot, path)
        if known is not None:
            return known
        reading, documents = LinkReader.of(snapshot), snapshot.documents
        return [
            (source, reading.record(source, documents[source]))
            for source in self.linking_to(snapshot, (path,))
        ]

    def close(self) -> None:
        """Close the file, and stop reading; the next use opens it again."""
        self._is_closing = True
        reader = self._reader
        if reader is not None:
            reader.join(_LAST)
        with self._opening:
            # A reader that waits for another process still uses the file, and lets go of it by itself.
            if self._place is not None and (reader is None or not reader.is_alive()):
                self._place.store.close()
            self._place = self._stood = None
            self._home.reset()

    def _query(
        self, snapshot: Snapshot, paths: Collection[str], has: Callable[[str, str], bool] | None = None
    ) -> tuple[list[LinkingDocument], Mapping[str, str]] | None:
        """Return the graph's links to some paths, and the documents whose versions it does not have.

        Returns None if the graph is empty, or cannot be compared with the snapshot.
        """
        from index.link_graph.records import path_keys

        keys = {key for path in paths for key in path_keys(path)}

        def ask(graph: OpenGraph) -> tuple[list[LinkingDocument], Mapping[str, str]] | None:
            self._catch_up(graph.store, snapshot)
            standing, found = graph.store.linking(keys, has)
            if GraphState.of(snapshot).is_same(standing):
                return found, {}
            changes = self._changes(standing, snapshot)
            if changes is None:
                return None
            unknown = {path: blob for path, blob in changes.items() if blob is not None}
            return [item for item in found if item.path not in changes], unknown

        return self._do(ask)

    def _catch_up(self, store: LinkStore, snapshot: Snapshot) -> None:
        """Add a few changed documents of the tip, unless another thread does so."""
        standing = store.read_state()
        if standing is None or GraphState.of(snapshot).is_same(standing):
            return
        if snapshot.commit == self._workspace.tip() and self._following.acquire(blocking=False):
            try:
                self._advance(store, standing, snapshot)
            finally:
                self._following.release()

    def _advance(self, store: LinkStore, standing: GraphState | None, snapshot: Snapshot) -> bool:
        """Add what changed; return False if there is no base, or if too much changed."""
        from index.link_graph.build import LinkReader

        changes = self._changes(standing, snapshot)
        if standing is None or changes is None:
            return False
        # The listing of a new commit takes longer than all else here, and few changes do without.
        if len(changes) > _FEW and len(changes) > len(snapshot.documents) / 3:
            return False
        reading = LinkReader.of(snapshot)
        rows = [reading.row(path, blob) for path, blob in changes.items() if blob is not None]
        gone = [path for path, blob in changes.items() if blob is None]
        store.apply(standing, GraphState.of(snapshot), rows, gone)
        self._stood = snapshot
        return True

    def _changes(self, standing: GraphState | None, snapshot: Snapshot) -> dict[str, str | None] | None:
        """Return the blobs of the documents that differ from the graph's; None if that is unknown."""
        if standing is None or standing.rules != GraphState.of(snapshot).rules or standing.commit is None:
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

    def _rows(
        self, snapshot: Snapshot, progress: Progress | None, is_waited_for: bool
    ) -> Iterator[DocumentRow]:
        from index.link_graph.build import LinkReader, read_rows

        documents = list(snapshot.documents.items())
        for row in read_rows(LinkReader.of(snapshot), documents, progress, is_waited_for=is_waited_for):
            if self._is_closing:
                raise IndexBusy("the link graph was closed while it was made", fix="Open it again.")
            yield row

    def _do(self, work: Callable[[OpenGraph], T]) -> T:
        """Run work on the graph; retry it if another writer was first, and rebuild or relocate on failure."""
        for _ in range(_TRIES):
            graph = self._open()
            try:
                return work(graph)
            except BaseMoved:
                continue
            except IndexDamaged:
                self._renew(graph)
            except IndexUnwritable:
                if graph.location is None:
                    raise
                self._home.fall_back(graph.location)
        raise IndexBusy("the branch moves faster than its links can follow", fix="Try again in a moment.")

    def _open(self) -> OpenGraph:
        from index.link_graph.location import OpenGraph

        with self._opening:
            while True:
                location = self._home.resolve()
                if self._place is not None and self._place.is_at(location):
                    return self._place
                try:
                    self._place = OpenGraph.open(location)
                except (IndexUnwritable, IndexDamaged):
                    if location is None:
                        raise
                    self._home.fall_back(location)

    def _renew(self, graph: OpenGraph) -> None:
        """Remove a damaged graph, unless another thread has done so."""
        from index.link_graph.location import discard

        with self._opening:
            if self._place is graph:
                self._place = None
                if graph.location is not None:
                    discard(graph.location)


def _is_document(snapshot: Snapshot, path: str) -> bool:
    """Return True if a path is a document; the commit need not be listed for it."""
    entry = snapshot.entry(path)
    return entry is not None and entry.is_blob and snapshot.config.is_document(path)
