"""`docyard eval`: its output, its files, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git

CASES_TEXT = """\
- {query: backoff with jitter, expected: guide.md#retries, category: words}
- {query: how to begin, expected: guide.md}
"""


@pytest.fixture
def case_file(tmp_path: Path) -> Path:
    file = tmp_path / "cases.yaml"
    file.write_text(CASES_TEXT)
    return file


def test_table_has_measures_and_times(
    repo: Path, case_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(case_file), "-C", str(repo)]) == 0
    captured = capsys.readouterr()
    lines = [line.split("\t") for line in captured.out.splitlines()]
    assert lines[:5] == [
        ["by page", "2", *["1.0000"] * 5],
        ["by page, (none)", "1", *["1.0000"] * 5],
        ["by page, words", "1", *["1.0000"] * 5],
        ["by chunk", "1", *["1.0000"] * 5],
        ["by chunk, words", "1", *["1.0000"] * 5],
    ]
    assert [line[0] for line in lines[5:]] == ["cases without hits", "search, p50", "search, p95"]
    assert captured.err == ""


def test_json_contains_commit_and_index_metadata(
    repo: Path, case_file: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(case_file), "-C", str(repo), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["commit"] == git("rev-parse", "HEAD")
    assert data["metadata"]["stats"]["source_commit"] == data["commit"]
    assert data["metadata"]["taxonomy"]["type"]["values"] == ["runbook"]
    assert data["summary"]["page"]["ndcg@10"] == 1
    assert [case["chunk"] is None for case in data["cases"]] == [False, True]
    assert data["earlier"] is None


def test_judgements_are_read_with_their_queries(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "qrels.tsv").write_text("q1\tguide.md\t1\n")
    (tmp_path / "queries.jsonl").write_text('{"id": "q1", "text": "backoff"}\n')
    arguments = ["eval", str(tmp_path / "qrels.tsv"), "-C", str(repo)]
    assert main([*arguments, "--queries", str(tmp_path / "queries.jsonl")]) == 0
    assert capsys.readouterr().out.startswith("by page\t1\t1.0000")
    assert main(arguments) == 2
    assert "name their queries with --queries" in capsys.readouterr().err


@pytest.mark.process
def test_runs_are_saved_compared_reported_and_plotted(
    repo: Path, git: Git, case_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    run_folder, report_file, plot_file = tmp_path / "runs", tmp_path / "report.md", tmp_path / "plot.svg"
    arguments = [
        "eval",
        str(case_file),
        "-C",
        str(repo),
        "--runs",
        str(run_folder),
        "--report",
        str(report_file),
    ]
    assert main(arguments) == 0
    assert "## Difference" not in report_file.read_text()
    (first_run,) = run_folder.iterdir()
    git("rm", "--quiet", "guide.md")
    (repo / "other.md").write_text("# Other\n\nA backoff with jitter, to begin with.\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Rewritten")
    capsys.readouterr()
    assert main([*arguments, "--plot", str(plot_file)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("by page\t2\t0.0000 (-1.0000)\t")
    assert captured.err.count("warning: ") == 2
    assert "### Lost: 2" in report_file.read_text()
    assert "## Problems: 2" in report_file.read_text()
    assert plot_file.read_text().startswith("<?xml")
    assert len(list(run_folder.iterdir())) == 2
    assert main(["eval", str(case_file), "-C", str(repo), "--against", str(first_run), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["earlier"]["summary"]["page"]["mrr"] == 1


def test_missing_address_is_warning_and_strict_exits_with_1(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case_file = tmp_path / "c.jsonl"
    case_file.write_text('{"query": "backoff", "expected": ["guide.md", "gone.md"]}\n')
    assert main(["eval", str(case_file), "-C", str(repo)]) == 0
    assert capsys.readouterr().err == "warning: c.jsonl:1: no document 'gone.md'\n"
    assert main(["eval", str(case_file), "-C", str(repo), "--strict"]) == 1


def test_measure_below_threshold_exits_with_1(
    repo: Path, case_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["eval", str(case_file), "-C", str(repo), "--fail-under", "ndcg@10=.9"]
    assert main(arguments) == 0
    case_file.write_text("- {query: zeppelin, expected: guide.md}\n")
    assert main([*arguments, "--fail-under", "mrr=0"]) == 1
    assert capsys.readouterr().err == "missed: ndcg@10 by page must be at least 0.9 (got 0.0000)\n"


def test_limit_runs_first_cases(repo: Path, case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["eval", str(case_file), "-C", str(repo), "--limit", "1", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["cases"]) == 1


def test_invalid_cases_exit_with_2(repo: Path, case_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case_file.write_text("- {query: '', expected: guide.md}\n- {query: x}\n")
    assert main(["eval", str(case_file), "-C", str(repo)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[:3] == [
        "error: the cases cannot be used:",
        "  cases.yaml:1: the query is empty",
        "  cases.yaml:2: there is no `expected`",
    ]


@pytest.mark.parametrize(
    "options",
    [["--plot", "a.svg"], ["--plot", "a.pdf", "--runs", "r"], ["--fail-under", "map=1"], ["--top", "3"]],
)
def test_wrong_usage_exits_with_2_and_prints_fix(
    case_file: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["eval", str(case_file), *options]) == 2
    assert "\n  fix: " in capsys.readouterr().err


def test_unusable_files_exit_with_3(
    repo: Path, case_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["eval", str(case_file), "-C", str(repo)]
    (tmp_path / "odd.json").write_text("{}")
    assert main([*arguments, "--against", str(tmp_path / "odd.json")]) == 3
    assert main([*arguments, "--report", str(tmp_path / "none" / "report.md")]) == 3
    assert main([*arguments, "--runs", str(case_file / "runs")]) == 3
    captured = capsys.readouterr()
    assert captured.err.count("error: ") == 3
    assert str(tmp_path) not in captured.err
    assert captured.out == ""


def test_repository_without_commit_has_no_hits(
    tmp_path: Path, git: Git, case_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("init", "--quiet", str(tmp_path / "empty"), cwd=tmp_path)
    assert main(["eval", str(case_file), "-C", str(tmp_path / "empty"), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["commit"] is None
    assert data["summary"]["page"]["recall@50"] == 0
