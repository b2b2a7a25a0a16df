"""The tracking status of the served branch, relative to its remote as last seen.

The status is derived from local refs and commits; the remote is not contacted. A result is cached for the
commits that it was computed from. If only our branch has new commits, the cached result is updated, not
computed again.
"""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from workspace.errors import WorkspaceError
from workspace.git.ancestry import Graph, list_commits_between, walk_first_parents
from workspace.sync.branches import (
    NoRemote,
    SyncState,
    TrackedCommits,
    UnknownRemote,
    compare_commits,
    format_lost_ref,
    format_tracking_ref,
    select_remote,
)
from workspace.sync.conflicts import BlockedPaths, check_not_blocked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.git.trees import WholeEntry
    from workspace.snapshot.snapshot import Snapshot

MAX_COUNTED_COMMITS = 2_000
"""The maximum number of commits of one side that are counted."""


class MissingCommits(NamedTuple):
    """The number of commits of one side that the other side lacks, and the earliest time of them.

    Commits without a readable time are not counted. If `has_more` is True, there are more commits, which
    were neither counted nor compared.
    """

    commit_count: int
    since: datetime
    has_more: bool = False


def count_commits_ahead(
    git: GitReader, ours: str, theirs: str | None, *, max_count: int = MAX_COUNTED_COMMITS
) -> MissingCommits | None:
    """Count the commits of `ours` that `theirs` lacks, up to `max_count`; return None if none is counted."""
    graph = Graph(git)
    commits, has_more = list_commits_between(graph, ours, theirs, max_commits=max_count)
    # A shallow clone lacks the times of some commits; these are not counted.
    times = [time for id in commits if (time := graph.time(id))]
    return MissingCommits(len(times), datetime.fromtimestamp(min(times), UTC), has_more) if times else None


_MAX_UPDATED_COMMITS = 64
"""The maximum number of our new commits by which a cached status is updated, not computed again."""


class TrackedState(NamedTuple):
    """The served branch and the remote's branch: their commits, and the commits that the remote lacks.

    `lost_commit` is a commit that the remote's branch had, and that a force push or a deletion removed.
    If the branches diverged, `diverged_since` is the earliest time of the commits that our branch lacks.
    """

    remote: str
    tracked: TrackedCommits
    lost_commit: str | None
    unpushed: MissingCommits | None
    diverged_since: datetime | None


class ExchangeFailure(NamedTuple):
    """The reason why the last exchange failed, and the time of the first failure in a row."""

    error: WorkspaceError
    since: datetime


