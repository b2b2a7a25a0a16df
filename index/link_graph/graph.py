"""The link graph of a branch: the documents that link to a path, at a given commit.

    missing, damaged, built with other rules, at a pruned commit   ->  read all documents again
    far behind the tip (more than 300 and a third of all changed)  ->  read all documents again
    behind the tip                                                 ->  read changed documents
    at another commit than the query                               ->  read the difference for this query only

The graph is a cache in a file next to the index, and searches never wait for it. Documents whose versions are
not in the graph are read or scanned for each query.
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
from workspace.links.inbound_links import InboundLinkScanner, scan_documents
from workspace.snapshot.snapshot import list_changed_documents

if TYPE_CHECKING:
    from index.link_graph.location import OpenGraph
    from index.link_graph.records import LinkRecord, LongRecordCache
    from index.link_graph.store import DocumentRow, LinkingDocument, LinkStore
    from index.storage.location import IndexLocation
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

T = TypeVar("T")

_MAX_DOCUMENTS_READ = 300
"""The largest number of documents that one query reads. An update may also read a third of all documents."""

_MAX_ATTEMPTS = 20
_CLOSE_TIMEOUT_S = 5.0
"""Seconds that `close` waits for a thread that reads documents."""


class LinkGraph:
    """The link graph of a workspace's served branch. Safe to use from several threads.

    `index_location` is the location of the index, as an object that nothing else uses.
    """

    def __init__(self, workspace: Workspace, index_location: IndexLocation) -> None:
        """Open nothing yet."""
        self._workspace = workspace
        self._index_location = index_location
        self._graph: OpenGraph | None = None
        self._open_lock = threading.Lock()
        self._update_lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._is_closing = False
        self._last_snapshot: Snapshot | None = None

    @cached_property
    def _long_record_cache(self) -> LongRecordCache:
        from index.link_graph.records import LongRecordCache

        return LongRecordCache()

    @property
    def is_updating_in_background(self) -> bool:
        """Return True if a thread of `update_in_background` is running."""
        reader = self._reader
        return reader is not None and reader.is_alive()

    def update_to(
        self, snapshot: Snapshot, progress: Progress | None = None, *, has_waiting_caller: bool = True
    ) -> None:
        """Update the graph to a snapshot, even if all documents have to be read.

        If `has_waiting_caller` is False, the documents are read at low priority. Raises IndexBusy,
        DamagedRepository.
        """

        def update(graph: OpenGraph) -> None:
            graph_state, target_state = graph.store.read_state(), GraphState.of(snapshot)
            if target_state.is_same(graph_state) or self._advance(graph.store, graph_state, snapshot):
                return
            with graph.lock_full_reads(progress):
                if graph.store.read_state() != graph_state:
                    raise BaseMoved(
                        "another process has changed the link graph", fix="Read its state again.", commit=None
                    )
                rows = self._read_rows(snapshot, progress, has_waiting_caller)
                graph.store.replace(target_state, rows, graph_state)

        with self._update_lock:
            self._is_closing = False
            self._run(update)

    def update_in_background(self, snapshot: Snapshot) -> threading.Thread:
        """Call `update_to` in a new thread, unless such a thread is running; return the thread."""

        def work() -> None:
            with suppress(
                WorkspaceError
            ):  # callers work without the graph, and call `update_in_background` again
                self.update_to(snapshot, has_waiting_caller=False)

        with self._open_lock:
            if self._reader is None or not self._reader.is_alive():
                self._reader = threading.Thread(target=work, name="links", daemon=True)
                self._reader.start()
            return self._reader

    def is_ready(self, snapshot: Snapshot) -> bool:
        """Return True if a query of a snapshot reads few documents; False while the graph cannot be read."""
        try:
            results = self._query_graph(snapshot, ())
        except (IndexBusy, IndexDamaged, IndexUnwritable):
            return False
        return results is not None and len(results[1]) <= _MAX_DOCUMENTS_READ

    def find_linking_documents(self, snapshot: Snapshot, paths: Collection[str]) -> Collection[str]:
        """Return the documents that may link to some paths, as `InboundLinkFinder` requires.

        This works in any state of the graph, and never waits until all documents are read.
        """
        try:
            results = self._query_graph(snapshot, paths)
        except (IndexBusy, IndexDamaged, IndexUnwritable):
            results = None
        if results is None:
            return InboundLinkScanner().find_linking_documents(snapshot, paths)
        linking_documents, unknown_blobs = results
        documents = (path for path in paths if _is_document(snapshot, path))
        return sorted(
            {
                *(item.path for item in linking_documents),
                *scan_documents(snapshot, unknown_blobs.items(), paths),
                *documents,
            }
        )

    def find_records(self, snapshot: Snapshot, path: str) -> list[tuple[str, LinkRecord]] | None:
        """Return the links of each document that may link to a file or folder, in order of paths.

        Of a long document, only the links that may target the path are returned. Returns None if too many
        documents must be read first; `update_to` reads these documents. Raises IndexBusy.
        """
        from index.link_graph.build import LinkReader
        from index.link_graph.records import make_path_keys

        rules = GraphState.of(snapshot).rules
        results = self._query_graph(
            snapshot, (path,), lambda source, blob: (rules, source, blob) in self._long_record_cache
        )
        if results is None or len(results[1]) > _MAX_DOCUMENTS_READ:
            return None
        reader = LinkReader.of(snapshot)
        select_likely = partial(self._long_record_cache.select_likely, rules, path, reader.read_record)
        records = [(item.path, select_likely(item)) for item in results[0]]
        keys = set(make_path_keys(path))
        for source, blob in results[1].items():
            record = reader.read_record(source, blob)
            if keys & record.keys(source, reader.rules):
                records.append((source, record))
        return sorted(records, key=lambda item: item[0])

    def find_records_after_update(
        self, snapshot: Snapshot, path: str, progress: Progress | None = None
    ) -> list[tuple[str, LinkRecord]]:
        """Return the result of `records`, after reading all documents if needed.

        Raises IndexBusy, DamagedRepository.
        """
        from index.link_graph.build import LinkReader

        if snapshot.commit == self._workspace.tip():
            self.update_to(snapshot, progress)
        results = self.find_records(snapshot, path)
        if results is not None:
            return results
        reader, documents = LinkReader.of(snapshot), snapshot.documents
        return [
            (source, reader.read_record(source, documents[source]))
            for source in self.find_linking_documents(snapshot, (path,))
        ]

    def close(self) -> None:
        """Close the file and stop reading; the next use opens the file again."""
        self._is_closing = True
        reader = self._reader
        if reader is not None:
            reader.join(_CLOSE_TIMEOUT_S)
        with self._open_lock:
            # A thread that waits for another process still uses the file, and closes the file when it ends.
            if self._graph is not None and (reader is None or not reader.is_alive()):
                self._graph.store.close()
            self._graph = self._last_snapshot = None
            self._index_location.reset()

    def _query_graph(
        self, snapshot: Snapshot, paths: Collection[str], has_record: Callable[[str, str], bool] | None = None
    ) -> tuple[list[LinkingDocument], Mapping[str, str]] | None:
        """Return the documents with links to paths, and the blobs by path of documents not in the graph.

        Returns None if the graph is empty or cannot be compared with the snapshot.
        """
        from index.link_graph.records import make_path_keys

        keys = {key for path in paths for key in make_path_keys(path)}

        def query(graph: OpenGraph) -> tuple[list[LinkingDocument], Mapping[str, str]] | None:
            self._catch_up(graph.store, snapshot)
            graph_state, linking_documents = graph.store.find_linking(keys, has_record)
            if GraphState.of(snapshot).is_same(graph_state):
                return linking_documents, {}
            changes = self._find_changes(graph_state, snapshot)
            if changes is None:
                return None
            unknown_blobs = {path: blob for path, blob in changes.items() if blob is not None}
            return [item for item in linking_documents if item.path not in changes], unknown_blobs

        return self._run(query)

    def _catch_up(self, store: LinkStore, snapshot: Snapshot) -> None:
        """Add the changed documents of the tip if they are few, unless another thread does so."""
        graph_state = store.read_state()
        if graph_state is None or GraphState.of(snapshot).is_same(graph_state):
            return
        if snapshot.commit == self._workspace.tip() and self._update_lock.acquire(blocking=False):
            try:
                self._advance(store, graph_state, snapshot)
            finally:
                self._update_lock.release()

    def _advance(self, store: LinkStore, graph_state: GraphState | None, snapshot: Snapshot) -> bool:
        """Add the changed documents; return False if there is no base, or if too many changed."""
        from index.link_graph.build import LinkReader

        changes = self._find_changes(graph_state, snapshot)
        if graph_state is None or changes is None:
            return False
        # Listing the documents of a new commit is the slowest step, and it is not needed for few changes.
        if len(changes) > _MAX_DOCUMENTS_READ and len(changes) > len(snapshot.documents) / 3:
            return False
        reader = LinkReader.of(snapshot)
        rows = [reader.read_row(path, blob) for path, blob in changes.items() if blob is not None]
        deleted_paths = [path for path, blob in changes.items() if blob is None]
        store.apply(graph_state, GraphState.of(snapshot), rows, deleted_paths)
        self._last_snapshot = snapshot
        return True

    def _find_changes(
        self, graph_state: GraphState | None, snapshot: Snapshot
    ) -> dict[str, str | None] | None:
        """Return the blobs of changed documents by path (None if deleted).

        Returns None if the graph is empty, has other rules, or has a commit that cannot be read.
        """
        if (
            graph_state is None
            or graph_state.rules != GraphState.of(snapshot).rules
            or graph_state.commit is None
        ):
            return None
        base_snapshot = self._last_snapshot
        try:
            if base_snapshot is None or base_snapshot.commit != graph_state.commit:
                if not self._workspace.has_commit(graph_state.commit):
                    return None
                base_snapshot = self._workspace.snapshot(graph_state.commit)
            return {path: blob for path, _, blob in list_changed_documents(base_snapshot, snapshot)}
        except DamagedRepository:  # Git has pruned objects of a commit that is no longer on the branch
            return None

    def _read_rows(
        self, snapshot: Snapshot, progress: Progress | None, has_waiting_caller: bool
    ) -> Iterator[DocumentRow]:
        from index.link_graph.build import LinkReader, read_rows

        documents = list(snapshot.documents.items())
        for row in read_rows(
            LinkReader.of(snapshot), documents, progress, has_waiting_caller=has_waiting_caller
        ):
            if self._is_closing:
                raise IndexBusy("the link graph was closed while it was being built", fix="Open it again.")
            yield row

    def _run(self, work: Callable[[OpenGraph], T]) -> T:
        """Run work on the graph; retry it after another writer's change, and without a damaged file."""
        for _ in range(_MAX_ATTEMPTS):
            graph = self._open()
            try:
                return work(graph)
            except BaseMoved:
                continue
            except IndexDamaged:
                self._discard_damaged(graph)
            except IndexUnwritable:
                if graph.location is None:
                    raise
                self._index_location.fall_back(graph.location)
        raise IndexBusy("the branch changes faster than its links can be read", fix="Try again in a moment.")

    def _open(self) -> OpenGraph:
        from index.link_graph.location import OpenGraph

        with self._open_lock:
            while True:
                location = self._index_location.resolve()
                if self._graph is not None and self._graph.is_at(location):
                    return self._graph
                try:
                    self._graph = OpenGraph.open(location)
                except (IndexUnwritable, IndexDamaged):
                    if location is None:
                        raise
                    self._index_location.fall_back(location)

    def _discard_damaged(self, graph: OpenGraph) -> None:
        """Remove a damaged graph, unless another thread has done so."""
        from index.link_graph.location import discard_graphs

        with self._open_lock:
            if self._graph is graph:
                self._graph = None
                if graph.location is not None:
                    discard_graphs(graph.location)


def _is_document(snapshot: Snapshot, path: str) -> bool:
    """Return True if a path is a document, without listing all documents of the commit."""
    entry = snapshot.entry(path)
    return entry is not None and entry.is_blob and snapshot.config.is_document(path)
