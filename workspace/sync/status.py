"""The tracking status of the served branch: its remote as last seen, before and after every call.

All of it is derived from refs. What was found out is kept for the commits that it was found for; where only
ours has gone on since, by commits of its own, it is carried on instead of being found out again.

What a remote does not have yet, told from refs and commits that are here: the remote is not asked.
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
    chosen,
    compare_commits,
    lost_ref,
    tracking_ref,
)
from workspace.sync.conflicts import BlockedPaths, check_not_blocked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.git.trees import WholeEntry
    from workspace.snapshot.snapshot import Snapshot

LOOKED_AT = 2_000
"""Commits of the one side that are counted at most."""


class Unpushed(NamedTuple):
    """Commits of the served branch that the remote does not have, and the time of the first.

    `is_more`: there are more than so many, and `since` is of the earliest that was looked at.
    """

    commits: int
    since: datetime
    is_more: bool = False


def unpushed_of(workspace: Branch, remote: str | None = None) -> Unpushed | None:
    """Return the commits that the remote lacks, as last seen; None if there are none, or no remote.

    The remote is the one that is named, or else the one that `sync` would take. Raises InvalidConfig.
    """
    branch, tip = workspace.branch, workspace.tip()
    if branch is None or tip is None:
        return None
    try:
        name = chosen(workspace, remote).name
    except (NoRemote, UnknownRemote):
        return None
    return list_commits_ahead(workspace.git, tip, workspace.git.find_object(tracking_ref(name, branch)))


def list_commits_ahead(
    git: GitReader, ours: str, theirs: str | None, *, most: int = LOOKED_AT
) -> Unpushed | None:
    """Return the commits that one has and another does not, at most `most`; None if there are none."""
    graph = Graph(git)
    found, is_more = list_commits_between(graph, ours, theirs, most=most)
    times = [time for id in found if (time := graph.time(id))]  # not those that a shallow clone lacks
    return Unpushed(len(times), datetime.fromtimestamp(min(times), UTC), is_more) if times else None


_STEPS = 64
"""Commits of ours that are carried over; a longer way is found out anew."""


class TrackedState(NamedTuple):
    """The served branch and that of a remote: their commits, and those that the remote lacks.

    `apart_since` is when the first commit was made that ours lacks, where both sides have gone on.
    """

    remote: str
    stand: TrackedCommits
    lost: str | None
    unpushed: Unpushed | None
    apart_since: datetime | None


class ExchangeFailure(NamedTuple):
    """The reason why the last exchange failed, and the time of the first failure in a row."""

    error: WorkspaceError
    since: datetime


class TrackingStatus:
    """The tracking status of a workspace's branch. Safe in several threads.

    `failure` is set by who exchanges with the remote in this process, and None where that went well.
    """

    def __init__(self, workspace: Branch) -> None:
        self._workspace = workspace
        self._settings = os.path.join(workspace.git.common_dir, "config")
        self._lock = threading.Lock()
        self._seen: TrackedState | None = None
        self._chosen: tuple[object, str | None] = (None, None)
        self._alone: object = None  # the stamp of Git's settings in which there is no remote
        self._blocked: BlockedPaths | None = None
        self.failure: ExchangeFailure | None = None

    def look(self) -> TrackedState | None:
        """Return the state of both sides; None without a commit, without a remote, or if it was never seen.

        A remote that was never seen counts where it is to be pushed to without being asked.
        Raises DamagedRepository, ShallowHistory.
        """
        # Asked after every call, and most repositories have no remote.
        if self._alone is not None and self._stamp() == self._alone:
            return None
        return self._look(self._workspace.snapshot())

    def guard(self, snapshot: Snapshot, changes: Mapping[str, bytes | WholeEntry | None]) -> None:
        """Raise SyncConflict for changes to paths that both sides changed differently, until a decision."""
        if snapshot.commit is None or snapshot.commit != self._workspace.tip():
            return  # it is asked again with the tip
        seen = self._look(snapshot)
        if seen is None or seen.stand.state is not SyncState.DIVERGED:
            return
        theirs = self._workspace.snapshot(seen.stand.theirs)
        with self._lock:
            self._blocked = check_not_blocked(snapshot, theirs, changes, seen.remote, self._blocked)

    def remote(self) -> str | None:
        """Return the name of the default remote; None if there is none, or several."""
        return self._remote(self._workspace.snapshot(), self._workspace.branch)

    def _look(self, snapshot: Snapshot) -> TrackedState | None:
        branch, ours = self._workspace.branch, snapshot.commit
        name = self._remote(snapshot, branch)
        if branch is None or ours is None or name is None:
            return None
        git = self._workspace.git
        theirs = git.commit_at(tracking_ref(name, branch))
        lost = git.commit_at(lost_ref(name, branch))
        if theirs is None and lost is None and not snapshot.config.remote.is_automatic:
            return None
        with self._lock:
            last = self._seen
        is_like = last is not None and (last.remote, last.lost, last.stand.theirs) == (name, lost, theirs)
        if is_like and last is not None and last.stand.ours == ours:
            return last
        if is_like and last is not None:
            found = self._carried(last, ours) or self._found(name, ours, theirs, lost)
        else:
            found = self._found(name, ours, theirs, lost)
        with self._lock:
            self._seen = found
        return found

    def _remote(self, snapshot: Snapshot, branch: str | None) -> str | None:
        """Return the default remote; Git's settings are read again when their file has changed."""
        try:
            wanted = snapshot.config.remote.name
        except WorkspaceError:
            return None
        stamp = self._stamp()
        if stamp is None:
            return None
        key = (branch, wanted, stamp)
        with self._lock:
            known, name = self._chosen
        if known != key:
            alone: object = None
            try:
                name = chosen(self._workspace, wanted).name
            except NoRemote as error:
                name, alone = None, None if error.details["remotes"] else stamp
            except UnknownRemote:
                name = None
            with self._lock:
                self._chosen, self._alone = (key, name), alone
        return name

    def _stamp(self) -> tuple[int, int, int] | None:
        """Return the version of Git's settings; None if they cannot be read."""
        try:
            status = os.stat(self._settings)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _found(self, name: str, ours: str, theirs: str | None, lost: str | None) -> TrackedState:
        git = self._workspace.git
        stand = TrackedCommits(ours, theirs, compare_commits(git, ours, theirs, lost))
        unpushed = (
            None
            if stand.state in (SyncState.LEVEL, SyncState.BEHIND)
            else list_commits_ahead(git, ours, theirs)
        )
        behind = (
            list_commits_ahead(git, theirs, ours) if theirs and stand.state is SyncState.DIVERGED else None
        )
        return TrackedState(name, stand, lost, unpushed, behind.since if behind is not None else None)

    def _carried(self, last: TrackedState, ours: str) -> TrackedState | None:
        """Return the state after commits of ours with one parent each, or None."""
        if last.stand.ours is None or last.stand.state is SyncState.BEHIND:
            return None
        git = self._workspace.git
        times: list[int] = []
        for commit in walk_first_parents(git.commit, git.boundary, ours, most=_STEPS + 1):
            if commit.id == last.stand.ours:
                break
            if len(commit.parents) != 1:
                return None
            times.append(commit.committer.time)
        else:
            return None
        state = SyncState.AHEAD if last.stand.state is SyncState.LEVEL else last.stand.state
        before = last.unpushed or Unpushed(0, datetime.fromtimestamp(min(times), UTC))
        since = min(before.since, datetime.fromtimestamp(min(times), UTC))
        unpushed = Unpushed(before.commits + len(times), since, before.is_more)
        return last._replace(stand=TrackedCommits(ours, last.stand.theirs, state), unpushed=unpushed)
