"""The limits of report rows depend on the size of the corpus, and are scaled by the speed of the machine."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.reports.reference_measurements import (
    LARGE,
    ReferenceMeasurement,
    compute_limit_factors,
    find_comparable_class_name,
    find_corpus_class,
)
from benchmarks.reports.report import format_report_table
from benchmarks.reports.report_rows import ReportRow, compute_report_rows, describe_run, select_measured_rows
from tests.benchmarks.results import make_complete_results


def find_row(results: dict[str, Any], name: str) -> ReportRow:
    (found_row,) = [
        row for rows in compute_report_rows(results).values() for row in rows if row.name.strip() == name
    ]
    return found_row


def test_every_row_of_a_complete_run_has_a_value_within_limit() -> None:
    rows = [row for group in compute_report_rows(make_complete_results()).values() for row in group]
    assert [row.name for row in rows if row.value is None] == []
    assert [row.name for row in rows if row.is_met is False] == []
    assert sum(row.is_met is True for row in rows) >= 19


def test_value_at_limit_is_met_and_above_is_missed() -> None:
    results = make_complete_results()
    results["edits"]["segments"] = 8
    assert find_row(results, "segments after 300 commits").is_met is True
    results["edits"]["segments"] = 9
    assert find_row(results, "segments after 300 commits").is_met is False


def test_95_of_100_identifiers_meet_the_limit_and_94_miss_it() -> None:
    results = make_complete_results()
    for first_count, is_met in ((95, True), (94, False)):
        results["known_items"]["identifiers"]["first"] = first_count
        assert find_row(results, "identifiers not found first, of 100").is_met is is_met


def test_unmeasured_row_neither_meets_nor_misses_its_limit() -> None:
    results = make_complete_results()
    del results["tantivy"], results["index"]
    row = find_row(results, "query p50 relative to tantivy, five fields")
    assert (row.value, row.is_met, row.limit) == (None, None, 1.0)
    assert "not measured" in format_report_table(compute_report_rows(results))
    assert "Building" not in select_measured_rows(compute_report_rows(results))
    assert "tantivy" not in find_row(results, "ten best hits of an OR query, warm, p50").comparison_values


def test_only_time_limits_grow_on_a_slower_machine() -> None:
    results = make_complete_results()
    results["fts5"] |= {"seconds": 1.0, "query": {"p50_ms": 5.0, "p95_ms": 16.0}}
    assert compute_limit_factors(results) == pytest.approx(
        {
            ReferenceMeasurement.BUILD: 4,
            ReferenceMeasurement.QUERY: 2,
            ReferenceMeasurement.QUERY_AND_BUILD: 8**0.5,
            ReferenceMeasurement.PING: 1,
            ReferenceMeasurement.CALL: 1,
        }
    )
    assert find_row(results, "ten best hits of an OR query, warm, p50").limit == pytest.approx(0.3)
    assert find_row(results, "full index from a commit, 1 process").limit == pytest.approx(4.8)
    assert find_row(results, "peak memory of the build").limit == 120
    assert find_row(results, "query p50 relative to FTS5").limit == 0.05
    assert find_row(results, "search_docs over stdio, first run, p50").limit == 2.5
    assert "query p50 of FTS5 2.00x" in describe_run(results)[-1]


def test_limits_do_not_shrink_on_a_faster_machine() -> None:
    results = make_complete_results()
    results["fts5"] |= {"seconds": 0.1, "query": {"p50_ms": 1.0, "p95_ms": 2.0}}
    assert set(compute_limit_factors(results).values()) == {1.0}
    assert find_row(results, "ten best hits of an OR query, warm, p50").limit == 0.15


def test_fts5_scales_no_limit_of_corpus_of_unusual_size() -> None:
    results = make_complete_results()
    results["corpus"]["sections"] = 3_000
    results["fts5"]["seconds"] = 10.0
    assert find_comparable_class_name(results) is None
    assert compute_limit_factors(results) == {ReferenceMeasurement.PING: 1.0, ReferenceMeasurement.CALL: 1.0}
    results["first_queries"]["minimal_server"]["first"]["p50_ms"] = 1.4
    assert find_row(results, "search_docs over stdio, first run, p50").limit == 5


def test_corpus_has_limits_of_smallest_fitting_class() -> None:
    results = make_complete_results()
    results["corpus"]["bytes"] = 7_000_001
    assert find_corpus_class(results) is LARGE
    assert find_row(results, "peak memory of the build").limit == 400
    results["corpus"]["bytes"] = 100_000_000
    assert find_corpus_class(results) is None
    assert find_row(results, "peak memory of the build").limit is None


def test_table_shows_scaled_limit_target_and_missed_rows() -> None:
    results = make_complete_results()
    results["fts5"]["query"] = {"p50_ms": 5.0, "p95_ms": 16.0}
    results["queries"]["top_ten"] = {"p50_ms": 0.4, "p95_ms": 0.5}
    table = format_report_table(compute_report_rows(results))
    (line,) = [line for line in table.splitlines() if "ten best hits of an OR query, warm, p50" in line]
    assert line.split()[-5:] == ["≤", "0.3", "ms", "(0.15)", "MISSED"]
    assert "5 (0.08x)" in line
