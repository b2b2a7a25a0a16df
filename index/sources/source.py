"""One documentation source: its index is opened when it is first asked for, and again after a failure."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from index.artifacts.manifest import ArtifactDamaged, NotAnArtifact, UnsupportedArtifact
from index.service import SearchIndex
from index.storage.files import IndexUnwritable
from index.storage.locking import IndexBusy
from index.storage.manifest import IndexDamaged
from index.storage.metadata import InvalidMetadata
from workspace.branch import BranchNotFound, RepositoryMissing
from workspace.errors import InvalidConfig, WorkspaceError
from workspace.git.ancestry import Graph
from workspace.git.repository import DamagedRepository, NotARepository, UnsupportedRepository
from workspace.lru_cache import LRUCache
from workspace.snapshot.snapshot import TooManyFiles

if TYPE_CHECKING:
    from index.artifacts.swap import Artifacts
    from index.port import Progress
    from index.service import SearchPage
    from index.sources.settings import SourceSettings
    from workspace.git.remotes.credentials import Access

_RETRY_AFTER_S = 2.0
"""The time before a source that could not be opened is tried again."""

_MAX_CACHED_BYTES = 2_000_000
"""The size of the pages of questions that a source caches."""

_FAILURES = (
    ArtifactDamaged,
    BranchNotFound,
    DamagedRepository,
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

_FETCH_FIX = "The server tries again by itself; until then it serves the commit that it has."


class SourceUnavailable(WorkspaceError):
    """A source that cannot be read now; the other sources of the server can."""

    code: ClassVar[str] = "SOURCE_UNAVAILABLE"

    def __init__(self, namespace: str, reason: str, fix: str = "") -> None:
        super().__init__(
            f"the source '{namespace}' is unavailable: {reason}",
            fix=fix or "Ask another source, or try again later: it is opened again by itself.",
            namespace=namespace,
            reason=reason,
        )
        self.reason = reason


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
    URLs, and `cache_folder` the indexes. No repository is written.
    """

    def __init__(
        self, name: str, settings: SourceSettings, folder: Path, data_folder: Path, cache_folder: Path
    ) -> None:
        self.name = name
        self.settings = settings
        self._folder = folder
        self._data_folder = data_folder
        self._cache_folder = cache_folder
        self._lock = threading.Lock()
        self._index: SearchIndex | None = None
        self._artifacts: Artifacts | None = None
        self._failure: SourceUnavailable | None = None
        self._retry_time = 0.0
        self.fetch_error: WorkspaceError | None = None
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
        """The reason of the last failure; None if the source was read or was never asked for."""
        return self._failure

    @contextmanager
    def open(self) -> Iterator[SearchIndex]:
        """Yield the index of the source, for one call.

        Raises SourceUnavailable if the source cannot be opened. An error within the block that the source
        causes becomes SourceUnavailable too, and the source is opened again for the next call.
        """
        index = self._get_index()
        try:
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

    @property
    def remote_url(self) -> str | None:
        """The URL of the repository, for links to a forge: that of the source, or of the remote `origin`."""
        if self.settings.url is not None or self._index is None:
            return self.settings.url
        return self._index.workspace.git.config("remote.origin.url")

    def check(self) -> None:
        """Open the source if it is closed. Raises SourceUnavailable."""
        with self.open() as index:
            index.workspace.tip()

    def search(self, query: str, limit: int, progress: Progress | None = None) -> SearchPage:
        """Return the first hits of a question; it is searched once for each commit.

        Raises SourceUnavailable, and the errors of `SearchIndex.search`.
        """
        with self.open() as index:
            key = index.workspace.tip(), query, limit
            page = self._pages.find(key)
            if page is None:
                page = index.search(query, limit=limit, progress=progress)
                if page.commit == key[0] and not page.is_stale:
                    self._pages.put(key, page)
            return page

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

    def fetch(self, access: Access) -> None:
        """Fetch the URL of the source. Raises the errors of `fetch_clone`, UnsafeCredentials, OSError."""
        from workspace.git.remotes.clone import create_clone, fetch_clone
        from workspace.git.remotes.exchange import Peer
        from workspace.git.remotes.url import parse_remote_url

        url = self.settings.url
        if url is None:
            return
        clone = self._clone_folder
        address = parse_remote_url(url)
        try:
            create_clone(clone)
            login = access.find_login(address, (clone,))
            peer = Peer(self.name, address, login, access.has_agent, access.ssh_keys)
            fetch_clone(clone, peer, self.settings.ref)
        except WorkspaceError as error:
            error.fix = _FETCH_FIX
            self.fetch_error = error
            raise
        self.fetch_error = None
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

    @property
    def _clone_folder(self) -> Path:
        return self._data_folder / f"{_digest(self.settings.url)}.git"

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
        from workspace.source_workspace import SourceWorkspace

        settings = self.settings
        if settings.artifact is not None:
            from index.artifacts.swap import Artifacts
            from index.storage.keys import read_key

            key = read_key(self._resolve(settings.key)) if settings.key is not None else None
            self._artifacts = Artifacts(self._resolve(settings.artifact), key)
            return
        repository = self._clone_folder if settings.url is not None else self._resolve(settings.repo or "")
        if settings.url is not None:
            self._check_clone(repository)
        workspace = SourceWorkspace.open_source(repository, settings.ref, settings.folder or None)
        identity = (settings.url or str(repository.resolve()), settings.ref, settings.folder)
        location = self._cache_folder / _digest(identity)
        location.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._index = SearchIndex(workspace, location=location)

    def _check_clone(self, clone: Path) -> None:
        """Raise SourceUnavailable if nothing was fetched yet."""
        from workspace.git.remotes.clone import is_clone

        if not is_clone(clone):
            reason = self.fetch_error.message if self.fetch_error else "it is being cloned"
            raise SourceUnavailable(self.name, reason)

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
        self._failure = (
            error if isinstance(error, SourceUnavailable) else SourceUnavailable(self.name, error.message)
        )
        return self._failure


def _measure_page(page: SearchPage) -> int:
    """Return the size of a cached page in bytes: its texts, and a constant for each hit."""
    return 1_000 + sum(len(hit.text) + 2_000 for hit in page.hits)


def _describe_os_error(error: OSError) -> WorkspaceError:
    return WorkspaceError(f"its files cannot be read ({error.strerror})")


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:32]
