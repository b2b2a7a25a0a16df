"""Caveats of answers: unpushed commits, a diverged remote, and limits of a search.

Caveats are added to an answer's data, not to a text whose form a contract fixes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from datetime import datetime

    from index.service import SearchPage
    from index.vectors.vector_index import EmbeddingReport
    from tools.tool import Answer, Data
    from workspace.sync.status import TrackedState, TrackingStatus
    from workspace.workspace import Workspace

_DIVERGENCE_NOTES = {
    "diverged": "both branches have new commits; run `docyard sync` to merge them or to see the conflicts",
    "rewound": "the remote branch was force-pushed; `docyard sync` lists the options",
}


def add_sync_status(answer: Answer, workspace: Workspace) -> Answer:
    """Return an answer with the sync status of the served branch, if it is not up to date.

    `unpushed` is {commits, since}. `sync` is {state, since, error?}, if the branch differs from the remote
    branch or the last synchronization failed.
    """
    fields: dict[str, Any] = {}
    with suppress(WorkspaceError):  # such as a missing branch, which the answer itself reports
        fields = build_sync_fields(workspace)
    return replace(answer, data={**answer.data, **fields}) if fields else answer


def build_sync_fields(workspace: Workspace) -> dict[str, Any]:
    """Return the fields `unpushed` and `sync`, if they apply. Raises DamagedRepository."""
    status = workspace.sync_status()
    tracked_state = status.read()
    fields: dict[str, Any] = {}
    if tracked_state is not None and tracked_state.unpushed is not None:
        fields["unpushed"] = {
            "commits": tracked_state.unpushed.commit_count,
            "since": _format_time(tracked_state.unpushed.since),
        }
        if tracked_state.unpushed.has_more:
            fields["unpushed"]["more"] = True
    if divergence := _describe_divergence(status, tracked_state):
        fields["sync"] = divergence
    return fields


def _describe_divergence(status: TrackingStatus, tracked_state: TrackedState | None) -> dict[str, Any]:
    failure = status.failure
    if tracked_state is not None and tracked_state.tracked.state.value in _DIVERGENCE_NOTES:
        state = tracked_state.tracked.state.value
        since = tracked_state.diverged_since or (
            tracked_state.unpushed.since if tracked_state.unpushed is not None else None
        )
        error = failure.error.message if failure is not None else _DIVERGENCE_NOTES[state]
        return {"state": state, "since": _format_time(since) if since is not None else None, "error": error}
    if failure is not None:
        error = f"{failure.error.message}. {failure.error.fix}".strip()
        return {"state": "failed", "since": _format_time(failure.since), "error": error}
    return {}


def _format_time(time: datetime) -> str:
    return time.replace(microsecond=0).isoformat()


_MAX_UNREADABLE_PATHS = 10


def describe_search_caveats(page: SearchPage) -> Data:
    """Return the fields that report an incomplete search or a gap in the documents; empty without these.

    `missing_words`: words of the query that no section contains.
    `stale`: the index is behind the branch. `unreadable`: documents that Git could not read. `partial`: the
    search for a quoted phrase stopped early. `query_notes`: parts of the query that are not valid operators.
    `search_type`: the type of the search, with a provider of vectors. `embedding`: why it was not used.
    The answer's `commit` is that of the index.
    """
    data: Data = {}
    if page.missing_words:
        data["missing_words"] = list(page.missing_words)
    if page.is_stale:
        data["stale"] = True
    if page.unreadable:
        data["unreadable"] = list(page.unreadable[:_MAX_UNREADABLE_PATHS])
        data["unreadable_total"] = len(page.unreadable)
    if page.is_partial:
        data["partial"] = True
    if page.notes:
        data["query_notes"] = list(page.notes)
    if page.embedding is not None:
        data["search_type"] = page.search_type
        if page.embedding.note is not None:
            data["embedding"] = describe_embedding(page.embedding)
    return data


def describe_embedding(report: EmbeddingReport) -> Data:
    """Return the reason why words alone decided, and how many sections have a vector."""
    coverage = report.coverage
    return {"note": report.note, "sections_with_vector": coverage.covered, "sections": coverage.total}
