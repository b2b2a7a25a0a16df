"""`docyard trace`: the matrix and one identifier, as text, JSON and Markdown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.repositories import Repo, create_repository
from tests.workspace.test_trace import FILES

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", FILES)


def test_matrix_is_printed_as_rows(repo: Repo, capsys: Capture) -> None:
    assert main(["trace", "-C", str(repo.path)]) == 0
    assert [line.split("\t") for line in capsys.readouterr().out.splitlines()] == [
        ["REQ-1", "Sessions end", "1", "1", "1", "1", "1", ""],
        ["REQ-2", "Logout", "1", "1", "2", "1", "1", "done"],
        ["REQ-3", "Login", "1", "0", "0", "0", "0", "designed, tasked, done, tested"],
    ]
    assert main(["trace", "-C", str(repo.path), "--missing", "required"]) == 0
    assert capsys.readouterr().out == "No identifier lacks this stage.\n"


def test_one_identifier_is_printed_with_its_places(repo: Repo, capsys: Capture) -> None:
    assert main(["trace", "req-1", "-C", str(repo.path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "REQ-1  Sessions end",
        "  required  requirements/auth.md#req-1:3  Sessions end",
        "  designed  design/auth.md#sessions:5  Sessions",
        "  tasked    design/auth.md#sessions[0]:7  Store the time of REQ-1",
        "  done      design/auth.md#sessions[0]:7  Store the time of REQ-1",
        "  tested    tests/test_auth.py:1",
    ]
    assert main(["trace", "REQ-1", "-C", str(repo.path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tested"] == [{"file": "tests/test_auth.py", "line": 1}]
    assert main(["trace", "REQ-9", "-C", str(repo.path)]) == 3
    assert "REQ-9" in capsys.readouterr().err


def test_markdown_table_escapes_pipes_and_marks(repo: Repo, capsys: Capture) -> None:
    repo.commit({"requirements/a|b.md": "# A\n\n- REQ-4 *a* `x|y` | <b>\n"})
    assert main(["trace", "-C", str(repo.path), "--markdown"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "| id | title | required | designed | tasked | done | tested |",
        "|---|---|---|---|---|---|---|",
        "| REQ-1 | Sessions end | `requirements/auth.md#req-1` | `design/auth.md#sessions` "
        "| `design/auth.md#sessions[0]` | 1 of 1 | `tests/test_auth.py` |",
    ]
    assert lines[-1].startswith(r"| REQ-4 | a x\|y \|")
    assert r"`requirements/a\|b.md#_preamble`" in lines[-1]


def test_workspace_without_identifiers_is_described(tmp_path: Path, capsys: Capture) -> None:
    repo = create_repository(tmp_path / "empty", {"a.md": "# A\n\nREQ-1 is a ticket.\n"})
    assert main(["trace", "-C", str(repo.path)]) == 0
    assert "No heading or list item outside of `designed` and `tested`" in capsys.readouterr().out
    assert main(["trace", "-C", str(repo.path), "REQ-1", "--markdown"]) == 2
    repo.commit({"b.md": "- NFR-1\n", "docyard.toml": '[trace]\nprefixes = ["NFR"]\nrequired = ["reqs"]\n'})
    assert main(["trace", "-C", str(repo.path)]) == 0
    assert capsys.readouterr().out == (
        "No heading or list item in `required` ([trace] of docyard.toml: reqs) begins with an identifier "
        "such as NFR-1.\n"
    )
