"""`docyard list`: documents by folder or glob, with their titles."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests.docyard.conftest import Git

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def repo_with_folders(repo: Path, git: Git) -> Path:
    """Return a repository with documents in folders, one of them without a title, and a file."""
    for path, text in {
        "api/v1.md": "# First version\n",
        "api/old/v0.md": "No heading.\n",
        "plans/next.md": "# Next\n",
        "plans/code.py": "pass\n",
    }.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    git("add", ".")
    git("commit", "--quiet", "--message", "Folders")
    return repo


def list_paths(repo: Path, capsys: Capture, *arguments: str) -> list[str]:
    """Return the paths that `docyard list` prints."""
    assert main(["list", *arguments, "-C", str(repo)]) == 0
    return [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]


def test_all_documents_are_listed_with_titles(repo_with_folders: Path, capsys: Capture) -> None:
    assert main(["list", "-C", str(repo_with_folders)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "api/old/v0.md\tv0",
        "api/v1.md\tFirst version",
        "guide.md\tGuide",
        "plans/next.md\tNext",
    ]


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("api", ["api/old/v0.md", "api/v1.md"]),
        ("./api/", ["api/old/v0.md", "api/v1.md"]),
        ("**/v?.md", ["api/old/v0.md", "api/v1.md"]),
        ("guide.md", ["guide.md"]),
    ],
)
def test_folder_document_or_glob_selects(
    repo_with_folders: Path, capsys: Capture, glob: str, paths: list[str]
) -> None:
    assert list_paths(repo_with_folders, capsys, glob) == paths


def test_path_may_be_relative_to_current_folder(repo_with_folders: Path, capsys: Capture) -> None:
    assert list_paths(repo_with_folders / "api", capsys, "old") == ["api/old/v0.md"]
    assert len(list_paths(repo_with_folders / "api", capsys, "..")) == 4


def test_data_has_paths_titles_and_commit(repo_with_folders: Path, git: Git, capsys: Capture) -> None:
    assert main(["list", "api", "--json", "-C", str(repo_with_folders)]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "documents": [
            {"path": "api/old/v0.md", "title": "v0"},
            {"path": "api/v1.md", "title": "First version"},
        ],
        "total": 2,
        "commit": git("rev-parse", "HEAD"),
    }


def test_ref_lists_earlier_documents(repo_with_folders: Path, capsys: Capture) -> None:
    assert list_paths(repo_with_folders, capsys, "--ref", "HEAD~1") == ["guide.md"]


@pytest.mark.parametrize("glob", ["aip", "*.txt", "../x", "/etc", "plans/code.py"])
def test_glob_without_documents_is_refused_with_fix(
    repo_with_folders: Path, capsys: Capture, glob: str
) -> None:
    assert main(["list", glob, "-C", str(repo_with_folders)]) == 3
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "\n  fix: " in error


def test_empty_repository_has_no_documents(tmp_path: Path, git: Git, capsys: Capture) -> None:
    git("init", "--quiet", str(tmp_path / "empty"), cwd=tmp_path)
    assert main(["list", "-C", str(tmp_path / "empty")]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "There are no documents.\n")


def run_git_commands(git: Git, commands: str) -> None:
    """Run the git commands of a fix, as a shell does."""
    for command in commands.split(" && "):
        program, *arguments = shlex.split(command)
        assert program == "git"
        git(*arguments)


def test_documents_that_are_not_committed_are_counted(repo: Path, git: Git, capsys: Capture) -> None:
    for path in ("new note.md", "api/v2.md", "code.py", ".hidden/a.md"):
        (repo / path).parent.mkdir(exist_ok=True)
        (repo / path).write_text("# New\n")
    assert list_paths(repo, capsys) == ["guide.md"]
    assert main(["list", "-C", str(repo)]) == 0
    message, fix = capsys.readouterr().err.splitlines()
    assert message == (
        "warning: 2 Markdown files are not committed, and only committed files are served: "
        "api/v2.md, new note.md"
    )
    run_git_commands(git, fix.removeprefix("  fix: "))
    assert list_paths(repo, capsys) == ["api/v2.md", "guide.md", "new note.md"]
    assert git("status", "--porcelain") == "?? .hidden/\n?? code.py"
    assert main(["list", "-C", str(repo)]) == 0
    assert capsys.readouterr().err == ""


def test_uncommitted_documents_outside_of_glob_ref_or_branch_are_not_reported(
    repo: Path, git: Git, capsys: Capture
) -> None:
    (repo / "new.md").write_text("# New\n")
    git("branch", "other")
    for arguments in (["guide.md"], ["--ref", "HEAD"], ["--branch", "other"]):
        assert main(["list", *arguments, "-C", str(repo)]) == 0
        assert capsys.readouterr().err == "", arguments


def test_many_uncommitted_documents_are_committed_by_a_pattern(
    repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(repo)
    (repo / "api").mkdir()
    for number in range(12):
        (repo / f"api/{number}.md").write_text("# New\n")
    assert main(["list"]) == 0
    fix = capsys.readouterr().err.splitlines()[1].removeprefix("  fix: ")
    assert fix == "git add -- '*.md' && git commit -m \"Add documents\""
    run_git_commands(git, fix)
    assert git("status", "--porcelain") == ""
