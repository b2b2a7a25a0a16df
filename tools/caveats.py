"""Caveats of answers: unpushed commits, a diverged remote, and limits of a search.

They are added to the data of an answer. A text that a contract fixes stays unchanged.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from datetime import datetime

    from index.service import SearchPage
    from tools.tool import Answer, Data
    from workspace.sync.status import TrackedState, TrackingStatus
    from workspace.workspace import Workspace

_APART = {
    "diverged": "both sides have gone on; run docyard sync to join them, or to see what is in conflict",
    "rewound": "the remote branch was force-pushed; `docyard sync` lists the options",
}


def with_sync_status(answer: Answer, workspace: Workspace) -> Answer:
    """Return an answer with the sync status of the served branch, if there is something to report.

    `unpushed` is {commits, since}; `sync` is {state, since, error?}, if the branch differs from the remote's
    or the last exchange failed.
    """
    told: dict[str, Any] = {}
    with suppress(WorkspaceError):  # a branch that is gone, say: the answer itself tells
        told = sync_status_of(workspace)
    return replace(answer, data={**answer.data, **told}) if told else answer


def sync_status_of(workspace: Workspace) -> dict[str, Any]:
    """Return the fields `unpushed` and `sync`, if they apply. Raises DamagedRepository."""
    standing = workspace.standing()
    seen = standing.look()
    told: dict[str, Any] = {}
    if seen is not None and seen.unpushed is not None:
        told["unpushed"] = {"commits": seen.unpushed.commits, "since": _format_time(seen.unpushed.since)}
        if seen.unpushed.is_more:
            told["unpushed"]["more"] = True
    if apart := _describe_divergence(standing, seen):
        told["sync"] = apart
    return told


def _describe_divergence(standing: TrackingStatus, seen: TrackedState | None) -> dict[str, Any]:
    failure = standing.failure
    if seen is not None and seen.stand.state.value in _APART:
        state = seen.stand.state.value
        since = seen.apart_since or (seen.unpushed.since if seen.unpushed is not None else None)
        error = failure.error.message if failure is not None else _APART[state]
        return {"state": state, "since": _format_time(since) if since is not None else None, "error": error}
    if failure is not None:
        error = f"{failure.error.message}. {failure.error.fix}".strip()
        return {"state": "failed", "since": _format_time(failure.since), "error": error}
    return {}


def _format_time(time: datetime) -> str:
    return time.replace(microsecond=0).isoformat()


_SHOWN = 10


def search_caveats(page: SearchPage) -> Data:
    """Return hints about an incomplete search; none if it is complete.

    They report an index that is behind the branch, documents that Git could not read, and a quoted phrase
    that was not searched for to the end. The answer's own `commit` is that of the index.
    """
    data: Data = {}
    if page.stale:
        data["stale"] = True
    if page.unreadable:
        data["unreadable"] = list(page.unreadable[:_SHOWN])
        data["unreadable_total"] = len(page.unreadable)
    if page.partial:
        data["partial"] = True
    return data
