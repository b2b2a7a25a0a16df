"""How the served branch stands to its remote as it was last seen, told before and after every call.

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
from workspace.git.ancestry import Graph, commits_between, first_parents
from workspace.sync.branches import (
    NoRemote,
    Stand,
    State,
    UnknownRemote,
    chosen,
    lost_ref,
    state_of,
    tracking_ref,
)
from workspace.sync.conflicts import Blocked, check_free

if TYPE_CHECKING:
    from collections.abc import Mapping

    from workspace.branch import Branch
    from workspace.git.reader import GitReader
    from workspace.git.trees import Whole
    from workspace.snapshot.snapshot import Snapshot

LOOKED_AT = 2_000


"""Commits of the one side that are counted at most."""


class Unpushed(NamedTuple):
    """Commits of the served branch that the remote does not have, and when the first of them was made.

    `is_more`: there are more than so many, and `since` is of the earliest that was looked at.
    """

    commits: int
    since: datetime
    is_more: bool = False


def unpushed_of(workspace: Branch, remote: str | None = None) -> Unpushed | None:
    """What a remote lacks of the served branch, as it was last seen; None if nothing, or if there is none.

    The remote is the one that is named, or else the one that `sync` would take. Raises InvalidConfig.
    """
    branch, tip = workspace.branch, workspace.tip()
    if branch is None or tip is None:
        return None
    try:
        name = chosen(workspace, remote).name
    except (NoRemote, UnknownRemote):
        return None
    return ahead(workspace.git, tip, workspace.git.find_object(tracking_ref(name, branch)))


def ahead(git: GitReader, ours: str, theirs: str | None, *, most: int = LOOKED_AT) -> Unpushed | None:
    """Return the commits that one has and another has not, so many at most; None if there are none."""
    graph = Graph(git)
    found, is_more = commits_between(graph, ours, theirs, most=most)
    times = [time for id in found if (time := graph.time(id))]  # not those that a shallow clone lacks
    return Unpushed(len(times), datetime.fromtimestamp(min(times), UTC), is_more) if times else None


_STEPS = 64


"""Commits of ours that are carried over; a longer way is found out anew."""


class Seen(NamedTuple):
    """The served branch and that of a remote: where both are, and what the remote lacks.

    `apart_since` is when the first commit was made that ours lacks, where both sides have gone on.
    """

    remote: str
    stand: Stand
    lost: str | None
    unpushed: Unpushed | None
    apart_since: datetime | None


class Failure(NamedTuple):
    """Why the last exchange failed, and since when exchanges have failed."""

    error: WorkspaceError
    since: datetime


class Standing:
    """Looks at the refs of a workspace's branch. Safe in several threads.

    `failure` is set by who exchanges with the remote in this process, and None where that went well.
    """

    def __init__(self, workspace: Branch) -> None:
        self._workspace = workspace
        self._settings = os.path.join(workspace.git.common_dir, "config")
        self._lock = threading.Lock()
        self._seen: Seen | None = None
        self._chosen: tuple[object, str | None] = (None, None)
        self._alone: object = None  # the stamp of Git's settings in which there is no remote
        self._blocked: Blocked | None = None
        self.failure: Failure | None = None

    def look(self) -> Seen | None:
        """Return how both sides stand; None without a commit, without a remote, or if it was never seen.

        A remote that was never seen counts where it is to be pushed to without being asked.
        Raises DamagedRepository, ShallowHistory.
        """
        # Asked after every call, and most repositories have no remote.
        if self._alone is not None and self._stamp() == self._alone:
            return None
        return self._look(self._workspace.snapshot())

    def guard(self, snapshot: Snapshot, changes: Mapping[str, bytes | Whole | None]) -> None:
        """Raise SyncConflict for changes to what both sides changed differently, until that is decided."""
        if snapshot.commit is None or snapshot.commit != self._workspace.tip():
            return  # it is asked again with the tip
        seen = self._look(snapshot)
        if seen is None or seen.stand.state is not State.DIVERGED:
            return
        theirs = self._workspace.snapshot(seen.stand.theirs)
        with self._lock:
            self._blocked = check_free(snapshot, theirs, changes, seen.remote, self._blocked)

    def remote(self) -> str | None:
        """Return the name of the remote that is meant; None if there is none, or it cannot be told."""
        return self._remote(self._workspace.snapshot(), self._workspace.branch)

    def _look(self, snapshot: Snapshot) -> Seen | None:
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
        """Return the remote that is meant; Git's settings are read again when their file has changed."""
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
        """Return what tells one state of Git's settings from another; None if they cannot be read."""
        try:
            status = os.stat(self._settings)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _found(self, name: str, ours: str, theirs: str | None, lost: str | None) -> Seen:
        git = self._workspace.git
        stand = Stand(ours, theirs, state_of(git, ours, theirs, lost))
        unpushed = None if stand.state in (State.LEVEL, State.BEHIND) else ahead(git, ours, theirs)
        behind = ahead(git, theirs, ours) if theirs and stand.state is State.DIVERGED else None
        return Seen(name, stand, lost, unpushed, behind.since if behind is not None else None)

    def _carried(self, last: Seen, ours: str) -> Seen | None:
        """What holds still where ours has gone on by commits of one parent each; None if it does not."""
        if last.stand.ours is None or last.stand.state is State.BEHIND:
            return None
        git = self._workspace.git
        times: list[int] = []
        for commit in first_parents(git.commit, git.boundary, ours, most=_STEPS + 1):
            if commit.id == last.stand.ours:
                break
            if len(commit.parents) != 1:
                return None
            times.append(commit.committer.time)
        else:
            return None
        state = State.AHEAD if last.stand.state is State.LEVEL else last.stand.state
        before = last.unpushed or Unpushed(0, datetime.fromtimestamp(min(times), UTC))
        since = min(before.since, datetime.fromtimestamp(min(times), UTC))
        unpushed = Unpushed(before.commits + len(times), since, before.is_more)
        return last._replace(stand=Stand(ours, last.stand.theirs, state), unpushed=unpushed)
