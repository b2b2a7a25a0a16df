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
RunCommand = Callable[..., str]
RunJson = Callable[..., dict[str, Any]]

POLICY_SETTINGS = '[[protect]]\npaths = ["guide.md"]\napprovers = ["ben"]\n'


@pytest.fixture
def run_command(repo: Path, capsys: Capture) -> RunCommand:
    """Return a function that runs a command, checks its exit code, and returns its output."""

    def run_command(*arguments: str, code: int = 0) -> str:
        assert main(["proposals", *arguments, "-C", str(repo)]) == code, capsys.readouterr()
        captured = capsys.readouterr()
        return (captured.out + captured.err).replace(f" -C {repo}", "")

    return run_command


@pytest.fixture
def run_json(run_command: RunCommand) -> RunJson:
    """Return a function that runs a command with --json, and returns the parsed output."""

    def run_json(*arguments: str, code: int = 0) -> dict[str, Any]:
        output: dict[str, Any] = json.loads(run_command(*arguments, "--json", code=code))
        return output

    return run_json


@pytest.fixture
def ben_token_file(repo: Path, tmp_path: Path) -> Path:
    """Return a file with the token of Ben, an approver in `POLICY_SETTINGS`."""
    token_file = tmp_path / "token"
    token_file.touch(mode=0o600)
    token_file.write_text(Tokens(repo / ".git").add("ben", "Ben", "ben@example.org"))
    return token_file


@pytest.fixture
def proposal_id(repo: Path, git: Git, run_json: RunJson) -> str:
    """Return the id of a proposal that changes a sentence, and adds a document and another file."""
    new_proposal = run_json("create", "Describe the retry backoff", "-d", "They *need* a bound.")
    git("switch", "--quiet", new_proposal["branch"])
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text(text.replace("A backoff with jitter.", "A backoff that doubles."))
    (repo / "new.md").write_text("# New page\n\nSome words.\n\n## One\n\nMore.\n")
    (repo / "data.bin").write_bytes(b"\x00")
    git("add", ".")
    git("commit", "--quiet", "--message", "Back off")
    git("switch", "--quiet", "main")
    return str(new_proposal["proposal"])


@loop_over("name", COMMANDS)
def test_each_subcommand_has_help_with_example_and_repository_option(name: str, capsys: Capture) -> None:
    assert main(["proposals", name, "--help"]) == 0
    output = capsys.readouterr().out
    assert f"Example:\n      docyard proposals {name}" in output
    assert "-C, --repo PATH" in output
    assert "--json" in output


