"""Each statistic as a chart, a table and data: documents, tasks, times of reviews and merges, searches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from enum import StrEnum
from statistics import quantiles
from typing import TYPE_CHECKING, Any, NamedTuple

from docyard.web.charts import ChartValue, build_chart
from docyard.web.templates import format_count
from workspace.history.periods import Periods, PeriodUnit, split_into_periods

if TYPE_CHECKING:
    from docyard.web.charts import Chart
    from workspace.history.growth import Growth
    from workspace.proposals.review_times import ReviewTimes

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_UNITS = ((_DAY_S, "d", 72 * _HOUR_S), (_HOUR_S, "h", 2 * _HOUR_S), (_MINUTE_S, "min", 0))
"""The units of durations: their seconds, their signs, and the least duration for which each is used."""

SearchCounts = Mapping[date, tuple[int, int]]
"""The searches of days, and those of them that found nothing."""


class StatisticKind(StrEnum):
    """The kinds of statistics, in their order on the page."""

    DOCUMENTS = "documents"
    TASKS = "tasks"
    REVIEWS = "reviews"
    MERGES = "merges"
    SEARCHES = "searches"


class Statistic(NamedTuple):
    """A statistic: its chart, its table by period, and the same values as data.

    `is_empty` is True if there is nothing to draw.
    """

    kind: StatisticKind
    unit: PeriodUnit
    chart: Chart
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    data: Sequence[Mapping[str, Any]]
    is_empty: bool


class Spread(NamedTuple):
    """The number of some durations, and their quartiles in seconds."""

    number: int
    first_quartile: float
    median: float
    third_quartile: float


def build_documents(growth: Growth) -> Statistic:
    """Return the statistic of documents."""
    counts = [item.documents for item in growth.counts]
    return _build_counts(
        StatisticKind.DOCUMENTS,
        "Documents",
        f"{format_count(counts[-1], 'document')} now; {counts[0]:,} at the end of the first "
        f"{growth.periods.unit}.",
        growth.periods,
        ("Documents",),
        [(count,) for count in counts],
    )


def build_tasks(growth: Growth) -> Statistic:
    """Return the statistic of open tasks; its table also has the done ones."""
    counts = [(item.open_tasks, item.done_tasks) for item in growth.counts]
    now = growth.counts[-1]
    unread = (
        f" The tasks of {format_count(now.unreadable_documents, 'document')} could not be read."
        if now.unreadable_documents
        else ""
    )
    return _build_counts(
        StatisticKind.TASKS,
        "Open tasks",
        f"{format_count(now.open_tasks, 'open task')} and {now.done_tasks:,} done now; "
        f"{counts[0][0]:,} open at the end of the first {growth.periods.unit}.{unread}",
        growth.periods,
        ("Open", "Done"),
        counts,
    )


def build_searches(searches: SearchCounts, first_day: date, last_day: date) -> Statistic:
    """Return the statistic of recorded searches; those that found nothing are marked."""
    periods = split_into_periods(max(first_day, min(searches, default=first_day)), last_day)
    totals = [[0, 0] for _ in periods.starts]
    for day, counts in searches.items():
        index = periods.find_index(day)
        if index is not None:
            totals[index] = [left + right for left, right in zip(totals[index], counts, strict=True)]
    total, empty_total = (sum(row[column] for row in totals) for column in (0, 1))
    return _build_counts(
        StatisticKind.SEARCHES,
        "Searches",
        f"{format_count(total, 'search', 'searches')}, of which {empty_total:,} found nothing.",
        periods,
        ("Searches", "Found nothing"),
        totals,
        marks_second=True,
    )


def build_review_times(times: Iterable[ReviewTimes], first_day: date, last_day: date) -> Statistic:
    """Return the statistic of the times from the opening of proposals to their first reviews."""
    return _build_durations(
        StatisticKind.REVIEWS,
        "Time to the first review",
        "first reviews",
        [(item.first_review_at.date(), item.time_to_review) for item in times if item.first_review_at],
        first_day,
        last_day,
    )


def build_merge_times(times: Iterable[ReviewTimes], first_day: date, last_day: date) -> Statistic:
    """Return the statistic of the times from the opening of proposals to their merges."""
    return _build_durations(
        StatisticKind.MERGES,
        "Time to the merge",
        "merges",
        [(item.merged_at.date(), item.time_to_merge) for item in times if item.merged_at],
        first_day,
        last_day,
    )


def summarize_durations(durations: Sequence[timedelta]) -> Spread:
    """Return the spread of at least one duration."""
    seconds = [duration.total_seconds() for duration in durations]
    quartiles = quantiles(seconds, n=4, method="inclusive") if len(seconds) > 1 else seconds * 3
    return Spread(len(seconds), *quartiles)


def format_duration(seconds: float) -> str:
    """Return a duration as text: "35 min", "4.5 h", "3.2 d"."""
    unit_s, sign = _select_unit(seconds)
    return f"{round(seconds / unit_s, 0 if unit_s == _MINUTE_S else 1):,g} {sign}"


def format_period(unit: PeriodUnit, start: date) -> str:
    """Return the name of a period: "3 Mar 2026" for a day or a week, "Mar 2026", "Q1 2026", "2026"."""
    match unit:
        case PeriodUnit.MONTH:
            return f"{start:%b} {start.year}"
        case PeriodUnit.QUARTER:
            return f"Q{(start.month + 2) // 3} {start.year}"
        case PeriodUnit.YEAR:
            return str(start.year)
    return f"{start.day} {start:%b} {start.year}"


def _build_counts(
    kind: StatisticKind,
    title: str,
    description: str,
    periods: Periods,
    columns: Sequence[str],
    counts: Sequence[Sequence[int]],
    *,
    marks_second: bool = False,
) -> Statistic:
    labels = [format_period(periods.unit, start) for start in periods.starts]
    values = [
        ChartValue(label, row[0], row[1] if marks_second else 0)
        for label, row in zip(labels, counts, strict=True)
    ]
    keys = [column.lower().replace(" ", "_") for column in columns]
    return Statistic(
        kind,
        periods.unit,
        build_chart(kind, title, description, values),
        columns,
        [(label, *(f"{count:,}" for count in row)) for label, row in zip(labels, counts, strict=True)],
        [
            {"start": start.isoformat(), **dict(zip(keys, row, strict=True))}
            for start, row in zip(periods.starts, counts, strict=True)
        ],
        not any(row[0] for row in counts),
    )


def _build_durations(
    kind: StatisticKind,
    title: str,
    noun: str,
    durations: Sequence[tuple[date, timedelta | None]],
    first_day: date,
    last_day: date,
) -> Statistic:
    """Return the statistic of durations by the week, or longer period, in which they ended."""
    known = [
        (day, duration)
        for day, duration in durations
        if duration is not None and first_day <= day <= last_day
    ]
    first_used_day = max(first_day, min((day for day, _ in known), default=last_day))
    periods = split_into_periods(first_used_day, last_day, least_unit=PeriodUnit.WEEK)
    by_period: list[list[timedelta]] = [[] for _ in periods.starts]
    for day, duration in known:
        index = periods.find_index(day)
        if index is not None:
            by_period[index].append(duration)
    spreads = [summarize_durations(items) if items else None for items in by_period]
    unit_s, sign = _select_unit(max((spread.third_quartile for spread in spreads if spread), default=0))
    labels = [format_period(periods.unit, start) for start in periods.starts]
    values = [
        ChartValue(label, 0)
        if spread is None
        else ChartValue(
            label,
            spread.third_quartile / unit_s,
            low=spread.first_quartile / unit_s,
            mark=spread.median / unit_s,
            tooltip=f"{label}: median {format_duration(spread.median)} of {spread.number:,} {noun}",
        )
        for label, spread in zip(labels, spreads, strict=True)
    ]
    return Statistic(
        kind,
        periods.unit,
        build_chart(kind, title, _describe_durations([item for _, item in known], noun), values, f" {sign}"),
        ("Number", "First quartile", "Median", "Third quartile"),
        [
            (label, f"{spread.number:,}", *map(format_duration, spread[1:]))
            for label, spread in zip(labels, spreads, strict=True)
            if spread is not None
        ],
        [
            {
                "start": start.isoformat(),
                "count": spread.number,
                "first_quartile_seconds": round(spread.first_quartile),
                "median_seconds": round(spread.median),
                "third_quartile_seconds": round(spread.third_quartile),
            }
            for start, spread in zip(periods.starts, spreads, strict=True)
            if spread is not None
        ],
        not known,
    )


def _describe_durations(durations: Sequence[timedelta], noun: str) -> str:
    if not durations:
        return f"No {noun} in this time."
    spread = summarize_durations(durations)
    return (
        f"The median of {spread.number:,} {noun if spread.number > 1 else noun.removesuffix('s')} is "
        f"{format_duration(spread.median)}. A bar spans the middle half, and its line is the median."
    )


def _select_unit(seconds: float) -> tuple[int, str]:
    """Return the unit of a duration: its seconds and its sign."""
    return next((unit_s, sign) for unit_s, sign, least in _UNITS if seconds >= least)
