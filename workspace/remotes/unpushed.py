"""What a remote does not have yet, told from refs and commits that are here: the remote is not asked."""

from __future__ import annotations

import heapq
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from workspace.remotes.choosing import NoRemote, UnknownRemote, chosen
from workspace.remotes.refs import tracking_ref

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.workspace import Workspace

LOOKED_AT = 2_000
"""Commits that are read at most."""

_CLOCKS = 86_400  # seconds by which the clocks of those who commit may differ
_OURS, _THEIRS = 1, 2


class Unpushed(NamedTuple):
    """Commits of the served branch that the remote does not have, and when the first of them was made.

    `is_more`: there are more than so many, and `since` is of the earliest that was looked at.
    """

    commits: int
    since: datetime
    is_more: bool = False


def unpushed_of(workspace: Workspace, remote: str | None = None) -> Unpushed | None:
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
    """The commits that one has and another has not; None if there are none.

    The youngest are read first (git: commit-reach.c), and the search ends a day below the last that counts.
    """
    if ours == theirs:
        return None
    reached: dict[str, int] = {}
    times: dict[str, int] = {}
    waiting: list[tuple[int, str]] = []

    def reach(id: str, by: int) -> None:
        if reached.get(id, 0) | by == reached.get(id, 0):
            return
        if id not in times:
            times[id] = git.commit(id).committer.time
        reached[id] = reached.get(id, 0) | by
        heapq.heappush(waiting, (-times[id], id))

    reach(ours, _OURS)
    if theirs is not None:
        reach(theirs, _THEIRS)
    oldest, boundary = times[ours], git.boundary()
    open_ours = {ours} if reached[ours] == _OURS else set()
    while waiting and len(times) < most:
        if not open_ours and -waiting[0][0] < oldest - _CLOCKS:
            break
        _, id = heapq.heappop(waiting)
        open_ours.discard(id)
        for parent in () if id in boundary else git.commit(id).parents:
            reach(parent, reached[id])
            if reached[parent] == _OURS:
                open_ours.add(parent)
                oldest = min(oldest, times[parent])
            else:
                open_ours.discard(parent)
    counted = [times[id] for id, by in reached.items() if by == _OURS]
    if not counted:
        return None
    return Unpushed(len(counted), datetime.fromtimestamp(min(counted), UTC), bool(open_ours))
