"""What every answer says of the remote: which commits it lacks, and what keeps it apart.

It is said in the data of an answer. A text that a contract fixes stays as it is.

What a search must add to its answer where that is not the whole truth about the branch.
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
    "rewound": "the remote has no longer what it had; docyard sync says what can be done",
}


def with_standing(answer: Answer, workspace: Workspace) -> Answer:
    """An answer that says also how the served branch stands to its remote, where there is something to say.

    `unpushed` is {commits, since}; `sync` is {state, since, error?}, where the branch is apart from the
    remote's, or the last exchange failed.
    """
    told: dict[str, Any] = {}
    with suppress(WorkspaceError):  # a branch that is gone, say: the answer itself tells
        told = standing_of(workspace)
    return replace(answer, data={**answer.data, **told}) if told else answer


def standing_of(workspace: Workspace) -> dict[str, Any]:
    """Return the fields `unpushed` and `sync`, those of them that there are. Raises DamagedRepository."""
    standing = workspace.standing()
    seen = standing.look()
    told: dict[str, Any] = {}
    if seen is not None and seen.unpushed is not None:
        told["unpushed"] = {"commits": seen.unpushed.commits, "since": _moment(seen.unpushed.since)}
        if seen.unpushed.is_more:
            told["unpushed"]["more"] = True
    if apart := _apart(standing, seen):
        told["sync"] = apart
    return told


def _apart(standing: TrackingStatus, seen: TrackedState | None) -> dict[str, Any]:
    failure = standing.failure
    if seen is not None and seen.stand.state.value in _APART:
        state = seen.stand.state.value
        since = seen.apart_since or (seen.unpushed.since if seen.unpushed is not None else None)
        error = failure.error.message if failure is not None else _APART[state]
        return {"state": state, "since": _moment(since) if since is not None else None, "error": error}
    if failure is not None:
        error = f"{failure.error.message}. {failure.error.fix}".strip()
        return {"state": "failed", "since": _moment(failure.since), "error": error}
    return {}


def _moment(time: datetime) -> str:
    return time.replace(microsecond=0).isoformat()


_SHOWN = 10


def reservations(page: SearchPage) -> Data:
    """Say that the index is behind the branch, which documents Git could not read, and that a quoted phrase
    was not looked for to the end; else nothing.

    The answer's own `commit` says for which commit the index stands.
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
