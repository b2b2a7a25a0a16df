"""Statistics as charts, tables and data: their periods, units, spreads, and files that stand alone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from xml.etree import ElementTree

import pytest

from docyard.web.charts import ChartValue, build_chart, render_svg_file
from docyard.web.statistics.statistics import (
    build_documents,
    build_merge_times,
    build_review_times,
    build_searches,
    build_tasks,
    format_duration,
    format_period,
    summarize_durations,
)
from workspace.history.growth import DocumentCounts, Growth
from workspace.history.periods import PeriodUnit, split_into_periods
from workspace.proposals.review_times import ReviewTimes

FIRST_DAY, LAST_DAY = date(2026, 1, 1), date(2026, 3, 1)
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>"


def make_growth(*counts: DocumentCounts) -> Growth:
    periods = split_into_periods(FIRST_DAY, FIRST_DAY + timedelta(len(counts) - 1))
    return Growth(periods, counts, [None] * len(counts), "")


def make_times(hours: float, merge_hours: float | None = None, opened_at: datetime = NOON) -> ReviewTimes:
    merged_at = None if merge_hours is None else opened_at + timedelta(hours=merge_hours)
    return ReviewTimes("k7m2q9xa", opened_at, opened_at + timedelta(hours=hours), merged_at)


def test_documents_and_tasks_have_a_row_for_each_period() -> None:
    growth = make_growth(DocumentCounts(1_000, 2, 0), DocumentCounts(1_200, 1, 3, 1))
    documents, tasks = build_documents(growth), build_tasks(growth)
    assert documents.rows == [("1 Jan 2026", "1,000"), ("2 Jan 2026", "1,200")]
    assert documents.data[1] == {"start": "2026-01-02", "documents": 1_200}
    assert documents.chart.description == "1,200 documents now; 1,000 at the end of the first day."
    assert tasks.rows == [("1 Jan 2026", "2", "0"), ("2 Jan 2026", "1", "3")]
    assert tasks.data[1] == {"start": "2026-01-02", "open": 1, "done": 3}
    assert "The tasks of 1 document could not be read." in tasks.chart.description
    assert build_tasks(make_growth(DocumentCounts(1))).is_empty


def test_review_times_are_summarized_by_the_week_in_which_they_ended() -> None:
    times = [make_times(hours) for hours in (1, 2, 3, 4, 5)] + [
        make_times(30, opened_at=NOON + timedelta(14))
    ]
    reviews = build_review_times(times, FIRST_DAY, LAST_DAY)
    assert reviews.unit is PeriodUnit.WEEK
    assert reviews.rows == [
        ("5 Jan 2026", "5", "2 h", "3 h", "4 h"),
        ("19 Jan 2026", "1", "30 h", "30 h", "30 h"),
    ]
    assert reviews.data[0]["median_seconds"] == 3 * 3_600
    first, second, *_ = (bar for bar in reviews.chart.bars if bar.mark_y is not None)
    assert first.mark_y is not None
    assert first.y < first.mark_y < first.y + first.height
    assert second.height == 0, "the median alone is drawn"


def test_merge_times_leave_out_what_is_not_merged_or_too_old() -> None:
    times = [make_times(1), make_times(1, 48), make_times(1, 1, opened_at=NOON - timedelta(100))]
    merges = build_merge_times(times, FIRST_DAY, LAST_DAY)
    assert merges.rows == [("5 Jan 2026", "1", "48 h", "48 h", "48 h")]
    assert merges.chart.description.startswith("The median of 1 merge is 48 h.")
    assert build_merge_times([], FIRST_DAY, LAST_DAY).is_empty


def test_immediate_review_counts() -> None:
    reviews = build_review_times([make_times(0)], FIRST_DAY, LAST_DAY)
    assert reviews.rows == [("5 Jan 2026", "1", "0 min", "0 min", "0 min")]


def test_searches_of_days_are_summed_by_period() -> None:
    searches = {date(2025, 12, 1): (9, 9), date(2026, 1, 6): (5, 1), date(2026, 1, 11): (2, 2)}
    statistic = build_searches(searches, FIRST_DAY, LAST_DAY)
    assert statistic.unit is PeriodUnit.WEEK
    assert statistic.rows[:2] == [("29 Dec 2025", "0", "0"), ("5 Jan 2026", "7", "3")]
    assert statistic.chart.bars[1].part_height > 0
    assert build_searches({}, FIRST_DAY, LAST_DAY).is_empty


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 min"), (90, "2 min"), (7_200, "2 h"), (16_200, "4.5 h"), (259_200, "3 d"), (1e9, "11,574.1 d")],
)
def test_duration_has_a_fitting_unit(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_spread_of_one_duration_is_the_duration() -> None:
    assert summarize_durations([timedelta(hours=1)]) == (1, 3_600, 3_600, 3_600)


def test_periods_have_names() -> None:
    names = [format_period(unit, date(2026, 4, 6)) for unit in PeriodUnit]
    assert names == ["6 Apr 2026", "6 Apr 2026", "Apr 2026", "Q2 2026", "2026"]


def test_svg_file_is_complete_and_escapes_texts() -> None:
    values = [ChartValue(f"{HOSTILE} {number}", number, number / 2, mark=number) for number in range(3)]
    data = render_svg_file(build_chart("x", HOSTILE, f"{HOSTILE} \ud800", values, " h"))
    root = ElementTree.fromstring(data)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names <= {"svg", "title", "desc", "style", "rect", "text", "g", "line"}
    assert root.findtext("{http://www.w3.org/2000/svg}title") == HOSTILE
    assert b"url(" not in data
    assert b"http" not in data.replace(b'xmlns="http://www.w3.org/2000/svg"', b"")


def test_many_bars_are_lines_of_the_same_size() -> None:
    values = [ChartValue(str(number), number, number / 2) for number in range(32)]
    values += [ChartValue(str(number), 8, low=4, mark=6) for number in range(32)]
    chart = build_chart("x", "X", "", values)
    assert not chart.has_titled_bars
    assert build_chart("x", "X", "", values[:31]).has_titled_bars
    bars, ranges, parts, marks = chart.paths
    assert [path.css_class for path in chart.paths] == ["bar-all", "bar-all range", "bar-part", "mark"]
    assert (len(read_lines(bars.data)), len(read_lines(parts.data))) == (31, 31), "a bar of 0 has no height"
    assert (len(read_lines(ranges.data)), marks.data.count("h")) == (32, 32)
    for bar, (x, bottom, top) in zip(chart.bars[1:32], read_lines(bars.data), strict=True):
        assert x == pytest.approx(bar.x + bars.line_width / 2, abs=0.1)
        assert (bottom, top) == pytest.approx((bar.y + bar.height, bar.y), abs=0.1)


def read_lines(data: str) -> list[tuple[float, ...]]:
    """Return the horizontal position, the bottom and the top of each line of a path."""
    return [tuple(map(float, line)) for line in re.findall(r"M([0-9.]+) ([0-9.]+)V([0-9.]+)", data)]
