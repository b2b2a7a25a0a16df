"""The page of statistics over time."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from docyard.web.growth import describe_progress
from docyard.web.statistics.statistics import (
    build_documents,
    build_merge_times,
    build_review_times,
    build_searches,
    build_tasks,
)
from workspace.errors import WorkspaceError
from workspace.history.growth import GrowthProgress

if TYPE_CHECKING:
    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from docyard.web.statistics.statistics import Statistic

PERIODS = {"month": ("30 days", 30), "year": ("1 year", 365), "all": ("All", None)}
"""The times that the page offers: their labels, and their days up to today."""

_DEFAULT_PERIOD = "year"
_RELOAD_INTERVAL_S = 3


def render_statistics_page(request: PageRequest) -> Response:
    """Return the page, or one that says that the history is being counted. Raises NoHistory for an artifact.

    A page of an earlier commit has its history; proposals and searches are those of now.
    """
    name = request.query.get("period", "")
    name = name if name in PERIODS else _DEFAULT_PERIOD
    day_count = PERIODS[name][1]
    today = datetime.now(UTC).date()
    since = None if day_count is None else today - timedelta(day_count)
    growth = request.site.growth_counts.get(
        request.workspace, request.snapshot, since, request.site.background
    )
    periods = {value: label for value, (label, _) in PERIODS.items()}
    if isinstance(growth, GrowthProgress):
        response = request.page(
            "statistics.html", periods=periods, period=name, progress=describe_progress(growth), statistics=()
        )
        response.headers["Refresh"] = str(_RELOAD_INTERVAL_S)
        return response
    first_day = since or growth.periods.starts[0]
    times = request.workspace.review_times(request.proposals)
    statistics = [
        build_documents(growth),
        build_tasks(growth),
        build_review_times(times, first_day, today),
        build_merge_times(times, first_day, today),
    ]
    searches = _build_searches(request, first_day, today)
    return request.page(
        "statistics.html",
        periods=periods,
        period=name,
        progress=None,
        statistics=statistics if searches is None else [*statistics, searches],
        is_complete=growth.is_complete,
        first_day=growth.periods.starts[0],
    )


def _build_searches(request: PageRequest, first_day: date, today: date) -> Statistic | None:
    """Return the statistic of searches; None if the caller may not see it, or it cannot be read now."""
    read_searches = request.site.read_searches
    if read_searches is None or not request.may_see_records:
        return None
    try:
        return build_searches(read_searches(first_day, today), first_day, today)
    except WorkspaceError:  # the page of records shows the error
        return None
