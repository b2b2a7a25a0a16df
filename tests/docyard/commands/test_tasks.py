"""`docyard tasks list`: the open tasks of all documents, and the board of all tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.commands.conftest import RunInTerminal
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


@pytest.mark.process
def test_columns_have_titles_on_a_terminal(repo_with_tasks: Path, run_in_terminal: RunInTerminal) -> None:
    lines = run_in_terminal("tasks", "list", "plan.md", colours=True).splitlines()
    assert lines[0] == "\x1b[2mstate   address  task\x1b[0m"
    assert lines[1].startswith("ready   plan.md#_preamble[0]  Parse")
    for command in (["list"], ["tokens", "add", "ana", "--output", "ana.token"], ["tokens", "list"]):
        output = run_in_terminal(*command)
    assert output.splitlines()[1].split() == ["token", "name", "address"]


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


def test_board_has_a_column_for_each_state(repo_with_tasks: Path, git: Git, capsys: Capture) -> None:
    (repo_with_tasks / "plan.md").write_text(PLAN + "- [x] Think\n")
    git("commit", "--quiet", "--all", "--message", "done")
    for arguments in (
        ["tasks", "--board"],
        ["tasks", "list", "--board"],
        ["tasks", "list", "plan.md", "--board"],
    ):
        assert main([*arguments, "-C", str(repo_with_tasks)]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "ready\tplan.md#_preamble[0]\tParse",
            "waiting\tplan.md#_preamble[1]\tShip",
            "blocked\tplan.md#_preamble[2]\tAnnounce",
            "done\tplan.md#_preamble[3]\tThink",
        ]
    assert main(["tasks", "--board", "--owner", "ana", "--json", "-C", str(repo_with_tasks)]) == 0
    columns = json.loads(capsys.readouterr().out)["columns"]
    assert {column["state"]: column["total"] for column in columns} == {
        "ready": 1,
        "claimed": 0,
        "waiting": 0,
        "blocked": 0,
        "done": 0,
    }


def test_board_excludes_states(repo_with_tasks: Path, capsys: Capture) -> None:
    assert main(["tasks", "--board", "--ready", "-C", str(repo_with_tasks)]) == 2
    assert "--board shows all states" in capsys.readouterr().err


@pytest.mark.process
def test_board_has_width_of_terminal(repo_with_tasks: Path, run_in_terminal: RunInTerminal) -> None:
    lines = run_in_terminal("tasks", "--board", columns=90).splitlines()
    assert max(len(line) for line in lines) <= 90
    heading = next(line for line in lines if "Ready 1" in line)
    assert heading.split() == ["Ready", "1", "Waiting", "1", "Blocked", "1"]
    narrow_lines = run_in_terminal("tasks", "--board", columns=30).splitlines()
    assert max(len(line) for line in narrow_lines) <= 30
    assert not any("Ready 1" in line and "Waiting 1" in line for line in narrow_lines)
