"""`docyard report`: tables, JSON, charts as files, the searches of a database, and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.repositories import Repo, create_bare_repository, create_repository
from tests.workspace.proposals.event_writer import TOKEN_AUTHOR, EventWriter, make_opening
from workspace.proposals.events import ReviewDecision, Reviewed, Submitted

Capture = pytest.CaptureFixture[str]

FILES = {"a.md": "# A\n\n- [ ] One\n- [x] Two\n", "b.md": "# B\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", FILES)


@pytest.fixture
def report(repo: Repo, capsys: Capture) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs the command, and returns its exit code, its output and its errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["report", "-C", str(repo.path), *arguments])
        return code, *capsys.readouterr()

    return run


Report = Callable[..., tuple[int, str, str]]


def add_reviewed_proposal(repo: Repo) -> None:
    writer = EventWriter(repo.path, datetime.now(UTC))
    writer.append(make_opening(base=repo.head()))
    writer.append(Submitted(repo.head()))
    writer.append(Reviewed(ReviewDecision.APPROVE, "", repo.head()), by=TOKEN_AUTHOR)


def test_tables_of_all_kinds_are_printed(repo: Repo, report: Report) -> None:
    add_reviewed_proposal(repo)
    code, out, _ = report()
    assert code == 0
    assert "Documents: 2 documents now" in out
    assert out.count("\t2\n") == 1
    assert "\t1\t1\n" in out
    assert "The median of 1 first review is 0 min." in out
    assert "Time to the merge: No merges in this time." in out
    assert "Searches" not in out


def test_json_has_values_with_dates(repo: Repo, report: Report) -> None:
    add_reviewed_proposal(repo)
    code, out, _ = report("--json", "--kind", "reviews", "--kind", "tasks")
    data = json.loads(out)
    assert (code, data["commit"], data["complete"], data["files"]) == (0, repo.head(), True, [])
    tasks, reviews = data["statistics"]
    assert (tasks["kind"], tasks["unit"]) == ("tasks", "day")
    assert (reviews["kind"], reviews["unit"]) == ("reviews", "week")
    assert (tasks["values"][-1]["open"], tasks["values"][-1]["done"]) == (1, 1)
    assert reviews["values"][0] | {"start": ""} == {
        "start": "",
        "count": 1,
        "first_quartile_seconds": 1,
        "median_seconds": 1,
        "third_quartile_seconds": 1,
    }


def test_charts_are_written_to_a_folder_or_a_file(tmp_path: Path, report: Report) -> None:
    folder = tmp_path / "new" / "charts"
    code, _, errors = report("--output", str(folder))
    names = ["documents.svg", "merges.svg", "reviews.svg", "tasks.svg"]
    assert (code, sorted(file.name for file in folder.iterdir())) == (0, names)
    assert errors.count("Wrote ") == 4
    file = tmp_path / "tasks.svg"
    file.write_bytes(b"old")
    code, out, _ = report("--kind", "tasks", "--output", str(file), "--json")
    assert (code, json.loads(out)["files"]) == (0, [str(file)])
    assert file.read_bytes() == (folder / "tasks.svg").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "x.svg"], "x.svg is one file for 4 charts"),
        (["--kind", "searches"], "--kind searches needs a server's database"),
        (["--organization", "acme"], "--organization needs --config or --sources"),
        (["--since", "yesterday"], "must be a date such as 2026-01-31, or 'all'"),
        (["--since", "9999-01-01"], "9999-01-01 is later than today"),
        (["--kind", "commits"], "'commits' is not one of"),
    ],
)
def test_wrong_usage_is_refused(report: Report, arguments: list[str], message: str) -> None:
    code, _, errors = report(*arguments)
    assert code == 2
    assert message in errors


@pytest.mark.parametrize("path", ["file/charts", "missing/tasks.svg"])
def test_unwritable_output_is_refused(tmp_path: Path, report: Report, path: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    code, out, errors = report("--kind", "tasks", "--output", str(tmp_path / path))
    assert (code, out) == (3, "")
    assert "the chart cannot be written" in errors
    assert "--output" in errors


def test_since_all_and_early_days_begin_with_the_first_commit(report: Report) -> None:
    days = ("all", "0001-01-01", "1970-01-01")
    outputs = {report("--kind", "documents", "--since", day)[1] for day in days}
    assert len(outputs) == 1
    assert outputs.pop().count("\n") == 2


def test_bare_repository_is_counted(tmp_path: Path, capsys: Capture) -> None:
    repo = create_bare_repository(tmp_path / "repo.git", FILES)
    assert main(["report", "-C", str(repo.path), "--kind", "documents", "--ref", "main"]) == 0
    assert "2 documents now" in capsys.readouterr().out
