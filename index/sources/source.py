"""One documentation source: its index is opened at its first use, and again after a failure."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from index.artifacts.manifest import ArtifactDamaged, NotAnArtifact, UnsupportedArtifact
from index.port import EngineUnavailable
from index.postgres.options import FILE_ENGINE, EngineOptions
from index.service import SearchIndex
from index.sources.clone import SourceClone, compute_folder_name
from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged
from index.storage.metadata import InvalidMetadata
from index.vectors.options import NO_EMBEDDING, EmbeddingOptions
from workspace.branch import BranchNotFound
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git.ancestry import Graph
from workspace.git.repository import (
    DamagedRepository,
    NotARepository,
    RepositoryMissing,
    UnsupportedRepository,
)
from workspace.lru_cache import LRUCache
from workspace.snapshot.snapshot import TooManyFiles
from workspace.source_workspace import FolderMissing, SourceWorkspace

if TYPE_CHECKING:
    from index.artifacts.swap import Artifacts
    from index.port import Progress, SearchType
    from index.service import Hit, SearchPage
    from index.sources.settings import SourceSettings
    from workspace.git.remotes.credentials import Access

_RETRY_AFTER_S = 2.0
"""The time before a source that could not be opened is tried again."""

_MAX_LISTING_WAIT_S = 2.0
"""The time from the start of the listing of a new commit for which other calls wait for its end."""

_MAX_CACHED_BYTES = 2_000_000
"""The size of the pages of questions that a source caches."""

_FAILURES = (
    ArtifactDamaged,
    BranchNotFound,
    DamagedRepository,
    EngineUnavailable,
    FolderMissing,
    IndexBusy,
    IndexDamaged,
    IndexUnwritable,
    InvalidConfig,
    InvalidMetadata,
    NotARepository,
    NotAnArtifact,
    RepositoryMissing,
    TooManyFiles,
    UnsupportedArtifact,
    UnsupportedRepository,
)
"""Errors that the state of a source causes, and not the arguments of a call."""

_CLONE_DAMAGES = (DamagedRepository, NotARepository, UnsupportedRepository)
"""Errors of a clone that a new clone repairs."""


class SourceUnavailable(WorkspaceError):
    """A source that cannot be read now; the other sources of the server can.

    `operator_fix` is a fix for the operator, which callers cannot apply.
    """

    code: ClassVar[str] = "SOURCE_UNAVAILABLE"

    def __init__(self, namespace: str, reason: str, operator_fix: str = "") -> None:
        super().__init__(
            f"the source '{namespace}' is unavailable: {reason}",
            fix="Search another source, or try again later: the server opens the source again.",
            namespace=namespace,
            reason=reason,
        )
        self.reason = reason
        self.operator_fix = operator_fix


class SourceStats(NamedTuple):
    """The size and the commit of a source. `last_updated` is the time of the commit, in UTC.

    For documents outside Git there is no commit, and the time is that of their index.
    """

    document_count: int
    last_updated: str
    source_commit: str | None


class Source:
    """One source of a server. Safe to use from threads.

    `folder` is that of the file of sources, to which paths are relative. `data_folder` has the clones of
    URLs, and `cache_folder` the indexes. No repository is written. `organization` is the id of the owner.
    `remote_url` is the URL of the repository, for links to a forge: that of the settings, or that of the
    remote `origin`, which is read when the source is opened.
    """

    def __init__(
        self,
        name: str,
        settings: SourceSettings,
        folder: Path,
        data_folder: Path,
        cache_folder: Path,
        embedding: EmbeddingOptions = NO_EMBEDDING,
        organization: str = "",
        engine: EngineOptions = FILE_ENGINE,
    ) -> None:
        self.name = name
        self.organization = organization
        self.settings = settings
        self._folder = folder
        self._cache_folder = cache_folder
        self._embedding = embedding
        self._engine = engine
        self._clone = SourceClone(name, settings.url, settings.ref, data_folder) if settings.url else None
        self._lock = threading.Lock()
        self._index: SearchIndex | None = None
        self._artifacts: Artifacts | None = None
        self.remote_url = settings.url
        self._failure: SourceUnavailable | None = None
        self._retry_time = 0.0
        self._listing_lock = threading.Lock()
        self._listing_deadline: float | None = None  # of the calls that wait for the listing under way
        self._listed_commit: str | None = None
        self._refusal: tuple[str | None, TooManyFiles] | None = None
        # A source has one index, so a key needs neither filters nor rights: every caller may read all of it.
        self._pages: LRUCache[tuple[str | None, str, int], SearchPage] = LRUCache(
            _MAX_CACHED_BYTES, _measure_page
        )

    @property
    def description(self) -> str:
        """The operator's description, or an empty text."""
        return self.settings.description

    @property
    def failure(self) -> SourceUnavailable | None:
        """The reason of the last failure; None if the source was read or was never opened."""
        return self._failure

    @contextmanager
    def open(self) -> Iterator[SearchIndex]:
        """Yield the index of the source, for one call.

        Raises SourceUnavailable if the source cannot be opened. An error within the block that the source
        causes becomes SourceUnavailable too, and the source is opened again for the next call.
        """
        index = self._get_index()
        try:
            self._list_files(index)
            yield index
        except _FAILURES as error:
            raise self._fail(index, error) from error
        except OSError as error:
            raise self._fail(index, _describe_os_error(error)) from error
        except WorkspaceError:  # the call is wrong, and the source was read
            self._failure = None
            raise
        else:
            self._failure = None

    def _list_files(self, index: SearchIndex) -> None:
        """List the files of a new commit, in one thread: a huge tree must not occupy all threads of a server.

        A commit with too many files is listed only once. Raises SourceUnavailable, TooManyFiles.
        """
        commit = index.workspace.tip()
        if commit == self._listed_commit:
            return
        deadline, now = self._listing_deadline, time.monotonic()
        wait_s = _MAX_LISTING_WAIT_S if deadline is None else max(deadline - now, 0.0)
        if not self._listing_lock.acquire(timeout=wait_s):
            raise SourceUnavailable(self.name, "the files of its new commit are being listed")
        try:
            self._listing_deadline = time.monotonic() + _MAX_LISTING_WAIT_S
            if self._refusal is not None and self._refusal[0] == commit:
                raise self._refusal[1]
            if commit != self._listed_commit:
                _ = index.workspace.snapshot().documents  # which is listed at its first use
                self._listed_commit = commit
        except TooManyFiles as error:
            self._refusal = commit, error
            raise
        finally:
            self._listing_deadline = None
            self._listing_lock.release()

    def check_available(self) -> None:
        """Open the source if it is closed. Raises SourceUnavailable."""
        with self.open() as index:
            index.workspace.tip()

    def search(
        self,
        query: str,
        limit: int,
        progress: Progress | None = None,
        search_type: SearchType | None = None,
    ) -> SearchPage:
        """Return the first hits of a question; without vectors, it is searched once for each commit.

        Raises SourceUnavailable, and the errors of `SearchIndex.search`.
        """
        with self.open() as index:
            # The commit of the tip, or a newer one that another call has listed since.
            key = self._listed_commit, query, limit
            is_of_words = search_type == "bm25" or (search_type != "vector" and not index.has_vectors)
            page = self._pages.find(key) if is_of_words else None
            if page is None:
                page = index.search(query, limit=limit, search_type=search_type, progress=progress)
                if page.embedding is None and page.commit == key[0] and not page.is_stale:
                    self._pages.put(key, replace(page, is_cached=True))
            return page

    def read_texts(self, hits: Sequence[Hit]) -> list[str]:
        """Return the Markdown of hits with their headings. Raises SourceUnavailable."""
        with self.open() as index:
            return [str(index.read_source(hit), "utf-8", "replace") for hit in hits]

    def stats(self) -> SourceStats:
        """Return the size and the commit of the source. Raises SourceUnavailable."""
        with self.open() as index:
            snapshot, metadata = index.workspace.snapshot(), index.metadata()
            commit = snapshot.commit
            if commit is not None and index.workspace.has_commit(commit):
                seconds = Graph(index.workspace.git).node(commit).time
                last_updated = f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
            else:  # an artifact does not contain its commit
                last_updated = metadata.stats.indexed_at if metadata is not None else ""
            return SourceStats(len(snapshot.documents), last_updated, commit)

    @property
    def fetch_error(self) -> str | None:
        """The reason why the last fetch of the URL failed; None if it succeeded, or there is no URL."""
        return self._clone.fetch_error if self._clone is not None else None

    @property
    def is_damaged(self) -> bool:
        """True if the clone of the URL could not be read; the next fetch replaces it."""
        return self._clone is not None and self._clone.is_damaged

    def fetch(self, access: Access) -> None:
        """Fetch the URL of the source. Raises the errors of `SourceClone.fetch`."""
        if self._clone is not None:
            self._clone.fetch(access)
            with self._lock:
                self._retry_time = 0.0

    def prepare(self) -> None:
        """Build the index if there is none yet, and close it again. Raises SourceUnavailable."""
        with self.open() as index:
            if index.metadata() is None:
                index.update_to_tip()
                index.close()

    def close(self) -> None:
        """Close the files of the source. The next call opens them again."""
        with self._lock:
            index, artifacts = self._index, self._artifacts
            self._index = self._artifacts = None
        if index is not None:
            index.close()
        if artifacts is not None:
            artifacts.close()

    def _get_index(self) -> SearchIndex:
        with self._lock:
            if self._index is None and self._artifacts is None:
                if self._failure is not None and time.monotonic() < self._retry_time:
                    raise self._failure
                try:
                    self._open()
                except WorkspaceError as error:
                    raise self._record_failure(error) from error
                except OSError as error:
                    raise self._record_failure(_describe_os_error(error)) from error
            if self._index is not None:
                return self._index
            artifacts = self._artifacts
        assert artifacts is not None
        try:
            return artifacts.get_open_index()
        except WorkspaceError as error:
            raise self._fail(artifacts, error) from error

    def _open(self) -> None:
        settings = self.settings
        if settings.artifact is not None:
            from index.artifacts.swap import Artifacts
            from index.storage.keys import read_key_file

            key = read_key_file(self._resolve(settings.key)) if settings.key is not None else None
            self._artifacts = Artifacts(self._resolve(settings.artifact), key, embedding=self._embedding)
            return
        if self._clone is not None and not self._clone.exists:
            reason = self._clone.fetch_error or "its URL has not been fetched yet"
            raise SourceUnavailable(self.name, reason)
        repository = self._clone.folder if self._clone is not None else self._resolve(settings.repo or "")
        workspace = SourceWorkspace.open_source(repository, settings.ref, settings.folder or None)
        identity = (settings.url or str(repository.resolve()), settings.ref, settings.folder)
        self.remote_url = settings.url or workspace.git.config("remote.origin.url")
        location = self._cache_folder / compute_folder_name(identity)
        location.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        engine = self._engine._replace(repository=compute_folder_name((self.organization, *identity)))
        self._index = SearchIndex(workspace, location=location, embedding=self._embedding, engine=engine)

    def _resolve(self, path: str) -> Path:
        return self._folder / Path(path).expanduser()

    def _fail(self, opened: SearchIndex | Artifacts, error: WorkspaceError) -> SourceUnavailable:
        """Record a failure of an opened index or artifact, so that the next call opens the source again.

        Its files stay open, because other threads may be reading them.
        """
        with self._lock:
            if opened is self._index:
                self._index = None
            elif self._artifacts is not None:
                self._artifacts = None
            return self._record_failure(error)

    def _record_failure(self, error: WorkspaceError) -> SourceUnavailable:
        self._retry_time = time.monotonic() + _RETRY_AFTER_S
        if self._clone is not None and isinstance(error, _CLONE_DAMAGES):
            self._clone.mark_as_damaged()
        self._failure = (
            error
            if isinstance(error, SourceUnavailable)
            else SourceUnavailable(self.name, error.message, error.fix)
        )
        return self._failure


def _measure_page(page: SearchPage) -> int:
    """Return the size of a cached page in bytes: its texts, and a constant for each hit."""
    return 1_000 + sum(len(hit.text) + 2_000 for hit in page.hits)


def _describe_os_error(error: OSError) -> WorkspaceError:
    return WorkspaceError(f"its files cannot be read ({error.strerror})")
