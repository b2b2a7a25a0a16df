"""`docyard tasks list`: the open tasks of all documents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git

Capture = pytest.CaptureFixture[str]

PLAN = """# Plan

- [ ] Parse {#parse}
  - Assignee: Ana
- [ ] Ship
  - Depends on: #parse, lost.md#gone
- [ ] Announce {#announce}
  - Blocked: press
"""


@pytest.fixture
def repo_with_tasks(repo: Path, git: Git) -> Path:
    (repo / "plan.md").write_text(PLAN)
    git("add", ".")
    git("commit", "--quiet", "--message", "plan")
    return repo


def test_open_tasks_are_listed_with_what_they_wait_for(repo_with_tasks: Path, capsys: Capture) -> None:
    assert main(["tasks", "list", "plan.md", "-C", str(repo_with_tasks)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ready   plan.md#_preamble[0]  Parse (for Ana; 1 waits for it)",
        "waiting plan.md#_preamble[1]  Ship (waits for plan.md#_preamble[0], lost.md#gone (unknown))",
        "blocked plan.md#_preamble[2]  Announce (blocked: press)",
    ]


def test_tasks_are_printed_as_json(repo_with_tasks: Path, git: Git, capsys: Capture) -> None:
    assert main(["tasks", "list", "--ready", "--owner", "ana", "--json", "-C", str(repo_with_tasks)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [task["title"] for task in data["tasks"]] == ["Parse"]
    assert (data["total"], data["complete"], data["circles"]) == (1, True, [])
    assert data["commit"] == git("rev-parse", "HEAD")


def test_limit_and_circles_are_reported(repo_with_tasks: Path, git: Git, capsys: Capture) -> None:
    plan = PLAN.replace("press", "press\n  - Depends on: #announce")
    (repo_with_tasks / "plan.md").write_text(plan)
    git("commit", "--quiet", "--all", "--message", "circle")
    assert main(["tasks", "list", "plan.md", "--limit", "1", "-C", str(repo_with_tasks)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "2 more: --limit 0 lists all.",
        "A circle of dependencies: plan.md#_preamble[2]",
    ]


def test_empty_list_and_wrong_options(repo_with_tasks: Path, capsys: Capture) -> None:
    assert main(["tasks", "list", "--owner", "nobody", "-C", str(repo_with_tasks)]) == 0
    assert capsys.readouterr().out == "No open task matches.\n"
    assert main(["tasks", "list", "--ready", "--blocked", "-C", str(repo_with_tasks)]) == 2
    assert main(["tasks", "list", "plna.md", "-C", str(repo_with_tasks)]) != 0
    assert "plan.md" in capsys.readouterr().err
