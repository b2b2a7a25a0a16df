"""benchmarks/RESULTS.md: its measured part is written from what is kept, and the rest stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.reports.page import BEGIN, END, PAGE, NoPlace, keep, replaced, write
from tests.benchmarks.results import whole_run

TEXT = f"# Performance\n\nBefore.\n\n{BEGIN}\n\nold\n\n{END}\n\nAfter.\n"


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "RESULTS.md"
    file.write_text(TEXT)
    return file


def test_the_real_page_has_both_marks() -> None:
    text = PAGE.read_text()
    assert replaced(text, "x").count("\n\nx\n\n") == 1


def test_only_what_is_between_the_marks_changes(page: Path, tmp_path: Path) -> None:
    keep(whole_run(), Path("docs"), tmp_path / "kept")
    write(page, tmp_path / "kept")
    text = page.read_text()
    assert text.startswith("# Performance\n\nBefore.\n\n")
    assert text.endswith("\n\nAfter.\n")
    assert "old" not in text
    assert (
        "| ten best by OR, asked before, p50 | 0.05 ms | 2.5 (0.02x) | 2.5 (0.02x) |  | ≤ 0.1 ms | met |"
        in text
    )
    assert "1,600 lists were compared" in text


def test_writing_twice_gives_the_same_bytes(page: Path, tmp_path: Path) -> None:
    keep(whole_run(), Path("docs"), tmp_path / "kept")
    once = write(page, tmp_path / "kept").read_bytes()
    assert write(page, tmp_path / "kept").read_bytes() == once


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(NoPlace):
        replaced("# Performance\n", "x")


def test_a_corpus_like_small_is_kept_as_small_and_another_under_its_folder(tmp_path: Path) -> None:
    results = whole_run()
    assert keep(results, Path("anything"), tmp_path).name == "small.json"
    results["corpus"]["sections"] = 100
    file = keep(results, Path("My Docs!"), tmp_path)
    assert file.name == "my-docs.json"
    assert json.loads(file.read_text()) == results


def test_the_smallest_corpus_comes_first_and_a_missed_limit_is_named(page: Path, tmp_path: Path) -> None:
    results = whole_run()
    results["edits"]["segments"] = 9
    keep(results, Path("docs"), tmp_path / "kept")
    results["corpus"] |= {"sections": 10, "bytes": 1_000}
    keep(results, Path("tiny"), tmp_path / "kept")
    text = write(page, tmp_path / "kept").read_text()
    assert text.index("### tiny") < text.index("### small")
    assert "Missed: segments after 300 commits." in text
    assert "**MISSED**" in text


def test_growth_has_a_line_for_each_size_and_the_picture_if_there_is_one(page: Path, tmp_path: Path) -> None:
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
    text = write(page, tmp_path).read_text()
    row = "| large, 3 times | 474,000 | 159 MB | 12.3 s | 500 MB | 120 MB | 0.3 ms | 1.2 ms | 20 ms |"
    assert row in text
    assert "growth.svg" not in text
    (tmp_path / "growth.svg").write_text("<svg/>")
    assert "](growth.svg)" in write(page, tmp_path).read_text()