def test_draft_is_submitted_reviewed_and_merged(
    repo: Path, git: Git, ben_token_file: Path, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    git("branch", "keep")
    (repo / "docyard.toml").write_text(POLICY_SETTINGS)
    git("add", ".")
    git("commit", "--quiet", "--message", "Rules")
    tip = git("rev-parse", f"proposals/{proposal_id}-describe-the-retry-backoff")
    assert f"next: docyard proposals submit {proposal_id}\n" in run_command("show", proposal_id)
    assert f"Submitted {proposal_id} at {tip[:8]}" in run_command("submit", proposal_id)
    run_command("request-changes", proposal_id, "-m", "State by how much.")
    view = run_json("show", proposal_id)
    assert view["state"] == "changes_requested"
    assert [requirement["code"] for requirement in view["missing"]] == ["CHANGES_REQUESTED", "NEEDS_APPROVAL"]
    assert "may not be merged" in run_command("merge", proposal_id, code=3)
    git("switch", "--quiet", view["branch"])
    (repo / "guide.md").write_text((repo / "guide.md").read_text().replace("doubles.", "doubles each time."))
    git("commit", "--quiet", "--all", "--message", "By how much")
    git("switch", "--quiet", "main")
    run_command("submit", proposal_id)
    view = run_json("show", proposal_id)
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
    assert f"approve {proposal_id} --commit {view['tip'][:8]}" in view["next_step"]
    token_options = ("--token-file", str(ben_token_file))
    assert f"is at {view['tip'][:8]}, and not at {tip[:8]}" in run_command(
        "approve", proposal_id, "--commit", tip[:8], *token_options, code=3
    )
    run_command("approve", proposal_id, "--commit", view["tip"][:8], "-m", "Reads well.", *token_options)
    assert run_json("show", proposal_id)["missing"] == []
    error = run_command("merge", proposal_id, code=3)
    assert "only a person with a token can merge" in error
    assert "--token-file" in error
    merge_result = run_json("merge", proposal_id, *token_options)
    assert merge_result["new"]
    assert merge_result["commit"] == git("rev-parse", "main")
    assert "doubles each time" in (repo / "guide.md").read_text()
    repeated_output = run_command("merge", proposal_id, *token_options)
    assert repeated_output.startswith(f"Nothing to do: {proposal_id} was merged already.\n")
    assert git("rev-parse", "main") == merge_result["commit"]
    page = run_command("show", proposal_id)
    assert f"merged as {merge_result['commit'][:8]}" in page
    assert "Ben approved at" in page


def test_approval_of_own_proposal_or_without_token_is_refused(
    repo: Path, tmp_path: Path, proposal_id: str, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_command("submit", proposal_id)
    error = run_command("approve", proposal_id, code=3)
    assert "only a person with a token can approve" in error
    assert "docyard tokens add" in error
    monkeypatch.setenv("DOCYARD_TOKEN", Tokens(repo / ".git").add("ann", "Ann", "ann@example.com"))
    assert "the author of a proposal cannot approve it" in run_command("approve", proposal_id, code=3)
    monkeypatch.setenv("DOCYARD_TOKEN", "docyard_ann_" + "0" * 48)
    error = run_command("approve", proposal_id, code=3)
    assert "the token is unknown in this repository" in error
    assert "0" * 48 not in error


def test_approval_that_no_person_can_give_is_not_the_next_step(
    repo: Path, git: Git, proposal_id: str, run_command: RunCommand
) -> None:
    (repo / "docyard.toml").write_text('[[protect]]\npaths = ["**"]\napprovers = ["ann"]\n')
    git("add", "docyard.toml")
    git("commit", "--quiet", "--message", "Rules")
    Tokens(repo / ".git").add("ann", "Ann", "ann@example.com")
    run_command("submit", proposal_id)
    page = run_command("show", proposal_id)
    assert "next: add an approver to rule 1 of docyard.toml" in page
    assert f"proposals approve {proposal_id}" not in page


def test_empty_proposal_is_not_submitted_or_approved(
    ben_token_file: Path, run_command: RunCommand, run_json: RunJson
) -> None:
    proposal = run_json("create", "Empty")
    for command in ("submit", "approve"):
        error = run_command(command, proposal["proposal"], "--token-file", str(ben_token_file), code=3)
        assert "has no commit of its own" in error
        assert f"Commit changes on its branch (`git switch {proposal['branch']}`)" in error
        assert f"`docyard proposals close --token-file {ben_token_file} {proposal['proposal']}`" in error


def test_token_of_an_agent_is_named_as_the_reason_that_it_cannot_approve(
    repo: Path, proposal_id: str, run_command: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_command("submit", proposal_id)
    scopes = frozenset(("docs:read", "docs:write"))
    secret = Tokens(repo / ".git").add("agent", "Ben", "ben@example.org", scopes=scopes)
    monkeypatch.setenv("DOCYARD_TOKEN", secret)
    error = run_command("approve", proposal_id, code=3)
    assert "The token in DOCYARD_TOKEN lacks the scope docs:review" in error
    assert "Pass a person's own token" in error


def test_approval_by_a_person_who_is_not_an_approver_is_reported_and_leaves_the_proposal_open(
    repo: Path,
    git: Git,
    tmp_path: Path,
    ben_token_file: Path,
    proposal_id: str,
    run_command: RunCommand,
    run_json: RunJson,
) -> None:
    (repo / "docyard.toml").write_text(POLICY_SETTINGS.replace('["ben"]', '["ana", "ben"]'))
    git("add", ".")
    git("commit", "--quiet", "--message", "Rules")
    run_command("submit", proposal_id)
    carl_token_file = tmp_path / "carl"
    carl_token_file.touch(mode=0o600)
    carl_token_file.write_text(Tokens(repo / ".git").add("carl", "Carl", "carl@example.org"))
    carl_options, ben_options = ("--token-file", str(carl_token_file)), ("--token-file", str(ben_token_file))
    output = " ".join(run_command("approve", proposal_id, *carl_options).split())
    assert "The approval is recorded, but it does not count: guide.md needs 1 approval by ana or" in output
    assert "not counted are approvals by people who are not approvers" in output
    result = run_json("approve", proposal_id, *carl_options)
    assert (result["state"], len(result["hints"])) == ("open", 1)
    view = run_json("show", proposal_id)
    assert (view["state"], view["reviews"][-1]["void"]) == ("open", "not_approver")
    assert [proposal["state"] for proposal in run_json("list")["proposals"]] == ["open"]
    result = run_json("approve", proposal_id, *ben_options)
    assert (result["state"], "hints" in result) == ("approved", False)
    assert [proposal["state"] for proposal in run_json("list")["proposals"]] == ["approved"]


def test_merged_proposal_is_not_approved_and_is_pushed_only_with_a_remote(
    git: Git, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    second_id = run_json("create", "Other", "-d", "")["proposal"]
    git("commit", "--quiet", "--allow-empty", "--message", "Meanwhile")
    assert "docyard sync" not in run_command("merge", proposal_id)
    assert "docyard sync" not in run_command("comment", proposal_id, "-m", "Thanks.")
    assert "was merged already" in run_command("approve", proposal_id, code=3)
    git("remote", "add", "origin", "/nonexistent")
    git("switch", "--quiet", f"proposals/{second_id}-other")
    git("commit", "--quiet", "--allow-empty", "--message", "Empty")
    git("switch", "--quiet", "main")
    assert "docyard sync pushes it" in run_command("merge", second_id)


def test_wrong_usage_names_the_command_and_a_hint(proposal_id: str, run_command: RunCommand) -> None:
    error = run_command("submit", proposal_id, "zzzzzzzz", code=2)
    assert "ID is one id, as `docyard proposals list` shows them." in error
    assert main(["proposals", "refresh", proposal_id, "--ours"]) == 2


def test_front_matter_of_a_new_document_is_shown_once(
    repo: Path, git: Git, proposal_id: str, run_command: RunCommand
) -> None:
    git("switch", "--quiet", git("branch", "--list", "proposals/*", "--format=%(refname:short)"))
    (repo / "typed.md").write_text("---\ntype: document\n---\n\n# Typed\n\nText.\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Typed")
    assert run_command("show", proposal_id).count("Front matter, type") == 1


def test_review_of_a_draft_names_the_author_of_the_next_step(
    ben_token_file: Path, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    step = f"for the author, Ann Author: docyard proposals submit {proposal_id}"
    assert f"next: {step}\n" in run_command("approve", proposal_id, "--token-file", str(ben_token_file))
    assert run_json("approve", proposal_id, "--token-file", str(ben_token_file))["next_step"] == step
    assert f"next: docyard proposals submit {proposal_id}\n" in run_command("edit", proposal_id, "-d", "Why.")
    run_command("submit", proposal_id)
    output = run_command("approve", proposal_id, "--token-file", str(ben_token_file))
    assert f"next: docyard proposals merge --token-file {ben_token_file} {proposal_id}\n" in output
    output = run_command("request-changes", proposal_id, "-m", "Why?")
    assert "next: for the author, Ann Author: git switch" in output


@pytest.mark.parametrize("blank", ["", " "])
def test_empty_id_or_address_is_refused_with_a_fix(
    blank: str, proposal_id: str, run_command: RunCommand
) -> None:
    error = run_command("comment", blank, "guide.md", "-m", "Why?", code=2)
    assert "ID is empty: name a proposal by its id, which `docyard proposals list` shows" in error
    error = run_command("comment", proposal_id, blank, "-m", "Why?", code=2)
    assert "FILE is empty: name a document or a section, or omit the argument" in error
    assert "ID is empty" in run_command("approve", blank, code=2)


def test_diff_and_page_since_review_show_later_changes(
    repo: Path, git: Git, ben_token_file: Path, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    token_option = ("--token-file", str(ben_token_file))
    options = ("--since-review", *token_option)
    output = run_command("diff", proposal_id, *options, code=3)
    assert f"Ben has not reviewed proposal {proposal_id}" in output
    run_command("submit", proposal_id)
    run_command("request-changes", proposal_id, "-m", "Why?", *token_option)
    reviewed = run_json("diff", proposal_id)["commit"]
    nothing = f"Nothing has changed since your review of {reviewed[:8]}.\n"
    assert run_command("diff", proposal_id, *options) == nothing
    assert nothing in run_command("show", proposal_id, *options)
    git("switch", "--quiet", git("branch", "--list", "proposals/*", "--format=%(refname:short)"))
    (repo / "new.md").write_text("# New page\n\nSome words.\n\n## One\n\nMuch more.\n")
    git("commit", "--quiet", "--all", "--message", "Say more")
    git("switch", "--quiet", "main")
    data = run_json("diff", proposal_id, *options)
    assert data["base"] == reviewed
    assert [document["path"] for document in data["documents"]] == ["new.md"]
    assert "guide.md" not in run_command("diff", proposal_id, *options)
    page = run_command("show", proposal_id, *options)
    assert "Much more." in page.partition("Changes since your review")[2]
    assert "guide.md" not in page.partition("Changes since your review")[2]
    output = run_command("diff", proposal_id, "guide.md", *options, code=3)
    assert "the proposal, since your review, changes nothing at this address" in output


def test_diff_marks_changed_sections_and_words(
    proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    output = run_command("diff", proposal_id)
    assert "    ~ A backoff [-with jitter.-]{+that doubles.+}\n" in output
    assert "Added with 1 section: One.\n" in output
    assert "    + More.\n" in output
    assert output.endswith("data.bin\n  This file is not a document.\n")
    assert "new.md" not in run_command("diff", proposal_id, "guide.md#retries")
    assert (
        run_command("diff", proposal_id, "new.md#one")
        == "new.md\n  One one\n    Added.\n    + ## One\n    + More.\n"
    )
    markdown = run_command("diff", proposal_id, "--markdown")
    assert "> A backoff ~~with jitter.~~ **that doubles.**\n" in markdown
    assert markdown.count("### `new.md`") == 1
    assert "+More.\n" in markdown
    changes = run_json("diff", proposal_id, "guide.md")
    assert [document["path"] for document in changes["documents"]] == ["guide.md"]
    assert changes["files"] == []
    error = run_command("diff", proposal_id, "guide.md#_preamble", code=3)
    assert "changes nothing at this address" in error
    assert "Name a changed document: guide.md." in error


def test_comments_follow_their_text(
    repo: Path, git: Git, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    run_command("comment", proposal_id, "guide.md#retries", "-m", "By how much?", "--quote", "that doubles")
    run_command("comment", proposal_id, "new.md", "-m", "\x1b[31mGood\x1b[0m\u202e.")
    [first_thread, _] = run_json("show", proposal_id)["threads"]
    run_command("comment", proposal_id, "--reply-to", first_thread["id"], "-m", "By two.")
    page = run_command("show", proposal_id, "--no-diff")
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "  guide.md#retries  " + first_thread["id"] in page
    assert "    > that doubles\n    By how much?\n" in page
    assert "        By two.\n" in page
    git("switch", "--quiet", run_json("list")["proposals"][0]["branch"])
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text(text := text.replace("## R", "## The r"))
    git("commit", "--quiet", "--all", "--message", "Another heading")
    assert "guide.md#the-retries (was guide.md#retries)  " in run_command("show", proposal_id, "--no-diff")
    (repo / "guide.md").write_text(text.replace("that doubles", "which triples"))
    git("rm", "--quiet", "new.md")
    git("commit", "--quiet", "--all", "--message", "Other words")
    git("switch", "--quiet", "main")
    page = run_command("show", proposal_id, "--no-diff")
    assert "guide.md#the-retries (was guide.md#retries; its text has changed)" in page
    assert "new.md (deleted)" in page
    [thread] = run_json("show", proposal_id, "guide.md#the-retries")["threads"]
    assert thread["now"]["state"] == "outdated"
    assert [reply["text"] for reply in thread["replies"]] == ["By two."]
    error = run_command("comment", proposal_id, "--reply-to", "0" * 16, "-m", "x", code=3)
    assert first_thread["id"] in error


@pytest.mark.process
def test_comment_is_read_from_pipe_or_editor(
    tmp_path: Path,
    proposal_id: str,
    run_command: RunCommand,
    run_json: RunJson,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pipe(data: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))

    pipe("Two lines,\nthe second: ü.\n".encode())
    run_command("comment", proposal_id)
    pipe(b"")
    assert "the text is empty" in run_command("comment", proposal_id, code=3)
    pipe(b"\xff")
    assert "not UTF-8" in run_command("comment", proposal_id, code=3)
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\nprintf "# Heading\\n\\nTyped.\\n\\n" | cat - "$1" > "$1.new" && mv "$1.new" "$1"\n'
    )
    editor.chmod(0o755)
    monkeypatch.setenv("GIT_EDITOR", str(editor))
    monkeypatch.setattr("docyard.cli.proposals.actions.is_terminal", lambda stream: True)
    run_command("comment", proposal_id)
    texts = [thread["text"] for thread in run_json("show", proposal_id)["threads"]]
    assert texts == ["Two lines,\nthe second: ü.", "# Heading\n\nTyped."]


def test_list_reports_omitted_proposals_and_other_states(
    proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    second_id = run_json("create", "Describe the retry backoff", "--submit")["proposal"]
    page = run_command("show", second_id)
    assert "it has no commit of its own yet" in page
    assert "There are no changes yet." in page
    assert f"next: git switch proposals/{second_id}-" in page
    assert "has no commit of its own" in run_command("merge", second_id, code=3)
    third_id = run_json("create", "Closed soon")["proposal"]
    close_output = run_command("close", third_id, "-m", "Done elsewhere.")
    assert f"next: docyard proposals reopen {third_id} reopens it\n" in close_output
    listing = run_json("list")
    assert {proposal["proposal"] for proposal in listing["proposals"]} == {proposal_id, second_id}
    assert listing["complete"]
    output = run_command("list", "--limit", "1")
    assert "Listed 1 of 2 proposals; --limit 0 lists all.\n" in output
    assert [line.split("\t")[:2] for line in run_command("list", "--state", "closed").splitlines()] == [
        [third_id, "closed"]
    ]
    assert "No proposal is merged; in other states: 1 draft, 1 open and 1 closed." in run_command(
        "list", "--state", "merged"
    )
    run_command("reopen", third_id)
    assert f"{third_id} is open already" in run_command("reopen", third_id)
    assert run_json("list", "--state", "all")["total"] == 3


def test_list_filters_by_needs_author_path_and_words(
    repo: Path, git: Git, ben_token_file: Path, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    (repo / "docyard.toml").write_text(POLICY_SETTINGS)
    (repo / "CODEOWNERS").write_text("*.md @docs-team\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Rules")
    draft_id = run_json("create", "Another proposal")["proposal"]
    run_command("submit", proposal_id)
    run_command("comment", proposal_id, "-m", "Look at this, @ben.")

    def list_ids(*options: str) -> list[str]:
        return [line.split("\t")[0] for line in run_command("list", *options).splitlines()]

    assert list_ids("--needs-me", "--token-file", str(ben_token_file)) == [proposal_id]
    assert list_ids("--search", "ANOTHER") == [draft_id]
    assert list_ids("--path", "new.md") == [proposal_id]
    assert list_ids("--path", ".", "--author", "ann") == [draft_id, proposal_id]
    assert run_command("list", "--needs-me") == "No proposal needs you.\n"
    [entry] = run_json("list", "--needs-me", "--token-file", str(ben_token_file))["proposals"]
    assert entry["needs_me"] == ["review", "mentioned"]
    assert entry["required_approvals"] == {"given": 0, "needed": 1}
    assert (entry["conflicts"], entry["open_comments"], entry["documents"]) == (False, 1, 3)
    assert [(reviewer["name"], reviewer["person"]) for reviewer in entry["reviewers"]] == [
        ("@ben", "Ben"),
        ("@docs-team", None),
    ]
    assert entry["reviewers"][0] | {"name": "", "person": ""} == {
        "name": "",
        "person": "",
        "sources": ["rule"],
        "decision": None,
        "awaited": True,
    }
    assert entry["mentioned"] == ["Ben"]
    assert "needs_me" not in run_json("list")["proposals"][0]
    cells = run_command("list", "--search", "backoff").splitlines()[0].split("\t")
    assert cells[6:] == ["0/1", "clean", "1", "waits for Ben and @docs-team; mentions Ben"]


def test_list_without_a_match_states_the_next_step(proposal_id: str, run_command: RunCommand) -> None:
    assert run_command("list", "--path", "specs", "--search", "x") == (
        "No proposal in the state open matches --path and --search; without a filter: 1. "
        "--state all searches in all states.\n"
    )
    assert "No proposal is by 'eve'; authors: Ann Author." in run_command("list", "--author", "eve")
    assert "'changes_requested', 'approved', 'merged'" in run_command("list", "--state", "merging", code=2)
    assert "fix: Use a document, a folder or a glob" in run_command("list", "--path", "/guides", code=3)


def test_short_id_is_listed_and_accepted(
    repo: Path,
    git: Git,
    proposal_id: str,
    run_command: RunCommand,
    run_json: RunJson,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short_id = proposal_id[:4]
    assert run_json("show", short_id)["proposal"] == proposal_id
    assert run_json("comment", short_id, "-m", "Why?")["proposal"] == proposal_id
    assert run_command("list").startswith(f"{proposal_id}\t")
    monkeypatch.setattr("docyard.cli.proposals.list.is_terminal", lambda stream: True)
    assert run_command("list").startswith(f"{short_id}      ")
    capsys.readouterr()
    assert main(["show", short_id, "--json", "-C", str(repo)]) == 0
    assert json.loads(capsys.readouterr().out)["proposal"] == proposal_id
    assert main(["read", "guide.md", "--ref", short_id, "--json", "-C", str(repo)]) == 0
    tip = json.loads(capsys.readouterr().out)["commit"]
    assert tip == run_json("show", proposal_id)["tip"]
    # A branch precedes a prefix of an id.
    git("branch", short_id)
    assert main(["read", "guide.md", "--ref", short_id, "--json", "-C", str(repo)]) == 0
    assert json.loads(capsys.readouterr().out)["commit"] == git("rev-parse", "HEAD") != tip


def test_title_and_description_are_edited_within_limits(
    repo: Path, tmp_path: Path, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    description = tmp_path / "description.md"
    description.write_text("# Why\n\nBecause.\n")
    run_command("edit", proposal_id, "--title", "Retries  🦆\n back off", "-F", str(description))
    view = run_json("show", proposal_id)
    assert (view["title"], view["description"]) == ("Retries 🦆 back off", "# Why\n\nBecause.")
    assert "already" in run_command("edit", proposal_id, "--title", "Retries 🦆 back off")
    error = run_command("create", "x" * 10_000, code=3)
    assert "10,000 characters; the limit is 256" in error
    assert "x" * 50 not in error
    run_command("create", " ", code=3)
    run_command("edit", proposal_id, code=2)
    run_command("edit", proposal_id, "-d", "x", "-F", "y", code=2)
    assert run_json("list", "--state", "all")["total"] == 1


def test_unknown_id_suggests_nearest(proposal_id: str, run_command: RunCommand) -> None:
    unknown_id = proposal_id[:-1] + ("y" if proposal_id.endswith("z") else "z")
    for command in ("show", "diff", "submit", "conflicts", "refresh", "merge", "close"):
        error = run_command(command, unknown_id, code=3)
        assert f"fix: Did you mean '{proposal_id}'? `docyard proposals list` shows the ids." in error
    assert "no proposal" in run_command("show", "main", code=3)
    assert run_command("show", f"proposals/{proposal_id}").startswith(proposal_id)


def test_deleted_branch_is_reported_with_fix(
    repo: Path, git: Git, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    run_command("submit", proposal_id)
    branch = run_json("show", proposal_id)["branch"]
    tip = git("rev-parse", branch)
    git("branch", "-D", branch)
    page = run_command("show", proposal_id)
    assert "the proposal's branch was deleted" in page
    assert f"next: git branch {branch} {tip[:8]} restores its branch\n" in page
    assert "does not exist" in run_command("conflicts", proposal_id, code=3)
    assert "No proposal is open; in other states: 1 gone." in run_command("list")
    git("branch", branch, tip)
    assert run_json("show", proposal_id)["state"] == "open"
    git("branch", "-f", branch, "main")
    assert "the branch was rewritten" in run_command("show", proposal_id)


def test_overlap_with_other_proposal_is_reported(
    repo: Path, git: Git, proposal_id: str, run_command: RunCommand, run_json: RunJson
) -> None:
    other_proposal = run_json("create", "The same section")
    git("switch", "--quiet", other_proposal["branch"])
    text = (repo / "guide.md").read_text()
    (repo / "guide.md").write_text(text.replace("A backoff with jitter.", "A jitter."))
    git("commit", "--quiet", "--all", "--message", "Jitter")
    git("switch", "--quiet", "main")
    page = run_command("show", proposal_id, "--no-diff")
    assert f"Overlaps with 1 other proposal\n  {other_proposal['proposal']}  The same section\n" in page
    assert "            guide.md#retries\n" in page


def test_ids_and_addresses_are_completed(repo: Path, proposal_id: str, run_json: RunJson) -> None:
    from click.shell_completion import ShellComplete

    from docyard.cli.main import docyard

    closed_id = run_json("create", "Closed")["proposal"]
    assert main(["proposals", "close", closed_id, "-C", str(repo)]) == 0
    shell = ShellComplete(docyard, {}, "docyard", "_X")

    def list_candidates(*words: str) -> list[str]:
        *previous_words, incomplete = words
        return [
            candidate.value for candidate in shell.get_completions(["proposals", *previous_words], incomplete)
        ]

    options = ("-C", str(repo))
    assert list_candidates("show", *options, "") == [proposal_id, closed_id]
    assert list_candidates("diff", *options, proposal_id, "n") == ["new.md"]
    assert list_candidates("diff", *options, proposal_id, "new.md#") == ["new.md#_preamble", "new.md#one"]
    assert "request-changes" in list_candidates("req")


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_missing_repository_returns_error(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["proposals", "list", "-C", str(tmp_path / "empty")]) == 3
    assert "not a Git repository" in capsys.readouterr().err


def test_list_with_invalid_rules_reports_the_setting(
    repo: Path, git: Git, proposal_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["proposals", "list", "-C", str(repo)]) == 0
    assert capsys.readouterr().out.startswith(proposal_id)
    (repo / "docyard.toml").write_text("[[protect]]\naprovals = 1\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Rules")
    assert main(["proposals", "list", "-C", str(repo)]) == 3
    output = capsys.readouterr()
    assert output.out == ""
    assert "docyard.toml: there is no setting 'protect.0.aprovals'" in output.err


def test_list_names_approvers_whose_tokens_are_unknown(
    repo: Path, git: Git, ben_token_file: Path, proposal_id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "docyard.toml").write_text(POLICY_SETTINGS)
    git("add", ".")
    git("commit", "--quiet", "--message", "Rules")
    assert main(["proposals", "submit", proposal_id, "-C", str(repo)]) == 0
    capsys.readouterr()
    assert main(["proposals", "list", "-C", str(repo)]) == 0
    assert "token" not in capsys.readouterr().err
    Tokens(repo / ".git").revoke("ben")
    assert main(["proposals", "list", "-C", str(repo)]) == 0
    output = capsys.readouterr()
    assert "No trusted token of ben is known here" in output.err
    assert f"docyard tokens trust -C {repo} ben" in output.err
    assert output.out.startswith(f"{proposal_id}\topen")
    assert main(["proposals", "show", proposal_id, "-C", str(repo)]) == 0
    assert f"docyard tokens trust -C {repo} ben --name NAME --email ADDRESS" in capsys.readouterr().out


def test_approval_with_token_of_other_copy_names_the_command_that_trusts_it(
    repo: Path, git: Git, ben_token_file: Path, proposal_id: str, tmp_path: Path, capsys: Capture
) -> None:
    (repo / "docyard.toml").write_text('[[protect]]\npaths = ["**"]\n')
    git("add", ".")
    git("commit", "--quiet", "--message", "Rules")
    assert main(["proposals", "submit", proposal_id, "-C", str(repo)]) == 0
    token = ("--token-file", str(ben_token_file))
    assert main(["proposals", "approve", proposal_id, *token, "-C", str(repo)]) == 0
    capsys.readouterr()
    assert main(["proposals", "show", proposal_id, "-C", str(repo)]) == 0
    assert "tokens trust" not in capsys.readouterr().out
    git("clone", "--quiet", "--mirror", str(repo), str(tmp_path / "copy.git"))
    assert main(["proposals", "show", proposal_id, "-C", str(tmp_path / "copy.git")]) == 0
    assert (
        f"    docyard tokens trust -C {tmp_path / 'copy.git'} ben --name NAME --email ADDRESS "
        "--token-file FILE\n" in capsys.readouterr().out
    )
