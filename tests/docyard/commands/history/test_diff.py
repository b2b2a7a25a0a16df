"""`docyard diff`: the compared commits, and the output formats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests import repositories
from tests.loops import loop_over
from tests.repositories import Repo

Capture = pytest.CaptureFixture[str]
RunDiff = Callable[..., str]

GUIDE = "# Guide\n\nHow to begin.\n\n## Retries\n\nA backoff with {}.\n\n## Limits\n\nTen {}.\n"


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Return a repository with three commits on `main`, the first with the tag v1.

    The branch `side` starts at the second commit. `origin` is an unrelated branch with its own root commit.
    """
    repo = repositories.create_empty_repository(tmp_path_factory.mktemp("diff") / "specs")
    repo.commit({"guide.md": GUIDE.format("jitter", "calls"), "gone.md": "# Gone\n\nSoon.\n"})
    repo.git("tag", "v1")
    repo.commit({"guide.md": GUIDE.format("jitter", "calls a second")})
    repo.git("switch", "-q", "-c", "side")
    repo.commit({"side.md": "# Side\n\nA heron.\n", "data.bin": b"\x00"})
    repo.git("switch", "-q", "main")
    repo.git("rm", "-q", "gone.md")
    repo.commit({"guide.md": GUIDE.format("a bound", "calls a second")}, "Third")
    repo.git("switch", "-q", "--orphan", "origin")
    repo.commit({"other.md": "# Other\n"})
    repo.git("switch", "-q", "main")
    return repo


@pytest.fixture
def run_diff(specs: Repo, capsys: Capture) -> RunDiff:
    """Return a function that runs the command, checks its exit code, and returns its output."""

    def run_diff(*arguments: str, code: int = 0) -> str:
        assert main(["diff", *arguments, "-C", str(specs.path)]) == code, capsys.readouterr()
        captured = capsys.readouterr()
        return captured.out + captured.err

    return run_diff


@loop_over(
    ("refs", "base", "tip", "paths"),
    [
        ((), "main~1", "main", ["gone.md", "guide.md"]),
        (("v1",), "v1", "main", ["gone.md", "guide.md"]),
        (("v1", "main~1"), "v1", "main~1", ["guide.md"]),
        (("v1..main~1",), "v1", "main~1", ["guide.md"]),
        (("v1..",), "v1", "main", ["gone.md", "guide.md"]),
        (("..side",), "main", "side", ["gone.md", "guide.md", "side.md"]),
        (("main...side",), "main~1", "side", ["side.md"]),
        (("...side",), "main~1", "side", ["side.md"]),
        (("side...HEAD",), "main~1", "main", ["gone.md", "guide.md"]),
        (("origin", "v1"), "origin", "v1", ["gone.md", "guide.md", "other.md"]),
        (("main", "main"), "main", "main", []),
    ],
    ids=lambda value: "-".join(value) or "none" if isinstance(value, tuple) else None,
)
def test_refs_select_compared_commits(
    specs: Repo, run_diff: RunDiff, refs: tuple[str, ...], base: str, tip: str, paths: list[str]
) -> None:
    data = json.loads(run_diff(*refs, "--json"))
    commits = [specs.git("rev-parse", name).strip() for name in (base, tip)]
    assert [data["base"], data["tip"]] == commits
    assert [document["path"] for document in data["documents"]] == paths


def test_first_commit_is_compared_with_empty_tree(
    specs: Repo, tmp_path: Path, run_diff: RunDiff, capsys: Capture
) -> None:
    repo = repositories.create_repository(tmp_path / "one")
    assert main(["diff", "-C", str(repo.path), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["base"], data["tip"]) == (None, repo.head())
    assert {document["kind"] for document in data["documents"]} == {"added"}


def test_text_marks_changed_words(run_diff: RunDiff) -> None:
    output = run_diff()
    assert "guide.md" in output
    assert "[-jitter.-]{+a bound.+}" in output
    assert "Soon." in output
    assert "Limits" not in output
    assert "data.bin" in run_diff("...side")


def test_markdown_marks_changed_words(run_diff: RunDiff) -> None:
    output = run_diff("--markdown")
    assert "### `guide.md`" in output
    assert "~~jitter.~~" in output
    assert "**a bound.**" in output


@pytest.mark.parametrize("format_option", [(), ("--markdown",)], ids=["text", "markdown"])
def test_equal_commits_print_a_message(run_diff: RunDiff, format_option: tuple[str, ...]) -> None:
    assert run_diff("main", "main", *format_option) == "No document differs.\n"


def test_path_option_limits_changes(run_diff: RunDiff) -> None:
    data = json.loads(run_diff("v1", "--path", "guide.md#limits", "--json"))
    assert [change["address"] for document in data["documents"] for change in document["changes"]] == [
        "limits"
    ]
    assert "{+ a second.+}" in run_diff("v1", "--path", "guide.md#limits")
    assert "Soon." in run_diff("--path", "gone.md")
    error = run_diff("--path", "guide.md#limits", code=3)
    assert "changes nothing at this address" in error
    assert "guide.md" in error


@loop_over(
    ("arguments", "code", "expected"),
    [
        (("mian",), 3, "Did you mean 'main'?"),
        (("v1...sied",), 3, "Did you mean 'side'?"),
        (("main...origin",), 3, "two dots"),
        (("a", "b", "c"), 2, "at most two"),
        (("v1..main", "side"), 2, "at most two"),
        (("--json", "--markdown"), 2, "choose one"),
        (("v1....main",), 3, "names no branch"),
    ],
    ids=["unknown", "unknown-side", "unrelated", "three", "range-and-more", "two-formats", "four-dots"],
)
def test_invalid_refs_or_options_return_error(
    run_diff: RunDiff, arguments: tuple[str, ...], code: int, expected: str
) -> None:
    assert expected in run_diff(*arguments, code=code)


def test_shallow_clone_returns_error_with_fix(specs: Repo, tmp_path: Path, capsys: Capture) -> None:
    specs.git("clone", "-q", "--depth", "1", f"file://{specs.path}", str(tmp_path / "shallow"))
    assert main(["diff", "-C", str(tmp_path / "shallow")]) == 3
    assert "fetch-depth: 0" in capsys.readouterr().err


def test_branch_without_commits_returns_error(tmp_path: Path, capsys: Capture) -> None:
    repo = repositories.create_empty_repository(tmp_path / "new")
    assert main(["diff", "-C", str(repo.path)]) == 3
    assert "no commit yet" in capsys.readouterr().err
