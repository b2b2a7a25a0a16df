"""`docyard comments`: comments on documents are added, listed, answered and resolved at a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repo_with_guide(repo: Path, git: Git) -> Path:
    (repo / "guide.md").write_text("# Guide\n\nHi.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "guide")
    return repo


def run_json(capsys: Capture, repo: Path, *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["comments", *arguments, "--json", "-C", str(repo)]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    return data


def add(capsys: Capture, repo: Path, *arguments: str) -> str:
    [id] = run_json(capsys, repo, "add", *arguments)["events"]
    return str(id)


def test_comment_is_listed_until_it_is_resolved(repo_with_guide: Path, git: Git, capsys: Capture) -> None:
    repo = repo_with_guide
    id = add(capsys, repo, "guide.md#install", "-m", "Which version?", "--quote", "Run it.")
    add(capsys, repo, "--reply-to", id, "-m", "The last.")
    (repo / "guide.md").write_text((repo / "guide.md").read_text().replace("Install", "Set up"))
    git("commit", "--quiet", "--all", "--message", "rename")
    assert main(["comments", "list", "guide.md#set-up", "-C", str(repo)]) == 0
    output = capsys.readouterr().out
    assert "guide.md#set-up (was guide.md#install)" in output
    assert "> Run it." in output
    assert "The last." in output
    [entry] = run_json(capsys, repo, "list")["comments"]
    assert (entry["id"], entry["now"]["state"], entry["proposal"]) == (id, "moved", None)
    assert main(["comments", "resolve", id, "-m", "Done.", "-C", str(repo)]) == 0
    assert capsys.readouterr().out == f"Resolved: {id}\n"
    assert run_json(capsys, repo, "resolve", id) == {"commit": None, "events": [], "new": False}
    assert run_json(capsys, repo, "list")["comments"] == []
    [entry] = run_json(capsys, repo, "list", "--resolved")["comments"]
    assert entry["resolved"]["author"]["known_by"] == "git"
    assert main(["comments", "resolve", id, "--reopen", "-C", str(repo)]) == 0
    assert capsys.readouterr().out == f"Reopened: {id}\n"
    assert run_json(capsys, repo, "list")["total"] == 1


def test_comments_of_a_proposal_are_listed_and_resolved(repo_with_guide: Path, capsys: Capture) -> None:
    repo = repo_with_guide
    assert main(["proposals", "create", "Say more", "--json", "-C", str(repo)]) == 0
    proposal = json.loads(capsys.readouterr().out)["proposal"]
    assert main(["proposals", "comment", proposal, "guide.md", "-m", "Why?", "-C", str(repo)]) == 0
    document_id = add(capsys, repo, "guide.md", "-m", "Of all")
    entries = run_json(capsys, repo, "list")["comments"]
    assert [entry["proposal"] for entry in entries] == [None, proposal]
    assert main(["comments", "list", "-C", str(repo)]) == 0
    assert f"Proposal {proposal}: Say more" in capsys.readouterr().out
    id = entries[1]["id"]
    assert main(["comments", "resolve", id, document_id, "-C", str(repo)]) == 3
    assert "different discussions" in capsys.readouterr().err
    assert run_json(capsys, repo, "resolve", id)["new"] is True
    assert run_json(capsys, repo, "list", "--proposal", proposal)["comments"] == []
    assert main(["proposals", "show", proposal, "-C", str(repo)]) == 0
    assert "Resolved by" in capsys.readouterr().out


def test_limit_is_reported(repo_with_guide: Path, capsys: Capture) -> None:
    for number in range(3):
        add(capsys, repo_with_guide, "guide.md", "-m", str(number))
    assert main(["comments", "list", "--limit", "1", "-C", str(repo_with_guide)]) == 0
    assert "2 more: --limit 0 lists all." in capsys.readouterr().out
    assert run_json(capsys, repo_with_guide, "list", "--limit", "1")["complete"] is False


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["add", "-m", "x"], 2),
        (["add", "guide.md", "--reply-to", "0" * 16, "-m", "x"], 2),
        (["add", "--reply-to", "0" * 16, "--quote", "y", "-m", "x"], 2),
        (["add", "gone.md", "-m", "x"], 3),
        (["add", "guide.md", "-m", " "], 3),
        (["resolve"], 2),
        (["resolve", "0" * 16], 3),
        (["list", "--proposal", "k7m2q9xa"], 3),
        (["list", "--proposal", "k7m2q9xa", "--ref", "main"], 2),
    ],
)
def test_invalid_commands_are_refused(
    repo_with_guide: Path, git: Git, capsys: Capture, arguments: list[str], code: int
) -> None:
    before = git("for-each-ref")
    assert main(["comments", *arguments, "-C", str(repo_with_guide)]) == code
    assert git("for-each-ref") == before
    assert capsys.readouterr().err
