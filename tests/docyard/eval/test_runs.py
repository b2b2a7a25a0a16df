"""Runs of `docyard eval`: means, comparison of two runs, report, files, and required minimums."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from docyard.eval.report import (
    RequiredMinimum,
    build_rows,
    compare_runs,
    compute_latency,
    count_cases_without_hits,
    format_measure_cells,
    format_time_cells,
    parse_minimum,
    render_report,
    summarize_run,
)
from docyard.eval.run import (
    EvalRun,
    InvalidRun,
    ListMeasures,
    Outcome,
    Parameters,
    compute_measures,
    find_ranks,
    read_run,
    read_runs,
    save_run,
)
from tests.loops import loop_over

PARAMETERS = Parameters(top=50, limit=None)


def make_list_measures(rank: int | None) -> ListMeasures:
    grades = {"right.md": 1}
    ranking = [] if rank is None else ["wrong.md"] * (rank - 1) + ["right.md"]
    return ListMeasures(measures=compute_measures(ranking, grades), ranks=find_ranks(ranking, grades))


def make_outcome(
    name: str,
    rank: int | None,
    *,
    chunk_rank: int | None = None,
    category: str = "",
    ms: float | None = 1.0,
    digest: str = "same",
) -> Outcome:
    return Outcome(
        id=name,
        query=f"where is {name}",
        category=category,
        digest=digest,
        ms=ms,
        hits=0 if rank is None else 10,
        found=() if rank is None else ("right.md#a|b",),
        page=make_list_measures(rank),
        chunk=None if chunk_rank is None else make_list_measures(chunk_rank),
    )


def make_run(
    *cases: Outcome, at: str = "2026-01-02T03:04:05Z", name: str = "cases.yaml", **overrides: object
) -> EvalRun:
    fields: Mapping[str, object] = {
        "name": name,
        "at": at,
        "commit": "c" * 40,
        "version": "1.2.3",
        "parameters": PARAMETERS,
        "metadata": {"stats": {"total_files": 1234, "total_chunks": 5678}},
        "problems": (),
        "cases": cases,
    }
    return EvalRun.model_validate({**fields, **overrides})


def test_means_are_computed_by_level_and_category() -> None:
    cases = [
        make_outcome("a", 1, category="x", chunk_rank=2),
        make_outcome("b", 2, category="y"),
        make_outcome("c", None),
    ]
    rows = {(row.level, row.category): (row.case_count, row.means["mrr"]) for row in build_rows(cases)}
    assert rows == {
        ("page", None): (3, 0.5),
        ("page", ""): (1, 0),
        ("page", "x"): (1, 1),
        ("page", "y"): (1, 0.5),
        ("chunk", None): (1, 0.5),
        ("chunk", "x"): (1, 0.5),
    }


def test_cases_without_category_have_one_row() -> None:
    assert [(row.level, row.category) for row in build_rows([make_outcome("a", 1)])] == [("page", None)]


def test_latency_uses_nearest_rank_and_skips_refused_cases() -> None:
    latency = compute_latency(
        [make_outcome(str(ms), 1, ms=float(ms)) for ms in range(100, 0, -1)]
        + [make_outcome("x", None, ms=None)]
    )
    assert latency is not None
    assert (latency.p50_ms, latency.p95_ms) == (50, 95)
    assert compute_latency([make_outcome("x", None, ms=None)]) is None


def test_run_summary_can_be_encoded_as_json() -> None:
    summary = json.loads(
        json.dumps(summarize_run(make_run(make_outcome("a", 1, category="x"), make_outcome("b", None))))
    )
    assert summary["page"]["mrr"] == 0.5
    assert summary["page"]["categories"]["x"]["ndcg@10"] == 1
    assert "chunk" not in summary
    assert summary["without_hits"] == count_cases_without_hits([make_outcome("b", None)]) == 1


def test_only_unchanged_cases_are_compared() -> None:
    base = make_run(
        make_outcome("a", 2),
        make_outcome("b", 1),
        make_outcome("gone", 1),
        make_outcome("changed", 1, digest="old"),
    )
    current = make_run(
        make_outcome("a", 1), make_outcome("b", 3), make_outcome("new", 1), make_outcome("changed", None)
    )
    difference = compare_runs(base, current)
    assert [pair.current.id for pair in difference.list_gains()] == ["a"]
    assert [pair.current.id for pair in difference.list_losses()] == ["b"]
    assert difference.compute_change("page", None, "mrr") == pytest.approx((1 + 1 / 3) / 2 - (0.5 + 1) / 2)
    assert difference.compute_change("chunk", None, "mrr") is None
    assert difference.compute_change("page", "x", "mrr") is None


def test_largest_gains_and_losses_come_first() -> None:
    base = make_run(make_outcome("a", 2), make_outcome("b", None), make_outcome("c", 1), make_outcome("d", 1))
    current = make_run(
        make_outcome("a", 1), make_outcome("b", 1), make_outcome("c", 2), make_outcome("d", None)
    )
    difference = compare_runs(base, current)
    assert [pair.current.id for pair in difference.list_gains()] == ["b", "a"]
    assert [pair.current.id for pair in difference.list_losses()] == ["d", "c"]


def test_report_contains_measures_gains_and_problems() -> None:
    base = make_run(
        make_outcome("a", 2, ms=2), make_outcome("b", 1), at="2026-01-01T00:00:00Z", commit="b" * 40
    )
    current = make_run(
        make_outcome("a", 1, category="fix|ed"),
        make_outcome("b", None),
        make_outcome("new *one*", 1),
        problems=["c.yaml:3: no document 'x_y.md'"],
    )
    text = render_report(current, compare_runs(base, current))
    assert "- commit: `" + "c" * 40 + "`" in text
    assert "- index: 1,234 documents, 5,678 sections" in text
    assert "| by page | 3 | 0.6667 (-0.3155) |" in text
    assert r"| by page, fix\|ed | 1 | 1.0000 (+0.3691) |" in text
    assert "### Gained: 1\n" in text
    assert "| where is a | 0.6309 → 1.0000 | 2 → 1 |" in text
    assert "| where is b | 1.0000 → 0.0000 | 1 → none |" in text
    assert r"| where is new \*one\* | 1.0000 | 1 | right.md\#a\|b |" in text
    assert "## Problems: 1\n\n- c.yaml:3: no document 'x\\_y.md'\n" in text
    assert "b" * 40 in text


def test_first_report_has_no_difference() -> None:
    text = render_report(make_run(make_outcome("a", 1), commit=None, metadata=None))
    assert "Difference" not in text
    assert "Problems" not in text
    assert "(+" not in text
    assert "- commit: `none yet`" in text


def test_each_report_row_has_one_cell_per_heading() -> None:
    from docyard.eval.report import HEADINGS

    difference = compare_runs(
        make_run(make_outcome("a", 2, chunk_rank=1)), make_run(make_outcome("a", 1, chunk_rank=3))
    )
    lines = format_measure_cells(make_run(make_outcome("a", 1, chunk_rank=3)), difference)
    assert {len(line) for line in lines} == {len(HEADINGS)}
    assert format_time_cells(make_run(make_outcome("a", 1, ms=None))) == [["cases without hits", "0"]]


def test_saved_run_is_read_unchanged(tmp_path: Path) -> None:
    run = make_run(make_outcome("a", 1, chunk_rank=2, category="x"), make_outcome("é", None, ms=None))
    run_file = save_run(tmp_path / "new" / "runs", run)
    assert run_file.name == f"20260102T030405Z-{'c' * 12}-01.json"
    assert read_run(run_file) == run


def test_runs_of_same_second_stay_in_order(tmp_path: Path) -> None:
    first_run, second_run = make_run(make_outcome("a", 1)), make_run(make_outcome("a", 2))
    assert len({save_run(tmp_path, first_run), save_run(tmp_path, second_run)}) == 2
    assert read_runs(tmp_path, "cases.yaml", PARAMETERS) == [first_run, second_run]


def test_only_comparable_runs_are_read_oldest_first(tmp_path: Path) -> None:
    late_run, early_run = (
        make_run(make_outcome("a", 1), at="2026-03-01T00:00:00Z"),
        make_run(make_outcome("a", 1), at="2026-02-01T00:00:00Z"),
    )
    for run in (
        late_run,
        early_run,
        make_run(name="other.yaml"),
        make_run(parameters=Parameters(top=20, limit=None)),
    ):
        save_run(tmp_path, run)
    assert read_runs(tmp_path, "cases.yaml", PARAMETERS) == [early_run, late_run]
    assert read_runs(tmp_path / "nothing there", "cases.yaml", PARAMETERS) == []


@loop_over("text", ["", "{}", "[]", '{"format": 2}', "\0"])
def test_file_that_is_not_a_run_raises_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(InvalidRun, match=r"odd\.json is not a run of docyard eval") as error_info:
        read_runs(tmp_path, "cases.yaml", PARAMETERS)
    assert error_info.value.fix
    assert str(tmp_path) not in error_info.value.message


@loop_over(
    ("text", "minimum"),
    [
        ("ndcg@10=.45", RequiredMinimum("page", "ndcg@10", 0.45)),
        (" chunk.MRR=1 ", RequiredMinimum("chunk", "mrr", 1)),
        ("page.recall@50=0", RequiredMinimum("page", "recall@50", 0)),
    ],
)
def test_valid_minimum_is_parsed(text: str, minimum: RequiredMinimum) -> None:
    assert parse_minimum(text) == minimum


@loop_over(
    "text",
    ["", "ndcg@10", "ndcg@10=", "ndcg@10=x", "ndcg@10=1.5", "mrr=-1", "mrr=nan", "map=.5", "line.mrr=.5"],
)
def test_invalid_minimum_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^\w"):
        parse_minimum(text)


def test_missed_minimum_is_described() -> None:
    run = make_run(make_outcome("a", 2))
    assert RequiredMinimum("page", "mrr", 0.5).describe_miss(run) is None
    assert (
        RequiredMinimum("page", "mrr", 0.51).describe_miss(run)
        == "mrr by page must be at least 0.51 (got 0.5000)"
    )
    assert (
        RequiredMinimum("chunk", "mrr", 0).describe_miss(run)
        == "mrr by chunk was not measured: no case expects a section"
    )
