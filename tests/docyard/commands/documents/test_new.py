"""`docyard new`: a document from a template, in a commit or in a proposal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git

Capture = pytest.CaptureFixture[str]


def test_document_has_the_sections_of_its_type_and_is_committed(
    repo: Path, git: Git, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "guides").mkdir()
    monkeypatch.chdir(repo / "guides")
    assert main(["new", "Restore a backup", "--type", "runbook", "--folder", "guides"]) == 0
    output = capsys.readouterr().out
    commit = git("rev-parse", "HEAD")
    assert output.startswith(f"Created guides/restore-a-backup.md in commit {commit[:8]}.\n")
    assert "  empty sections: when-to-use-this, " in output
    commit_command = "git commit -m 'Describe it' -- restore-a-backup.md"
    assert f"  next: edit restore-a-backup.md, then {commit_command}\n" in output
    text = (repo / "guides/restore-a-backup.md").read_text()
    assert text.startswith("---\ntype: runbook\n---\n\n# Restore a backup")
    assert git("show", "HEAD:guides/restore-a-backup.md") == text.strip()
    assert git("status", "--porcelain") == ""


def test_path_and_json_name_the_new_document(repo: Path, git: Git, capsys: Capture) -> None:
    assert main(["new", "Any page", "--path", "notes/page.md", "--json", "-C", str(repo)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["path"], data["proposal"]) == ("notes/page.md", None)
    assert data["commit"] == git("rev-parse", "HEAD")


def test_document_at_protected_path_is_in_a_proposal(repo: Path, git: Git, capsys: Capture) -> None:
    (repo / "docyard.toml").write_text('[[protect]]\npaths = ["guides/**"]\napprovers = ["ben"]\n')
    git("add", ".")
    git("commit", "--quiet", "--message", "Protect")
    tip = git("rev-parse", "HEAD")
    assert main(["new", "Setup", "--folder", "guides", "-C", str(repo)]) == 0
    output = capsys.readouterr().out
    assert git("rev-parse", "HEAD") == tip
    assert "is in the proposal " in output
    branch = output.partition(f"next: git -C {repo} switch ")[2].strip()
    assert git("show", f"{branch}:guides/setup.md").startswith("---\ntype: document")


def test_document_on_another_branch_is_shown_by_the_next_step(repo: Path, git: Git, capsys: Capture) -> None:
    git("branch", "other")
    assert main(["new", "A page", "--branch", "other", "-C", str(repo)]) == 0
    assert f"  next: docyard show -C {repo} a-page.md --branch other\n" in capsys.readouterr().out


def test_existing_path_is_not_changed(repo: Path, git: Git, capsys: Capture) -> None:
    tip = git("rev-parse", "HEAD")
    assert main(["new", "Guide", "-C", str(repo)]) == 3
    assert "error: 'guide.md' already exists\n  fix: " in capsys.readouterr().err
    assert git("rev-parse", "HEAD") == tip


def test_types_are_listed(repo: Path, capsys: Capture) -> None:
    assert main(["new", "--types", "-C", str(repo)]) == 0
    assert "runbook\tInstructions" in capsys.readouterr().out
    assert main(["new", "--types", "--json", "-C", str(repo)]) == 0
    assert "runbook" in json.loads(capsys.readouterr().out)["doc_types"]


@pytest.mark.parametrize(
    "arguments", [[], ["A", "--types"], ["A", "--folder", "x", "--path", "y.md"], ["A", "B"]]
)
def test_wrong_usage_creates_nothing(repo: Path, git: Git, arguments: list[str]) -> None:
    tip = git("rev-parse", "HEAD")
    assert main(["new", *arguments, "-C", str(repo)]) == 2
    assert git("rev-parse", "HEAD") == tip


def test_unknown_type_suggests_a_similar_one(repo: Path, capsys: Capture) -> None:
    assert main(["new", "A page", "--type", "runbok", "-C", str(repo)]) == 3
    assert "Did you mean 'runbook'?" in capsys.readouterr().err
    assert main(["new", "A page", "--type", "zzz", "-C", str(repo)]) == 3
    assert "fix: Use one of: api_spec, " in capsys.readouterr().err
