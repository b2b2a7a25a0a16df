"""Days, weeks, months, quarters or years (UTC) that together cover a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

MAX_PERIODS = 80
"""The maximum number of periods; a longer time has longer periods."""

_MAX_DAYS = 31  # longer times have weeks


class PeriodUnit(StrEnum):
    """The length of the periods."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


class Periods(NamedTuple):
    """Consecutive periods of one unit by their first days. The last period ends before the day `end`."""

    unit: PeriodUnit
    starts: Sequence[date]
    end: date

    @property
    def end_times(self) -> list[int]:
        """The last second of each period, in seconds since 1970."""
        return [int(to_datetime(day).timestamp()) - 1 for day in (*self.starts[1:], self.end)]

    def find_index(self, day: date) -> int | None:
        """Return the index of the period that contains a day, or None."""
        return bisect_right(self.starts, day) - 1 if self.starts[0] <= day < self.end else None


def split_into_periods(
    first_day: date, last_day: date, *, least_unit: PeriodUnit = PeriodUnit.DAY
) -> Periods:
    """Return the periods from `first_day` to `last_day`: 31 days, or 80 longer periods at most.

    Weeks begin on Monday. A time of more than 80 years has its last 80 years.
    """
    first_day = min(first_day, last_day)
    units = list(PeriodUnit)
    for unit in units[units.index(least_unit) :]:
        *starts, end = _iterate_starts(unit, max(first_day, _subtract_years(last_day)), last_day)
        if len(starts) <= (_MAX_DAYS if unit is PeriodUnit.DAY else MAX_PERIODS):
            return Periods(unit, starts, end)
    raise AssertionError("80 years are 80 periods")


def to_datetime(day: date) -> datetime:
    """Return the first moment of a day (UTC)."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _subtract_years(day: date) -> date:
    return date(max(day.year - MAX_PERIODS + 1, 1), 1, 1)


def _iterate_starts(unit: PeriodUnit, first_day: date, last_day: date) -> Iterator[date]:
    """Yield the first days of the periods, and the day after the last period."""
    if unit in (PeriodUnit.DAY, PeriodUnit.WEEK):
        length = timedelta(1 if unit is PeriodUnit.DAY else 7)
        start = first_day if unit is PeriodUnit.DAY else first_day - timedelta(first_day.weekday())
        while start <= last_day:
            yield start
            start += length
        yield start
        return
    months = {PeriodUnit.MONTH: 1, PeriodUnit.QUARTER: 3, PeriodUnit.YEAR: 12}[unit]
    number = (first_day.year * 12 + first_day.month - 1) // months * months
    while True:
        start = date(number // 12, number % 12 + 1, 1)
        yield start
        if start > last_day:
            return
        number += months