class TrackingStatus:
    """The tracking status of a workspace's branch. Thread-safe.

    The synchronizer of this process sets `failure`; it is None after a successful exchange.
    """

    def __init__(self, workspace: Branch) -> None:
        self._workspace = workspace
        self._settings_path = os.path.join(workspace.git.common_dir, "config")
        self._lock = threading.Lock()
        self._last_state: TrackedState | None = None
        # The name of the remote, with the branch and the settings that it was computed from.
        self._cached_remote: tuple[object, str | None] = (None, None)
        # The file stamp (time, size and inode) of Git's settings, if they have no remote.
        self._no_remote_stamp: object = None
        self._blocked_paths: BlockedPaths | None = None
        self.failure: ExchangeFailure | None = None

    def read(self) -> TrackedState | None:
        """Return the state of both sides; None if there is no commit or no remote, or before the first fetch.

        If synchronization is automatic, a remote also counts before its first fetch.
        Raises DamagedRepository, ShallowHistory.
        """
        # This is called after every request, and most repositories have no remote.
        if self._no_remote_stamp is not None and self._read_stamp() == self._no_remote_stamp:
            return None
        return self._read(self._workspace.snapshot())

    def check_writable(self, snapshot: Snapshot, changes: Mapping[str, bytes | WholeEntry | None]) -> None:
        """Raise SyncConflict for changes to paths with an unresolved conflict with the remote."""
        if snapshot.commit is None or snapshot.commit != self._workspace.tip():
            return  # the caller checks again on the tip
        state = self._read(snapshot)
        if state is None or state.tracked.state is not SyncState.DIVERGED:
            return
        theirs = self._workspace.snapshot(state.tracked.theirs)
        with self._lock:
            self._blocked_paths = check_not_blocked(
                snapshot, theirs, changes, state.remote, self._blocked_paths
            )

    def find_remote(self) -> str | None:
        """Return the name of the default remote; None if there is no default."""
        return self._find_remote(self._workspace.snapshot(), self._workspace.branch)

    def _read(self, snapshot: Snapshot) -> TrackedState | None:
        branch, ours = self._workspace.branch, snapshot.commit
        name = self._find_remote(snapshot, branch)
        if branch is None or ours is None or name is None:
            return None
        git = self._workspace.git
        theirs = git.commit_at(format_tracking_ref(name, branch))
        lost_commit = git.commit_at(format_lost_ref(name, branch))
        if theirs is None and lost_commit is None and not snapshot.config.remote.is_automatic:
            return None
        with self._lock:
            last_state = self._last_state
        has_same_remote = last_state is not None and (
            last_state.remote,
            last_state.lost_commit,
            last_state.tracked.theirs,
        ) == (
            name,
            lost_commit,
            theirs,
        )
        if has_same_remote and last_state is not None and last_state.tracked.ours == ours:
            return last_state
        if has_same_remote and last_state is not None:
            state = self._update_state(last_state, ours) or self._compute_state(
                name, ours, theirs, lost_commit
            )
        else:
            state = self._compute_state(name, ours, theirs, lost_commit)
        with self._lock:
            self._last_state = state
        return state

    def _find_remote(self, snapshot: Snapshot, branch: str | None) -> str | None:
        """Return the default remote; read Git's settings again only if their file has changed."""
        try:
            configured_name = snapshot.config.remote.name
        except WorkspaceError:
            return None
        stamp = self._read_stamp()
        if stamp is None:
            return None
        key = (branch, configured_name, stamp)
        with self._lock:
            cached_key, name = self._cached_remote
        if cached_key != key:
            no_remote_stamp: object = None
            try:
                name = select_remote(self._workspace, configured_name).name
            except NoRemote as error:
                name, no_remote_stamp = None, None if error.details["remotes"] else stamp
            except UnknownRemote:
                name = None
            with self._lock:
                self._cached_remote, self._no_remote_stamp = (key, name), no_remote_stamp
        return name

    def _read_stamp(self) -> tuple[int, int, int] | None:
        """Return the modification time, size and inode of the settings file; None if it cannot be read."""
        try:
            status = os.stat(self._settings_path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _compute_state(
        self, name: str, ours: str, theirs: str | None, lost_commit: str | None
    ) -> TrackedState:
        git = self._workspace.git
        tracked = TrackedCommits(ours, theirs, compare_commits(git, ours, theirs, lost_commit))
        unpushed = (
            None
            if tracked.state in (SyncState.UP_TO_DATE, SyncState.BEHIND)
            else count_commits_ahead(git, ours, theirs)
        )
        commits_behind = (
            count_commits_ahead(git, theirs, ours) if theirs and tracked.state is SyncState.DIVERGED else None
        )
        return TrackedState(
            name, tracked, lost_commit, unpushed, commits_behind.since if commits_behind is not None else None
        )

    def _update_state(self, last_state: TrackedState, ours: str) -> TrackedState | None:
        """Return the state updated by our new commits; None if they include a merge, or are too many."""
        if last_state.tracked.ours is None or last_state.tracked.state is SyncState.BEHIND:
            return None
        git = self._workspace.git
        times: list[int] = []
        for commit in walk_first_parents(
            git.commit, git.boundary, ours, max_commits=_MAX_UPDATED_COMMITS + 1
        ):
            if commit.id == last_state.tracked.ours:
                break
            if len(commit.parents) != 1:
                return None
            times.append(commit.committer.time)
        else:
            return None
        state = (
            SyncState.AHEAD if last_state.tracked.state is SyncState.UP_TO_DATE else last_state.tracked.state
        )
        last_unpushed = last_state.unpushed or MissingCommits(0, datetime.fromtimestamp(min(times), UTC))
        since = min(last_unpushed.since, datetime.fromtimestamp(min(times), UTC))
        unpushed = MissingCommits(last_unpushed.commit_count + len(times), since, last_unpushed.has_more)
        return last_state._replace(
            tracked=TrackedCommits(ours, last_state.tracked.theirs, state), unpushed=unpushed
        )
