"""A command reports a `docyard.toml` that is not committed, because the settings of the commit apply."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git
from tests.loops import loop_over

Capture = pytest.CaptureFixture[str]

RULE = '[[protect]]\npaths = ["**"]\n'
CHANGED = "warning: docyard.toml has changes that are not committed; the committed one applies\n"
NEW = "warning: docyard.toml is not committed, and does not apply\n"
COMMANDS = (["list"], ["proposals", "list"], ["tasks", "list"], ["sync"], ["tokens", "list"])


@loop_over("command", COMMANDS)
def test_changed_settings_are_reported_once(
    repo: Path, git: Git, capsys: Capture, command: list[str]
) -> None:
    (repo / "docyard.toml").write_text(f"# {command}\n")
    git("add", "docyard.toml")
    git("commit", "--quiet", "--message", "Add settings")
    main([*command, "-C", str(repo)])
    assert "docyard.toml" not in capsys.readouterr().err
    (repo / "docyard.toml").write_text(RULE)
    main([*command, "-C", str(repo)])
    captured = capsys.readouterr()
    assert captured.err.count(CHANGED) == 1
    assert CHANGED not in captured.out


def test_new_settings_are_reported_and_json_is_unchanged(repo: Path, capsys: Capture) -> None:
    assert main(["list", "--json", "-C", str(repo)]) == 0
    output = capsys.readouterr().out
    (repo / "docyard.toml").write_text(RULE)
    assert main(["list", "--json", "-C", str(repo)]) == 0
    captured = capsys.readouterr()
    assert captured.err == NEW
    assert captured.out == output
    json.loads(captured.out)


def test_settings_of_another_branch_or_ignored_file_are_not_reported(
    repo: Path, git: Git, capsys: Capture
) -> None:
    git("branch", "other")
    (repo / "docyard.toml").write_text(RULE)
    assert main(["list", "-C", str(repo), "--branch", "other"]) == 0
    assert capsys.readouterr().err == ""
    (repo / ".git" / "info" / "exclude").write_text("docyard.toml\n")
    assert main(["list", "-C", str(repo)]) == 0
    assert capsys.readouterr().err == ""


def test_doctor_reports_uncommitted_settings_as_a_finding(repo: Path, capsys: Capture) -> None:
    (repo / "docyard.toml").write_text(RULE)
    assert main(["doctor", "-C", str(repo)]) == 1
    captured = capsys.readouterr()
    assert captured.err == ""
    assert (
        f"docyard.toml is not committed, and does not apply\n  fix: git -C {repo} add docyard.toml"
        in captured.out
    )


def test_doctor_reports_all_mistakes_of_uncommitted_settings_with_lines(repo: Path, capsys: Capture) -> None:
    (repo / "docyard.toml").write_text('rooot = "a"\n\n[limits]\noperations = "many"\n')
    assert main(["doctor", "-C", str(repo)]) == 1
    output = capsys.readouterr().out
    assert "the uncommitted docyard.toml:1: there is no setting 'rooot'" in output
    assert "the uncommitted docyard.toml:4: limits.operations: must be" in output
    assert "add docyard.toml" not in output


def test_doctor_reports_all_mistakes_of_committed_settings(repo: Path, git: Git, capsys: Capture) -> None:
    (repo / "docyard.toml").write_text('rooot = "a"\nfsync = 7\n')
    git("add", "docyard.toml")
    git("commit", "--quiet", "--message", "Add settings")
    (repo / "docyard.toml").write_text("fsync = false\n")
    assert main(["doctor", "-C", str(repo)]) == 1
    output = capsys.readouterr().out
    assert "docyard.toml:1: there is no setting 'rooot'" in output
    assert "docyard.toml:2: fsync: must be" in output
    assert f"fix: git -C {repo} add docyard.toml" in output
