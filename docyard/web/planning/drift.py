"""The page of drift: sections whose code changed after their text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tools.planning.view_drift import describe_gaps
from workspace.history.commits import describe_commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.history.commits import CommitInfo
    from workspace.history.drift import Drift

SECTIONS_PER_PAGE = 30
"""The number of sections on one page."""

_MAX_COMMITS = 5
_MAX_FILES = 4


class ChangeRow(NamedTuple):
    """A commit that changed covered files, and the first of these files."""

    info: CommitInfo
    files: Sequence[str]
    more_files: int


class DriftRow(NamedTuple):
    """A section with drift, and its newest commits."""

    drift: Drift
    changes: Sequence[ChangeRow]
    more_commits: int


def render_drift_page(request: PageRequest) -> Response:
    """Return a page of the sections with drift. Raises NoHistory for an artifact."""
    snapshot = request.snapshot
    report = request.workspace.drift_finder().find(snapshot)
    page = request.select_page(report.drifts, SECTIONS_PER_PAGE)
    return request.page(
        "drift.html",
        rows=[_build_row(request, drift) for drift in page.items],
        total=len(report.drifts),
        covered_count=report.covered_count,
        gaps=describe_gaps(report),
        page=page,
    )


def _build_row(request: PageRequest, drift: Drift) -> DriftRow:
    finder, git = request.workspace.drift_finder(), request.snapshot.git
    changes: list[ChangeRow] = []
    for change in drift.changes[:_MAX_COMMITS]:
        files = list(finder.list_changed_files(drift, change))
        info = describe_commit(git.commit(change.commit))
        changes.append(ChangeRow(info, files[:_MAX_FILES], max(0, len(files) - _MAX_FILES)))
    return DriftRow(drift, changes, max(0, len(drift.changes) - _MAX_COMMITS))
