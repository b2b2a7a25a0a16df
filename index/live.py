"""The index of a branch, which is opened, updated to the tip, or rebuilt.

    missing, damaged, of another schema, at a pruned commit ->  rebuild next to the old one, then swap
    behind the tip                                          ->  index the difference
    at the tip                                              ->  one ref lookup
    its folder cannot be written                            ->  use the user's cache, else memory

Nodes that store the index in one database share it: the first one that reads a new tip indexes it.

The engine decides which process writes (`index.port`); a process that may not write serves the existing index
and reports it as stale. The engine is imported at the first search, because a server needs only metadata to
list its tools.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from index.postgres.options import FILE_ENGINE, EngineOptions, hash_remote_url, hash_repository
from index.storage.location import (
    SCHEMA_VERSION,
    IndexLocation,
    find_candidate_folders,
    make_index_name,
    make_vectors_name,
)
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged
from index.storage.metadata_file import MetadataPublisher
from workspace.git.repository import DamagedRepository

if TYPE_CHECKING:
    from index.documents import SectionRecord
    from index.port import Progress, Query, Results, State
    from index.postgres.database import Connection, Database
    from index.postgres.heads import Head
    from index.segments.generation import IndexSnapshot
    from index.segments.index_storage import IndexStorage
    from index.snippets import SectionTexts
    from index.source import GitSource
    from index.storage.metadata import Metadata
    from index.storage.status import IndexStatus
    from index.whoosh_engine.engine import WhooshEngine
    from workspace.snapshot.snapshot import Snapshot
    from workspace.workspace import Workspace

_MAX_ATTEMPTS = 20
"""Attempts to update an index while other processes change the branch or the index."""

_MAX_RETRIED_DOCUMENTS = 16
"""The largest number of unreadable documents that one check tries to read again."""


class UpdateResult(NamedTuple):
    """The state of an index; stale if the branch has newer commits that another writer is indexing."""

    state: State
    is_stale: bool = False


class IndexLag(NamedTuple):
    """The open index of a node, compared with its clone and with the database that it shares.

    `is_behind_clone` means that the open index lacks the tip of the clone, and `is_behind_database` that
    another node has indexed a commit that this clone lacks. Both are False if no index is open.
    `head_generation` is the generation in the database, and `replica_generation` that in its replica; None
    without a head. `is_replica_reachable` is True without a replica.
    """

    is_open: bool
    is_behind_clone: bool
    is_behind_database: bool
    is_database_reachable: bool
    head_generation: int | None = None
    replica_generation: int | None = None
    is_replica_reachable: bool = True


class LiveIndex:
    """The index of a workspace's served branch. Safe to use from several threads."""

    def __init__(
        self, workspace: Workspace, folder: Path | None = None, engine_options: EngineOptions = FILE_ENGINE
    ) -> None:
        """Open nothing yet. `folder` is a private folder to use instead of the repository's own."""
        self._workspace = workspace
        self._engine_options = engine_options
        self._candidate_folders: Callable[[str], Iterable[Path]] = lambda name: (
            [folder] if folder else self._list_folders(name)
        )
        self._index_location = self.create_location()
        self._engine: WhooshEngine | None = None
        self._engine_lock = threading.Lock()
        self._publisher = MetadataPublisher(
            workspace, self._index_location, lambda: self.engine.peek_state(), self.count_values
        )

    @cached_property
    def texts(self) -> SectionTexts:
        """The texts of sections; their module is imported when first used."""
        from index.snippets import SectionTexts

        return SectionTexts(self._workspace.git.blob)

    @property
    def engine(self) -> WhooshEngine:
        """The engine; its module is imported when first used."""
        with self._engine_lock:
            if self._engine is None:
                from index.whoosh_engine.engine import WhooshEngine

                self._engine = WhooshEngine(self._create_storage(), self.texts.read)
        return self._engine

    def _create_storage(self) -> IndexStorage:
        database = self._engine_options.database
        if database is None:
            from index.segments.file_storage import FileStorage

            return FileStorage(self._index_location, self._workspace.durable)
        from index.postgres.storage import PostgresStorage

        return PostgresStorage(
            database, self._make_namespace_id, self._index_location, replica=self._engine_options.replica
        )

    def _make_namespace_id(self) -> str:
        """Return the id of the served branch, which is the same on all nodes."""
        git, repository = self._workspace.git, self._engine_options.repository
        branch = self._workspace.branch or ("" if repository else f"detached {git.git_dir}")
        if not repository:
            repository = hash_remote_url(git) or hash_repository(str(git.common_dir))
        return f"{repository} {branch}"

    def update_to_tip(self, progress: Progress | None = None) -> UpdateResult:
        """Update the index to the tip of the branch, and return its state.

        While another writer is active, or the database of the index cannot be reached, the state is that of
        the last indexed commit. Raises IndexUnwritable, and if there is no index yet IndexBusy and
        EngineUnavailable.
        """
        state = self._engine.serving_state() if self._engine else None
        if state is not None and self._is_fresh(state):
            return UpdateResult(state)
        from index.port import EngineUnavailable

        try:
            return UpdateResult(self._run_update(progress))
        except (IndexBusy, EngineUnavailable):
            state = self.engine.serving_state()
            if state is None:
                raise
            return UpdateResult(state, is_stale=self.is_behind(state))

    def read_lag(self) -> IndexLag | None:
        """Return the lag of a shared index, without opening or updating it; None for an index in files.

        A commit that a branch was set back from is not behind: it contains the tip.
        """
        database, replica = self._engine_options.database, self._engine_options.replica
        if database is None:
            return None
        # The replica is read first, so that it does not seem to lag if the head changes between both.
        replica_head, is_replica_reachable = self._read_head(replica) if replica else (None, True)
        head, is_reachable = self._read_head(database)
        state = self._engine.opened_state() if self._engine else None
        if state is None:
            return IndexLag(False, False, False, is_reachable)
        head_commit = head.state.commit if head is not None else None
        return IndexLag(
            is_open=True,
            is_behind_clone=self.is_behind(state) and not self._contains_tip(state),
            is_behind_database=head_commit not in (None, state.commit)
            and not self._workspace.has_commit(str(head_commit)),
            is_database_reachable=is_reachable,
            head_generation=head.generation if head is not None and replica is not None else None,
            replica_generation=replica_head.generation if replica_head is not None else None,
            is_replica_reachable=is_replica_reachable,
        )

    def _read_head(self, database: Database) -> tuple[Head | None, bool]:
        """Return the head at a server, and True if the server can be reached."""
        from index.port import EngineUnavailable
        from index.postgres.heads import read_head

        try:
            return database.run(lambda connection: read_head(connection, self._make_namespace_id())), True
        except EngineUnavailable:
            return None, False
        except IndexDamaged:  # the next update rebuilds it
            return None, True

    def _contains_tip(self, state: State) -> bool:
        """Return True if the tip is an ancestor of the commit of a state."""
        tip, commit = self._workspace.tip(), state.commit
        return (
            tip is not None
            and commit is not None
            and self._workspace.has_commit(commit)
            and self._workspace.git.is_descendant(commit, tip)
        )

    def is_behind(self, state: State) -> bool:
        """Return True if the commit of a state is not the tip."""
        return state.commit != self._workspace.tip()

    def search(self, query: Query, offset: int, limit: int, generation: str | None = None) -> Results:
        """Search the current index. Raises GenerationGone, and IndexDamaged (then call `replace_damaged`)."""
        return self.engine.search(query, offset=offset, limit=limit, generation=generation)

    def generation(self, progress: Progress | None = None) -> IndexSnapshot | None:
        """Return the current index, which may be at an older commit; build it if there is none."""
        if self.engine.generation() is None:
            self.update_to_tip(progress)
        return self.engine.generation()

    def find_similar_terms(self, word: str, limit: int) -> tuple[str, ...]:
        """Return at most `limit` terms of the index that a folded word may mean."""
        return self.engine.find_similar_terms(word, limit)

    def rebuild(self, progress: Progress | None = None) -> State:
        """Rebuild the index next to the old one, and swap them. Raises IndexBusy, IndexUnwritable."""
        return self._publish(self.engine.rebuild(self._make_source(self._workspace.snapshot()), progress))

    def replace_damaged(self, damaged: State, progress: Progress | None = None) -> State:
        """Rebuild a damaged index, unless another call has rebuilt it since its state was read."""
        source = self._make_source(self._workspace.snapshot())
        return self._publish(self.engine.rebuild(source, progress, unless=lambda state: state != damaged))

    def sweep(self) -> int:
        """Remove the files of dead writers; return the number of removed entries. Raises IndexBusy."""
        self._workspace.tip()  # raises if the repository or the branch is missing, before a folder is created
        return self.engine.sweep() + self._delete_indexes_of_deleted_branches()

    def _delete_indexes_of_deleted_branches(self) -> int:
        """Delete the shared indexes of branches that neither the clone nor its remotes have.

        Those that a node has changed lately stay. A node that still serves such a branch builds its index
        again. Returns the number of deleted indexes.
        """
        database, git = self._engine_options.database, self._workspace.git
        if database is None or self._engine_options.repository:
            return 0  # a source has one branch
        from index.postgres.heads import (
            DELETED_BRANCH_S,
            delete_idle_namespaces,
            has_tables,
            list_idle_namespaces,
        )

        own_id = self._make_namespace_id()
        prefix = own_id.partition(" ")[0] + " "
        remote_prefixes = tuple(f"{remote}/" for remote in git.remotes())
        branches = set(git.branches())
        for name in git.ref_names():
            branches.update(name.removeprefix(start) for start in remote_prefixes if name.startswith(start))

        def delete(connection: Connection) -> int:
            if not has_tables(connection):
                return 0
            idle_ids = list_idle_namespaces(connection, prefix, DELETED_BRANCH_S)
            deleted_ids = [id for id in idle_ids if id != own_id and id.removeprefix(prefix) not in branches]
            return delete_idle_namespaces(connection, deleted_ids, DELETED_BRANCH_S) if deleted_ids else 0

        return database.run(delete)

    def metadata(self) -> Metadata | None:
        """Return the last metadata of this branch that any process has written; never wait for the index.

        Returns the same object while the content is unchanged.
        """
        return self._publisher.last_metadata()

    def count_values(self, state: State) -> dict[str, Mapping[str, int]]:
        """Count the sections that have each value of each taxonomy key of a state's commit.

        The keys are those of the tip if another node has indexed a commit that this clone lacks.
        """
        has_commit = state.commit is not None and self._workspace.has_commit(state.commit)
        keys = self._workspace.snapshot(state.commit if has_commit else None).config.taxonomy_keys
        return {key: self.engine.count_values(key) for key in keys}

    def status(self) -> IndexStatus:
        """Return the status of the index, without building, repairing or updating the index."""
        return self.engine.status(self._workspace.tip())

    def create_location(self) -> IndexLocation:
        """Return a new IndexLocation for the same folders, for data stored next to the index."""
        return IndexLocation(self._index_name, self._candidate_folders)

    def close(self) -> None:
        """Close the index's files; the next use opens them again."""
        self._publisher.close()
        if self._engine is not None:
            self._engine.close()
        self._index_location.reset()

    def text(self, record: SectionRecord) -> str:
        """Return the text of a section without its heading; invalid UTF-8 becomes U+FFFD."""
        return str(self.texts.read(record), "utf-8", "replace")

    def preload(self) -> None:
        """Import the search modules and open the existing index, without building or updating it."""
        import index.snippets  # noqa: F401
        from index.query import parse_query
        from index.storage.keys import load_user_key

        load_user_key()
        if self.engine.serving_state() is not None:
            self.engine.search(parse_query("anything"))

    def _is_fresh(self, state: State) -> bool:
        """Return True if a state is at the tip and `has_recovered_document` is False."""
        return not self.is_behind(state) and not self.has_recovered_document(state)

    def has_recovered_document(self, state: State) -> bool:
        """Return True if one of the first 16 documents that Git could not read can be read now."""
        for blob in islice(state.unreadable.values(), _MAX_RETRIED_DOCUMENTS):
            with suppress(DamagedRepository):
                self._workspace.git.blob(blob)
                return True
        return False

    def _run_update(self, progress: Progress | None) -> State:
        from index.port import BaseMoved

        for _ in range(_MAX_ATTEMPTS):
            target = self._workspace.snapshot()
            state: State | None = None
            try:
                state = self.engine.state()
                if state is not None and state.commit == target.commit and self._is_fresh(state):
                    return self._publish(state)
                if self._workspace.tip() != target.commit:
                    continue  # another thread may have updated the index, which never goes back
                if state is not None and self._is_ahead(state, target):
                    raise IndexBusy(
                        "the index is at a commit that follows the tip of this clone",
                        fix="Fetch the repository, or try again after its next fetch.",
                    )
                if state is not None and (state.commit is None or self._workspace.has_commit(state.commit)):
                    state = self._advance(state, target, progress)
                else:
                    state = self._build(state, target, progress)
            except BaseMoved:
                continue
            except (IndexDamaged, DamagedRepository):
                # Git may have pruned the indexed commit, so that no difference can be computed. If the target
                # is damaged, the rebuild raises again.
                state = self._build(state, target, progress)
            self._publish(state)
            if state.commit == target.commit:
                return state
        raise IndexBusy("the branch changes faster than it can be indexed", fix="Try again in a moment.")

    def _is_ahead(self, state: State, target: Snapshot) -> bool:
        """Return True if another node has indexed a commit that this clone has not fetched or reached yet.

        Else two nodes would set a shared index back and forth. Commits that a clone does not get for a while
        were removed from the branch.
        """
        if self._engine_options.database is None or state.commit is None or target.commit is None:
            return False
        age = datetime.now(UTC) - datetime.fromisoformat(state.indexed_at)
        if age.total_seconds() > self._engine_options.max_lag_s:
            return False
        if not self._workspace.has_commit(state.commit):
            return True
        git = self._workspace.git
        # The usual case is decided first: the other comparison may read the whole history.
        return not git.is_descendant(target.commit, state.commit) and git.is_descendant(
            state.commit, target.commit
        )

    def _advance(self, state: State, target: Snapshot, progress: Progress | None) -> State:
        from index.source import diff_snapshots, read_documents
        from workspace.snapshot.snapshot import Snapshot

        old = self._workspace.snapshot(state.commit) if state.commit else Snapshot(self._workspace.git, None)
        difference = diff_snapshots(old, target, state.files)
        if difference is None:
            return self._build(state, target, progress)
        blobs = {**state.unreadable, **difference.upserts}
        for path in difference.deletes:
            blobs.pop(path, None)
        changed_documents = read_documents(target, blobs, progress, "Indexing changed documents")
        return self.engine.apply(state.commit, target.commit, changed_documents, difference.deletes)

    def _build(self, known_state: State | None, target: Snapshot, progress: Progress | None) -> State:
        state = self.engine.rebuild(
            self._make_source(target), progress, unless=lambda state: state != known_state
        )
        from index.port import EngineUnavailable

        with suppress(EngineUnavailable):  # the next build deletes them
            self._delete_indexes_of_deleted_branches()
        return state

    def _make_source(self, target: Snapshot) -> GitSource:
        from index.source import GitSource

        return GitSource(target)

    def _publish(self, state: State) -> State:
        """Publish the metadata of a state of the index."""
        self._publisher.publish(state)
        return state

    def _index_name(self) -> str:
        branch = self._workspace.branch or f"detached {self._workspace.git.git_dir}"
        return make_index_name(SCHEMA_VERSION, branch)

    def list_vector_folders(self) -> Iterator[Path]:
        """Yield the folders in which vectors may be stored, the best first; all branches share them."""
        return iter(self._candidate_folders(make_vectors_name()))

    def remove_vectors(self) -> int:
        """Remove the files of vectors, and return their number. Sections are embedded again when needed."""
        files = [file for folder in self.list_vector_folders() for file in folder.glob("vectors-*.sqlite*")]
        for file in files:
            file.unlink(missing_ok=True)
        return len(files)

    def _list_folders(self, name: str) -> Iterator[Path]:
        return find_candidate_folders(self._workspace.git.common_dir, name)
