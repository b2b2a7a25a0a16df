"""What a remote does not have yet, told from refs and commits that are here: the remote is not asked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from workspace.git.ancestry import Graph, commits_between
from workspace.sync.choosing import NoRemote, UnknownRemote, chosen
from workspace.sync.refs import tracking_ref

if TYPE_CHECKING:
    from workspace.git import GitReader
    from workspace.workspace import Workspace

LOOKED_AT = 2_000
"""Commits of the one side that are counted at most."""


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
    """The commits that one has and another has not, so many at most; None if there are none."""
    graph = Graph(git)
    found, is_more = commits_between(graph, ours, theirs, most=most)
    times = [time for id in found if (time := graph.time(id))]  # not those that a shallow clone lacks
    return Unpushed(len(times), datetime.fromtimestamp(min(times), UTC), is_more) if times else None
