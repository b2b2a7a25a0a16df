"""Periods: their units, bounds and limits."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from workspace.history.periods import MAX_PERIODS, PeriodUnit, split_into_periods


@pytest.mark.parametrize(
    ("days", "unit", "count"),
    [
        (0, PeriodUnit.DAY, 1),
        (30, PeriodUnit.DAY, 31),
        (31, PeriodUnit.WEEK, 6),
        (365, PeriodUnit.WEEK, 53),
        (5 * 365, PeriodUnit.MONTH, 60),
        (15 * 365, PeriodUnit.QUARTER, 60),
        (60 * 365, PeriodUnit.YEAR, 61),
    ],
)
def test_longer_time_has_longer_periods(days: int, unit: PeriodUnit, count: int) -> None:
    last_day = date(2026, 3, 31)
    periods = split_into_periods(last_day - timedelta(days), last_day)
    assert (periods.unit, len(periods.starts)) == (unit, count)
    assert periods.starts[0] <= last_day - timedelta(days) <= last_day < periods.end
    assert [time % 86_400 for time in periods.end_times] == [86_399] * count


def test_weeks_begin_on_monday() -> None:
    periods = split_into_periods(date(2026, 1, 1), date(2026, 1, 5), least_unit=PeriodUnit.WEEK)
    assert periods.starts == [date(2025, 12, 29), date(2026, 1, 5)]
    assert periods.end == date(2026, 1, 12)


def test_index_of_a_day_is_that_of_its_period() -> None:
    periods = split_into_periods(date(2026, 1, 1), date(2026, 1, 5), least_unit=PeriodUnit.WEEK)
    days = (date(2025, 12, 28), date(2026, 1, 4), date(2026, 1, 5), date(2026, 1, 12))
    assert [periods.find_index(day) for day in days] == [None, 0, 1, None]


def test_extreme_days_have_at_most_the_maximum_number_of_periods() -> None:
    assert len(split_into_periods(date(1, 1, 1), date(2026, 1, 1)).starts) == MAX_PERIODS
    assert split_into_periods(date(2027, 1, 1), date(2026, 1, 1)).starts == [date(2026, 1, 1)]
