"""The measured part of benchmarks/RESULTS.md is written from stored results; other text does not change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.reports.page import (
    BEGIN_MARKER,
    END_MARKER,
    PAGE,
    MissingMarkers,
    format_nodes,
    replace_measured_part,
    store_results,
    write_page,
)
from tests.benchmarks.results import make_complete_results

PAGE_TEXT = f"# Performance\n\nBefore.\n\n{BEGIN_MARKER}\n\nold\n\n{END_MARKER}\n\nAfter.\n"


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    file = tmp_path / "RESULTS.md"
    file.write_text(PAGE_TEXT)
    return file


def test_results_page_has_both_markers() -> None:
    text = PAGE.read_text()
    assert replace_measured_part(text, "x").count("\n\nx\n\n") == 1


def test_only_text_between_markers_changes(page_file: Path, tmp_path: Path) -> None:
    store_results(make_complete_results(), Path("docs"), tmp_path / "results")
    write_page(page_file, tmp_path / "results")
    text = page_file.read_text()
    assert text.startswith("# Performance\n\nBefore.\n\n")
    assert text.endswith("\n\nAfter.\n")
    assert "old" not in text
    row = "ten best hits of an OR query, warm, p50 | 0.05 ms | 2.5 (0.02x) | 2.5 (0.02x) |  | ≤ 0.15 ms | met"
    assert f"| {row} |" in text
    assert "1,600 result lists were equal" in text


def test_writing_the_page_twice_gives_the_same_bytes(page_file: Path, tmp_path: Path) -> None:
    store_results(make_complete_results(), Path("docs"), tmp_path / "results")
    first_bytes = write_page(page_file, tmp_path / "results").read_bytes()
    assert write_page(page_file, tmp_path / "results").read_bytes() == first_bytes


def test_page_without_markers_is_refused() -> None:
    with pytest.raises(MissingMarkers):
        replace_measured_part("# Performance\n", "x")


def test_results_are_stored_under_name_of_reference_corpus_or_folder(tmp_path: Path) -> None:
    results = make_complete_results()
    assert store_results(results, Path("anything"), tmp_path).name == "small.json"
    results["corpus"]["sections"] = 100
    file = store_results(results, Path("My Docs!"), tmp_path)
    assert file.name == "my-docs.json"
    assert json.loads(file.read_text()) == results


def test_smallest_corpus_is_first_and_missed_limits_are_named(page_file: Path, tmp_path: Path) -> None:
    results = make_complete_results()
    results["edits"]["segments"] = 9
    store_results(results, Path("docs"), tmp_path / "results")
    results["corpus"] |= {"sections": 10, "bytes": 1_000}
    store_results(results, Path("tiny"), tmp_path / "results")
    text = write_page(page_file, tmp_path / "results").read_text()
    assert text.index("### tiny") < text.index("### small")
    assert "Missed: segments after 300 commits." in text
    assert "**MISSED**" in text


def test_growth_table_has_each_size_and_an_existing_plot(page_file: Path, tmp_path: Path) -> None:
    point = {
        "name": "large, 3 times",
        "sections": 474_000,
        "bytes": 159_000_000,
        "build_s": 12.3,
        "peak_mb": 500.0,
        "index_bytes": 120_000_000,
        "query_p50_ms": 0.3,
        "query_p95_ms": 1.2,
        "edit_p50_ms": 20.0,
    }
    growth = {"machine": "2 cores", "processes": 2, "points": [point]}
    (tmp_path / "growth.json").write_text(json.dumps(growth))
    text = write_page(page_file, tmp_path).read_text()
    row = "| large, 3 times | 474,000 | 159 MB | 12.3 s | 500 MB | 120 MB | 0.3 ms | 1.2 ms | 20 ms |"
    assert row in text
    assert "growth.svg" not in text
    (tmp_path / "growth.svg").write_text("<svg/>")
    assert "](growth.svg)" in write_page(page_file, tmp_path).read_text()


def test_nodes_are_a_section_with_a_row_for_each_size() -> None:
    point = {
        "sections": 157_999,
        "markdown_bytes": 53_165_237,
        "build_s": 30.0,
        "index_bytes": 33_715_909,
        "first_ms": 900.0,
        "query_p50_ms": 3.0,
        "query_p95_ms": 6.0,
        "warm_p50_ms": 0.5,
        "resident_mb": 150.0,
        "index_commit_p50_ms": 25.0,
        "visible_p50_ms": 8.0,
    }
    text = format_nodes({"machine": "2 cores", "points": [point, point]}, has_plot=False)
    assert text.count("| 157,999 | 53.2 MB | 30 s | 33.7 MB | 900 ms | 3 ms | 6 ms | 0.5 ms | 150 MB |") == 2
