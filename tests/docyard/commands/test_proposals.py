"""`docyard proposals`: the effect of each command, its output, and the suggested next step."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docyard.cli.main import main
from docyard.commands.proposals import COMMANDS
from tests.docyard.conftest import Git
from tests.loops import loop_over
from workspace.policy.tokens import Tokens

Capture = pytest.CaptureFixture[str]
Run = Callable[..., str]
Data = Callable[..., dict[str, Any]]

RULES = '[[protect]]\npaths = ["guide.md"]\napprovers = ["ben"]\n'


@pytest.fixture
def run(repo: Path, capsys: Capture) -> Run:
    """Return a function that runs a command, checks its exit code, and returns its output."""

    def run(*arguments: str, code: int = 0) -> str:
        assert main(["proposals", *arguments, "-C", str(repo)]) == code, capsys.readouterr()
        captured = capsys.readouterr()
        return captured.out + captured.err

    return run


@pytest.fixture
def data(run: Run) -> Data:
    """Return a function like `run` that adds --json and returns the data."""

    def data(*arguments: str, code: int = 0) -> dict[str, Any]:
        output: dict[str, Any] = json.loads(run(*arguments, "--json", code=code))
        return output

    return data


@pytest.fixture
def ben(repo: Path, tmp_path: Path) -> Path:
    """Return a file with the token of Ben, who is an approver in the rules."""
    file = tmp_path / "token"
    file.touch(mode=0o600)
    file.write_text(Tokens(repo / ".git").add("ben", "Ben", "ben@example.org"))
    return file


@pytest.fixture
def proposed(repo: Path, git: Git, data: Data) -> str:
    """Return the id of a proposal that changes a sentence, and adds a document and another file."""
    created = data("create", "Describe the retry backoff", "-d", "They *need* a bound.")
    git("switch", "--quiet", created["branch"])
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text(text.replace("A backoff with jitter.", "A backoff that doubles."))
    (repo / "new.md").write_text("# New page\n\nSome words.\n\n## One\n\nMore.\n")
    (repo / "data.bin").write_bytes(b"\x00")
    git("add", ".")
    git("commit", "--quiet", "--message", "Back off")
    git("switch", "--quiet", "main")
    return str(created["proposal"])


@loop_over("name", COMMANDS)
def test_each_command_has_help_with_an_example_and_takes_a_repository(name: str, capsys: Capture) -> None:
    assert main(["proposals", name, "--help"]) == 0
    output = capsys.readouterr().out
    assert f"Example:\n      docyard proposals {name}" in output
    assert "-C, --repo PATH" in output
    assert "--json" in output


def test_draft_is_submitted_reviewed_and_merged(
    repo: Path, git: Git, ben: Path, proposed: str, run: Run, data: Data
) -> None:
    git("branch", "keep")
    (repo / "docyard.toml").write_text(RULES)
    git("add", ".")
    git("commit", "--quiet", "--message", "Rules")
    tip = git("rev-parse", f"proposals/{proposed}-describe-the-retry-backoff")
    assert f"next: docyard proposals submit {proposed}\n" in run("show", proposed)
    assert f"Submitted {proposed} at {tip[:8]}" in run("submit", proposed)
    run("request-changes", proposed, "-m", "State by how much.")
    view = data("show", proposed)
    assert view["state"] == "changes_requested"
    assert [block["code"] for block in view["missing"]] == ["CHANGES_REQUESTED", "NEEDS_APPROVAL"]
    assert "may not be merged" in run("merge", proposed, code=3)
    git("switch", "--quiet", view["branch"])
    (repo / "guide.md").write_text((repo / "guide.md").read_text().replace("doubles.", "doubles each time."))
    git("commit", "--quiet", "--all", "--message", "By how much")
    git("switch", "--quiet", "main")
    run("submit", proposed)
    view = data("show", proposed)
    assert [(review["verdict"], review["holds"]) for review in view["reviews"]] == [
        ("request_changes", False)
    ]
    assert view["demands"][0] | {"paths": []} == {
        "rule": 1,
        "paths": [],
        "approvals_needed": 1,
        "approved_by": [],
        "approvers": ["ben"],
        "may_merge": [],
        "checks_failed": [],
        "met": False,
    }
    assert f"approve {proposed} --commit {view['tip'][:8]}" in view["next_step"]
    token = ("--token-file", str(ben))
    assert "no longer at that commit" in run("approve", proposed, "--commit", tip[:8], *token, code=3)
    run("approve", proposed, "--commit", view["tip"][:8], "-m", "Reads well.", *token)
    assert data("show", proposed)["missing"] == []
    error = run("merge", proposed, code=3)
    assert "only a person with a token can merge" in error
    assert "--token-file" in error
    merged = data("merge", proposed, *token)
    assert merged["new"]
    assert merged["commit"] == git("rev-parse", "main")
    assert "doubles each time" in (repo / "guide.md").read_text()
    repeated = run("merge", proposed, *token)
    assert repeated.startswith(f"Nothing to do: {proposed} was merged already.\n")
    assert git("rev-parse", "main") == merged["commit"]
    page = run("show", proposed)
    assert f"merged as {merged['commit'][:8]}" in page
    assert "Ben approved at" in page


def test_approval_of_own_proposal_or_without_token_is_refused(
    repo: Path, tmp_path: Path, proposed: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("submit", proposed)
    error = run("approve", proposed, code=3)
    assert "only a person with a token can approve" in error
    assert "docyard tokens add" in error
    monkeypatch.setenv("DOCYARD_TOKEN", Tokens(repo / ".git").add("ann", "Ann", "ann@example.com"))
    assert "the author of a proposal cannot approve it" in run("approve", proposed, code=3)
    monkeypatch.setenv("DOCYARD_TOKEN", "docyard_ann_" + "0" * 48)
    error = run("approve", proposed, code=3)
    assert "the token is unknown in this repository" in error
    assert "0" * 48 not in error


def test_diff_marks_changed_sections_and_words(proposed: str, run: Run, data: Data) -> None:
    output = run("diff", proposed)
    assert "    ~ A backoff [-with jitter.-]{+that doubles.+}\n" in output
    assert "Added with 1 section: One.\n" in output
    assert "    + More.\n" in output
    assert output.endswith("data.bin\n  This file is not a document.\n")
    assert "new.md" not in run("diff", proposed, "guide.md#retries")
    assert run("diff", proposed, "new.md#one") == "new.md\n  One one\n    Added.\n    + ## One\n    + More.\n"
    markdown = run("diff", proposed, "--markdown")
    assert "> A backoff ~~with jitter.~~ **that doubles.**\n" in markdown
    assert markdown.count("### `new.md`") == 1
    assert "+More.\n" in markdown
    changes = data("diff", proposed, "guide.md")
    assert [document["path"] for document in changes["documents"]] == ["guide.md"]
    assert changes["files"] == []
    error = run("diff", proposed, "guide.md#_preamble", code=3)
    assert "changes nothing at this address" in error
    assert "Name a changed document: guide.md." in error


def test_comments_follow_their_text(repo: Path, git: Git, proposed: str, run: Run, data: Data) -> None:
    run("comment", proposed, "guide.md#retries", "-m", "By how much?", "--quote", "that doubles")
    run("comment", proposed, "new.md", "-m", "\x1b[31mGood\x1b[0m\u202e.")
    [first, _] = data("show", proposed)["threads"]
    run("comment", proposed, "--reply-to", first["id"], "-m", "By two.")
    page = run("show", proposed, "--no-diff")
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "  guide.md#retries  " + first["id"] in page
    assert "    > that doubles\n    By how much?\n" in page
    assert "        By two.\n" in page
    git("switch", "--quiet", data("list")["proposals"][0]["branch"])
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text(text := text.replace("## R", "## The r"))
    git("commit", "--quiet", "--all", "--message", "Another heading")
    assert "guide.md#the-retries (was guide.md#retries)  " in run("show", proposed, "--no-diff")
    (repo / "guide.md").write_text(text.replace("that doubles", "which triples"))
    git("rm", "--quiet", "new.md")
    git("commit", "--quiet", "--all", "--message", "Other words")
    git("switch", "--quiet", "main")
    page = run("show", proposed, "--no-diff")
    assert "guide.md#the-retries (was guide.md#retries; its text has changed)" in page
    assert "new.md (deleted)" in page
    [thread] = data("show", proposed, "guide.md#the-retries")["threads"]
    assert thread["now"]["state"] == "outdated"
    assert [reply["text"] for reply in thread["replies"]] == ["By two."]
    unknown = run("comment", proposed, "--reply-to", "0" * 16, "-m", "x", code=3)
    assert first["id"] in unknown


@pytest.mark.process
def test_text_is_read_from_pipe_or_editor(
    tmp_path: Path, proposed: str, run: Run, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pipe(raw: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))

    pipe("Two lines,\nthe second: ü.\n".encode())
    run("comment", proposed)
    pipe(b"")
    assert "the text is empty" in run("comment", proposed, code=3)
    pipe(b"\xff")
    assert "not UTF-8" in run("comment", proposed, code=3)
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\nprintf "# Heading\\n\\nTyped.\\n\\n" | cat - "$1" > "$1.new" && mv "$1.new" "$1"\n'
    )
    editor.chmod(0o755)
    monkeypatch.setenv("GIT_EDITOR", str(editor))
    monkeypatch.setattr("docyard.cli.proposals.actions.is_terminal", lambda stream: True)
    run("comment", proposed)
    texts = [thread["text"] for thread in data("show", proposed)["threads"]]
    assert texts == ["Two lines,\nthe second: ü.", "# Heading\n\nTyped."]


def test_lists_report_omitted_proposals(proposed: str, run: Run, data: Data) -> None:
    second = data("create", "Describe the retry backoff", "--submit")["proposal"]
    page = run("show", second)
    assert "it has no commit of its own yet" in page
    assert "There are no changes yet." in page
    assert f"next: git switch proposals/{second}-" in page
    assert "has no commit of its own" in run("merge", second, code=3)
    third = data("create", "Closed soon")["proposal"]
    closed = run("close", third, "-m", "Done elsewhere.")
    assert f"next: docyard proposals reopen {third} reopens it\n" in closed
    listing = data("list")
    assert {proposal["proposal"] for proposal in listing["proposals"]} == {proposed, second}
    assert listing["complete"]
    output = run("list", "--limit", "1")
    assert "1 of 2; --limit 0 shows all.\n" in output
    assert [line.split("\t")[:2] for line in run("list", "--state", "closed").splitlines()] == [
        [third, "closed"]
    ]
    assert "No proposal is merged; in other states: 1 draft, 1 open and 1 closed." in run(
        "list", "--state", "merged"
    )
    run("reopen", third)
    assert f"{third} is open already" in run("reopen", third)
    assert data("list", "--state", "all")["total"] == 3


def test_title_and_description_are_edited_within_limits(
    repo: Path, tmp_path: Path, proposed: str, run: Run, data: Data
) -> None:
    description = tmp_path / "description.md"
    description.write_text("# Why\n\nBecause.\n")
    run("edit", proposed, "--title", "Retries  🦆\n back off", "-F", str(description))
    view = data("show", proposed)
    assert (view["title"], view["description"]) == ("Retries 🦆 back off", "# Why\n\nBecause.")
    assert "already" in run("edit", proposed, "--title", "Retries 🦆 back off")
    error = run("create", "x" * 10_000, code=3)
    assert "10,000 characters; the limit is 256" in error
    assert "x" * 50 not in error
    run("create", " ", code=3)
    run("edit", proposed, code=2)
    run("edit", proposed, "-d", "x", "-F", "y", code=2)
    assert data("list", "--state", "all")["total"] == 1


def test_unknown_id_suggests_nearest(proposed: str, run: Run) -> None:
    for command in ("show", "diff", "submit", "conflicts", "refresh", "merge", "close"):
        assert f"such as '{proposed}'" in run(command, proposed[:-1], code=3)
    assert "no proposal" in run("show", "main", code=3)
    assert run("show", f"proposals/{proposed}").startswith(proposed)


def test_deleted_branch_is_reported_with_fix(
    repo: Path, git: Git, proposed: str, run: Run, data: Data
) -> None:
    run("submit", proposed)
    branch = data("show", proposed)["branch"]
    tip = git("rev-parse", branch)
    git("branch", "-D", branch)
    page = run("show", proposed)
    assert "the proposal's branch was deleted" in page
    assert f"next: git branch {branch} {tip[:8]} restores its branch\n" in page
    assert "does not exist" in run("conflicts", proposed, code=3)
    assert "No proposal is open; in other states: 1 gone." in run("list")
    git("branch", branch, tip)
    assert data("show", proposed)["state"] == "open"
    git("branch", "-f", branch, "main")
    assert "the branch was rewritten" in run("show", proposed)


def test_overlap_with_other_proposal_is_reported(
    repo: Path, git: Git, proposed: str, run: Run, data: Data
) -> None:
    other = data("create", "The same section")
    git("switch", "--quiet", other["branch"])
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text(text.replace("A backoff with jitter.", "A jitter."))
    git("commit", "--quiet", "--all", "--message", "Jitter")
    git("switch", "--quiet", "main")
    page = run("show", proposed, "--no-diff")
    assert f"Overlaps with 1 other proposal\n  {other['proposal']}  The same section\n" in page
    assert "            guide.md#retries\n" in page


def test_ids_and_addresses_are_completed(repo: Path, proposed: str, data: Data) -> None:
    from click.shell_completion import ShellComplete

    from docyard.cli.main import docyard

    closed = data("create", "Closed")["proposal"]
    assert main(["proposals", "close", closed, "-C", str(repo)]) == 0
    shell = ShellComplete(docyard, {}, "docyard", "_X")

    def complete(*words: str) -> list[str]:
        *previous_words, incomplete = words
        return [item.value for item in shell.get_completions(["proposals", *previous_words], incomplete)]

    options = ("-C", str(repo))
    assert complete("show", *options, "") == [proposed, closed]
    assert complete("diff", *options, proposed, "n") == ["new.md"]
    assert complete("diff", *options, proposed, "new.md#") == ["new.md#_preamble", "new.md#one"]
    assert "request-changes" in complete("req")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_missing_repository_returns_error(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["proposals", "list", "-C", str(tmp_path / "empty")]) == 3
    assert "not a Git repository" in capsys.readouterr().err
