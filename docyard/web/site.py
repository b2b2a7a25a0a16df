"""The pages of one server, and the version of the state that they show.

A version is a short text that changes if the content of pages may have changed. It depends on the tips of
branches, and on the fetched branches of proposals. Reading thousands of refs is slow, so they are read only
if the times of their folders changed. Git renames a finished file over a ref, which updates the time of the
ref's folder.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docyard.caller import may_review
from docyard.web.background import BackgroundQueue
from docyard.web.growth import GrowthCounts
from docyard.web.live import LiveUpdates
from docyard.web.summaries import LastChanges, Summaries
from workspace.errors import WorkspaceError
from workspace.git.repository import DamagedRepository
from workspace.lru_cache import LRUCache
from workspace.proposal_ids import DISCUSSION_BRANCH, PROPOSAL_BRANCH_PREFIX
from workspace.rendering.code_colours import CodeColours

if TYPE_CHECKING:
    from datetime import date

    from docyard.caller import Caller
    from index.service import SearchIndex
    from workspace.git.reader import GitReader
    from workspace.proposals.actions.repository import Actor
    from workspace.proposals.proposal import Proposal
    from workspace.workspace import Workspace

_CLOCK_TICK_NS = 2_000_000_000  # a folder that changed more recently may change again with the same time
_MAX_VERSION_AGE_S = 60.0  # if no folder has changed

# The maximum age right after a change, because a further change may leave the times as they are.
_MAX_RECENT_VERSION_AGE_S = 0.25
FolderTimes = tuple[tuple[str, int, int], ...]
"""The path of each file or folder, its modification time in nanoseconds, and its size; 0 for a folder."""


class _CachedVersion(NamedTuple):
    """A version, the times of the folders just before it was read, and the time of reading (monotonic, s)."""

    workspace: Workspace
    folder_times: FolderTimes
    version: str
    read_at: float


class Versions:
    """The current version of the served state. Thread-safe."""

    def __init__(self) -> None:
        self._cached_version: _CachedVersion | None = None
        self._lock = threading.Lock()

    def get_current(self, workspace: Workspace) -> str:
        """Return the current version; an empty text if it cannot be read."""
        folder_times, shows_all_changes = _read_folder_times(workspace.git)
        max_age_s = _MAX_VERSION_AGE_S if shows_all_changes else _MAX_RECENT_VERSION_AGE_S
        cached_version = self._cached_version
        if (
            cached_version is not None
            and folder_times
            and (cached_version.workspace, cached_version.folder_times) == (workspace, folder_times)
            and time.monotonic() - cached_version.read_at < max_age_s
        ):
            return cached_version.version
        with self._lock:
            read_at = time.monotonic()
            try:
                version = _read_version(workspace)
            except WorkspaceError:  # the page itself shows the error
                return ""
            self._cached_version = _CachedVersion(workspace, folder_times, version, read_at)
        return version

    def invalidate(self) -> None:
        """Discard the cached version, so that a writer sees its change even if no folder time has changed."""
        with self._lock:  # another thread may be reading an older version
            self._cached_version = None


def _read_folder_times(git: GitReader) -> tuple[FolderTimes, bool]:
    """Return the times of the files and folders of refs, and True if the times show every change.

    The times are empty if there are no refs, as in an artifact.
    """
    times: list[tuple[str, int, int]] = []
    try:
        for file in (git.git_dir / "HEAD", git.common_dir / "packed-refs"):
            if file.exists():
                file_status = file.stat()
                times.append((str(file), file_status.st_mtime_ns, file_status.st_size))
        folders: list[Path | str] = [git.common_dir / "refs"]
        while folders:
            folder = folders.pop()
            times.append((str(folder), os.stat(folder).st_mtime_ns, 0))
            with os.scandir(folder) as entries:
                folders += sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return (), False
    newest_time = max(modified_ns for _, modified_ns, _ in times)
    return tuple(times), time.time_ns() - newest_time >= _CLOCK_TICK_NS


def _read_version(workspace: Workspace) -> str:
    """Return a digest of the refs that pages show. Raises WorkspaceError."""
    git, tip = workspace.git, workspace.tip()
    refs = [f"refs/heads/{name}" for name in git.branches()]
    refs += [
        f"refs/remotes/{name}" for name in git.ref_names() if _is_proposal_branch(name.partition("/")[2])
    ]
    tips = "".join(f"\n{ref} {_find_commit(git, ref)}" for ref in refs)
    state = f"{workspace.branch} {tip}{tips}"
    return hashlib.sha256(state.encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _find_commit(git: GitReader, ref: str) -> str | None:
    with suppress(DamagedRepository):  # reading the branch itself shows the error
        return git.commit_at(ref)
    return None


def _is_proposal_branch(branch: str) -> bool:
    return branch == DISCUSSION_BRANCH or branch.startswith(PROPOSAL_BRANCH_PREFIX)


TOOL, CLIENT = "page", "page"
"""The tool and client of commits and events that are made on pages."""

_MAX_CACHED_VERSIONS = 2  # pages that are rendered at the same time may show two versions


@dataclass(frozen=True, slots=True)
class Site:
    """The pages of one server.

    `index` returns the index for a new request, with its workspace: an artifact may be replaced between two
    requests. `mermaid` is the operator's script that draws diagrams, `math` enables formulas. `notify_write`
    is called after each write. `has_records` is True if operators have a page of recorded searches, and
    `read_searches` returns the searches of each day, and those that found nothing. `page_url` is the public
    URL of the pages, without a slash at the end; None if it is unknown. `close` is called at the end of the
    server.
    """

    index: Callable[[], SearchIndex]
    read_only: bool
    mermaid: bytes | None = None
    math: bool = False
    notify_write: Callable[[], object] = field(default=lambda: None)
    has_records: bool = False
    read_searches: Callable[[date, date], Mapping[date, tuple[int, int]]] | None = None
    page_url: str | None = None
    summaries: Summaries = field(default_factory=Summaries)
    last_changes: LastChanges = field(default_factory=LastChanges)
    versions: Versions = field(default_factory=Versions)
    live_updates: LiveUpdates = field(default_factory=LiveUpdates)
    background: BackgroundQueue = field(default_factory=BackgroundQueue)
    code_colours: CodeColours = field(default_factory=CodeColours)
    growth_counts: GrowthCounts = field(default_factory=GrowthCounts)
    _proposals: LRUCache[str, tuple[Proposal, ...]] = field(
        init=False, default_factory=lambda: LRUCache(_MAX_CACHED_VERSIONS)
    )

    @property
    def has_background_work(self) -> bool:
        """Return True if background work for pages is running."""
        return (
            self.background.is_busy
            or self.code_colours.is_busy
            or self.index().links.is_updating_in_background
        )

    def read_state(self) -> tuple[str, str | None]:
        """Return the version of the served state, and the commit of its tip. Raises WorkspaceError."""
        workspace = self.index().workspace
        return self.versions.get_current(workspace), workspace.tip()

    def close(self) -> None:
        """End event streams and background work."""
        self.live_updates.close()
        self.summaries.close()
        self.background.close()
        self.code_colours.close()

    def list_proposals(self, workspace: Workspace, version: str) -> tuple[Proposal, ...]:
        """Return every proposal, the newest first, in the state of a version.

        If the version is empty, the proposals are read from the repository.

        Reading thousands of refs takes longer than the rest of a page, so the proposals are cached by
        version.
        """
        proposal_actions = workspace.proposal_actions()
        return (
            self._proposals.get(version, proposal_actions.list_all)
            if version
            else proposal_actions.list_all()
        )

    def build_actor(self, workspace: Workspace, caller: Caller) -> Actor:
        """Return the author of a change: the owner of the token, else the user of Git's settings."""
        from workspace.proposals.actions.repository import Actor
        from workspace.proposals.events import Author, IdentitySource

        person = caller.person
        if person is None:
            author = Author(*workspace.author(), IdentitySource.GIT)
            return Actor(author, TOOL, CLIENT, may_review=may_review(caller))
        author = Author(person.name, person.email, IdentitySource.TOKEN, person.token)
        return Actor(author, TOOL, CLIENT, person, may_review(caller))
