"""`docyard diff`: which two commits are compared, and how it is told."""

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
Run = Callable[..., str]

GUIDE = "# Guide\n\nHow to begin.\n\n## Retries\n\nA backoff with {}.\n\n## Limits\n\nTen {}.\n"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """Three commits on `main`, the first tagged v1; a branch `side` that parted after the second.

    `origin` is a root of its own.
    """
    repo = repositories.unborn(tmp_path_factory.mktemp("diff") / "specs")
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
def run(here: Repo, capsys: Capture) -> Run:
    """Runs the command there, with an exit code that is expected; gives all that it prints."""

    def run(*arguments: str, code: int = 0) -> str:
        assert main(["diff", *arguments, "-C", str(here.path)]) == code, capsys.readouterr()
        captured = capsys.readouterr()
        return captured.out + captured.err

    return run


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
def test_which_commits_are_compared(
    here: Repo, run: Run, refs: tuple[str, ...], base: str, tip: str, paths: list[str]
) -> None:
    found = json.loads(run(*refs, "--json"))
    ends = [here.git("rev-parse", name).strip() for name in (base, tip)]
    assert [found["base"], found["tip"]] == ends
    assert [one["path"] for one in found["documents"]] == paths


def test_the_first_commit_is_compared_with_nothing(
    here: Repo, tmp_path: Path, run: Run, capsys: Capture
) -> None:
    repo = repositories.normal(tmp_path / "one")
    assert main(["diff", "-C", str(repo.path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["base"], found["tip"]) == (None, repo.head())
    assert {one["kind"] for one in found["documents"]} == {"added"}


def test_people_see_the_words_that_differ(run: Run) -> None:
    shown = run()
    assert "guide.md" in shown
    assert "[-jitter.-]{+a bound.+}" in shown
    assert "Soon." in shown
    assert "Limits" not in shown
    assert "data.bin" in run("...side")


def test_markdown_is_that_of_proposals(run: Run) -> None:
    shown = run("--markdown")
    assert "### `guide.md`" in shown
    assert "~~jitter.~~" in shown
    assert "**a bound.**" in shown


@pytest.mark.parametrize("form", [(), ("--markdown",)], ids=["text", "markdown"])
def test_nothing_is_said_in_a_sentence(run: Run, form: tuple[str, ...]) -> None:
    assert run("main", "main", *form) == "No document differs.\n"


def test_a_place_may_be_named(run: Run) -> None:
    found = json.loads(run("v1", "--path", "guide.md#limits", "--json"))
    assert [change["address"] for one in found["documents"] for change in one["changes"]] == ["limits"]
    assert "{+ a second.+}" in run("v1", "--path", "guide.md#limits")
    assert "Soon." in run("--path", "gone.md")
    refused = run("--path", "guide.md#limits", code=3)
    assert "changes nothing there" in refused
    assert "guide.md" in refused


@loop_over(
    ("arguments", "code", "says"),
    [
        (("mian",), 3, "Did you mean 'main'?"),
        (("v1...sied",), 3, "Did you mean 'side'?"),
        (("main...origin",), 3, "two dots"),
        (("a", "b", "c"), 2, "at most two"),
        (("v1..main", "side"), 2, "at most two"),
        (("--json", "--markdown"), 2, "choose one"),
        (("v1....main",), 3, "names no branch"),
    ],
    ids=["unknown", "unknown-side", "unrelated", "three", "range-and-more", "two-forms", "four-dots"],
)
def test_what_cannot_be_compared_says_what_to_do(
    run: Run, arguments: tuple[str, ...], code: int, says: str
) -> None:
    assert says in run(*arguments, code=code)


def test_where_a_clone_ends_it_says_how_to_have_more(here: Repo, tmp_path: Path, capsys: Capture) -> None:
    here.git("clone", "-q", "--depth", "1", f"file://{here.path}", str(tmp_path / "shallow"))
    assert main(["diff", "-C", str(tmp_path / "shallow")]) == 3
    assert "fetch-depth: 0" in capsys.readouterr().err


def test_a_branch_without_a_commit_says_so(tmp_path: Path, capsys: Capture) -> None:
    repo = repositories.unborn(tmp_path / "new")
    assert main(["diff", "-C", str(repo.path)]) == 3
    assert "no commit yet" in capsys.readouterr().err
