"""`docyard show`: documents, sections, tasks, commits and proposals, each by its address or id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repo_with_tasks(repo: Path, git: Git) -> Path:
    """Return a repository with tasks, one of which has an id."""
    (repo / "plan.md").write_text("# Plan\n\n## Work\n\n- [ ] Begin {#begin}\n- [ ] End\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Plan the work")
    git("tag", "v1.0")
    return repo


def show(repo: Path, capsys: Capture, *arguments: str, code: int = 0) -> str:
    """Return the output of `docyard show`, or its error."""
    assert main(["show", *arguments, "-C", str(repo)]) == code
    captured = capsys.readouterr()
    return captured.err if code else captured.out


def test_documents_sections_and_tasks_are_shown(repo_with_tasks: Path, capsys: Capture) -> None:
    assert show(repo_with_tasks, capsys, "plan.md").startswith("# Plan")
    assert show(repo_with_tasks, capsys, "guide.md#retries").startswith("## Retries")
    assert show(repo_with_tasks, capsys, "plan.md#work[1]") == "- [ ] End\n"
    assert show(repo_with_tasks, capsys, "plan.md#begin") == "- [ ] Begin {#begin}\n"


@pytest.mark.parametrize("ref", ["HEAD", "v1.0", "main"])
def test_commit_is_shown_with_its_changes(repo_with_tasks: Path, git: Git, capsys: Capture, ref: str) -> None:
    output = show(repo_with_tasks, capsys, ref)
    assert git("rev-parse", "HEAD")[:8] in output
    assert "Plan the work" in output
    assert "plan.md" in output
    assert "guide.md" not in output


def test_first_commit_and_short_id_are_shown(repo_with_tasks: Path, git: Git, capsys: Capture) -> None:
    assert "guide.md" in show(repo_with_tasks, capsys, git("rev-parse", "HEAD~1")[:7])


def test_data_of_commit_has_changes(repo_with_tasks: Path, git: Git, capsys: Capture) -> None:
    data = json.loads(show(repo_with_tasks, capsys, "HEAD", "--json"))
    assert data["commit"] == git("rev-parse", "HEAD")
    assert data["author"]["name"]
    assert [document["path"] for document in data["documents"]] == ["plan.md"]


def test_proposal_is_shown_by_id_and_branch(repo_with_tasks: Path, git: Git, capsys: Capture) -> None:
    assert main(["proposals", "create", "A title", "--json", "-C", str(repo_with_tasks)]) == 0
    id = json.loads(capsys.readouterr().out)["proposal"]
    assert "A title" in show(repo_with_tasks, capsys, id)
    assert json.loads(show(repo_with_tasks, capsys, id, "--json"))["proposal"] == id


def test_moved_document_is_found(repo_with_tasks: Path, git: Git, capsys: Capture) -> None:
    git("mv", "plan.md", "work.md")
    git("commit", "--quiet", "--message", "Move")
    assert show(repo_with_tasks, capsys, "plan.md").startswith("# Plan")


@pytest.mark.parametrize(
    "address", ["nothing", "", "k7m2q9xa", "none.md", "plan.md#none", "HEAD:plan.md", "deadbeef", "x" * 5_000]
)
def test_unknown_address_is_refused_with_fix(repo_with_tasks: Path, capsys: Capture, address: str) -> None:
    error = show(repo_with_tasks, capsys, address, code=3)
    assert error.startswith("error: ")
    assert "\n  fix: " in error
    assert len(error.replace(f" -C {repo_with_tasks}", "")) < 600


def test_unborn_branch_is_refused(tmp_path: Path, git: Git, capsys: Capture) -> None:
    git("init", "--quiet", str(tmp_path / "empty"), cwd=tmp_path)
    assert "fix: " in show(tmp_path / "empty", capsys, "HEAD", code=3)
