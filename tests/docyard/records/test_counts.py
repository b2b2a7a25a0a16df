"""The counts are the sums of the recorded searches after every change; old records are deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from docyard.database.database import Database
from docyard.database.ids import read_clock_ms
from docyard.database.tables import SEARCH_COUNTS, SEARCH_QUERIES, TERM_COUNTS, TERM_TOTALS, TOOL_CALLS
from docyard.records import retention
from docyard.records.counts import (
    DAY_MS,
    HOUR_MS,
    NO_BOUND_MS,
    compute_digest,
    list_terms,
    select_bucket,
)
from docyard.records.recorder import Recorder
from docyard.records.retention import Retention, delete_records_before
from docyard.records.rows import RecordTarget
from tests.docyard.records.conftest import make_search, observe, read_searches


def check_counts(database: Database) -> None:
    """Compare the counts with sums of the recorded searches, computed the obvious way."""
    searches: Counter[Any] = Counter()
    empty: Counter[Any] = Counter()
    days: Counter[Any] = Counter()
    with database.connect() as connection:
        for row in connection.execute(select(SEARCH_QUERIES)).mappings():
            namespace = row["namespace_id"] if row["namespace_count"] == 1 else ""
            for unit, length in (("hour", HOUR_MS), ("day", DAY_MS)):
                start = row["created_at"] - row["created_at"] % length
                key = (row["mcp_server_id"], namespace, unit, start, select_bucket(row["response_time_ms"]))
                searches[key] += 1
                empty[key] += row["result_count"] == 0
            for kind, text in list_terms(row):
                day = row["created_at"] - row["created_at"] % DAY_MS
                days[kind, namespace, compute_digest(text), day] += 1
        stored = connection.execute(select(SEARCH_COUNTS)).all()
        assert {tuple(row[1:6]): row.searches for row in stored} == searches
        assert {tuple(row[1:6]): row.empty_searches for row in stored} == empty
        stored = connection.execute(select(TERM_COUNTS)).all()
        assert {(row.kind, row.namespace_id, row.digest, row.day): row.searches for row in stored} == days
        totals: Counter[Any] = Counter()
        for (kind, namespace, digest, _), count in days.items():
            totals[kind, namespace, digest] += count
        stored = connection.execute(select(TERM_TOTALS)).all()
        assert {(row.kind, row.namespace_id, row.digest): row.searches for row in stored} == totals


def record_at(
    recorder: Recorder, target: RecordTarget, monkeypatch: pytest.MonkeyPatch, time_ms: int, **fields: Any
) -> None:
    monkeypatch.setattr("docyard.records.recorder.read_clock_ms", lambda: time_ms)
    observe(recorder, target, make_search(**fields))


@pytest.fixture
def old_records(
    target: RecordTarget, build_recorder: Callable[..., Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = build_recorder()
    now = read_clock_ms()
    for day in (0, 1, 10, 100, 200):
        time = now - day * DAY_MS - HOUR_MS
        record_at(recorder, target, monkeypatch, time, query="Again", duration_ms=day * 20.0)
        record_at(recorder, target, monkeypatch, time, query=f"day {day}", result_counts={"guides": 0})
        record_at(
            recorder,
            target,
            monkeypatch,
            time,
            query="everywhere zebra",
            result_counts={"guides": 0, "api": 0},
            missing_words=("zebra",),
        )
    assert recorder._work()


@pytest.mark.usefixtures("old_records")
def test_counts_are_sums_before_and_after_old_records_are_deleted(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The recorder has already deleted what is older than its 90 days.
    assert len(read_searches(database)) == 9
    check_counts(database)
    monkeypatch.setattr(retention, "BATCH_ROWS", 2)
    deleted_counts = []
    while True:
        with database.begin() as connection:
            count = delete_records_before(connection, read_clock_ms() - 5 * DAY_MS)
        check_counts(database)
        if not count:
            break
        deleted_counts.append(count)
    assert deleted_counts == [4, 2]  # searches and calls
    assert len(read_searches(database)) == 6
    with database.begin() as connection:
        while delete_records_before(connection, read_clock_ms() + DAY_MS):
            pass
    with database.connect() as connection:
        for table in (SEARCH_COUNTS, TERM_COUNTS, TERM_TOTALS, SEARCH_QUERIES, TOOL_CALLS):
            assert connection.execute(select(table)).all() == []


@pytest.mark.usefixtures("old_records")
def test_clock_that_jumps_forwards_deletes_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rule = Retention(90)
    monkeypatch.setattr(retention, "read_clock_ms", lambda: read_clock_ms() + 1_000 * DAY_MS)
    for _ in range(2):
        with database.begin() as connection:
            assert rule.delete_batch(connection) == 0
    assert not rule.is_due
    assert len(read_searches(database)) == 9
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("time_ms", "bound"), [(0, 1), (1, 2), (4, 5), (5, 8), (9_999, 10_000), (10_000, NO_BOUND_MS)]
)
def test_bucket_contains_times_below_its_bound(time_ms: int, bound: int) -> None:
    assert select_bucket(time_ms) == bound
