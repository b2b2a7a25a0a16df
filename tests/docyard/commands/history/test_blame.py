"""`docyard blame`: the last change of each line, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docyard.cli.main import main
from index.service import SearchIndex
from tests.docyard.commands.conftest import CommitAll, RunInTerminal
from tests.docyard.conftest import Git
from tools.dispatcher import ToolDispatcher
from workspace.workspace import Workspace

Capture = pytest.CaptureFixture[str]


def read_blame_rows(capsys: Capture) -> list[list[str]]:
    return [line.split("\t", 4) for line in capsys.readouterr().out.split("\n")[:-1]]


def test_each_line_has_commit_and_author(repo: Path, commit_ids: list[str], capsys: Capture) -> None:
    assert main(["blame", "guides/setup.md#how-to-retry", "-C", str(repo)]) == 0
    creation, change, rename, _, _, removal = (id[:8] for id in commit_ids)
    blame_rows = read_blame_rows(capsys)
    assert [[row[0], row[1], *row[3:]] for row in blame_rows] == [
        [rename, "Ann Author", "5", "## How to retry"],
        [creation, "Ann Author", "6", ""],
        [change, "Bob Builder", "7", "A backoff, which doubles."],
        [removal, "Ann Author", "8", ""],
        [removal, "Ann Author", "9", "- [ ] Raise it"],
        [removal, "Ann Author", "10", "\tA \\u001b[31mtab\\u001b[0m."],
    ]
    assert blame_rows[2][2] == "2026-01-02"


def test_commits_equal_those_of_git_blame(
    repo: Path, commit_ids: list[str], git: Git, capsys: Capture
) -> None:
    assert main(["blame", "guides/setup.md", "-C", str(repo)]) == 0
    blame_ids = [line.split()[0][:8] for line in git("blame", "-s", "--root", "guides/setup.md").splitlines()]
    assert [row[0] for row in read_blame_rows(capsys)] == [id.lstrip("^") for id in blame_ids]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_are_not_shown(repo: Path, commit: CommitAll, ending: str, capsys: Capture) -> None:
    (repo / "odd.md").write_bytes(ending.join(("# Odd", "", "One\ttab", "Last")).encode() + b"\xff")
    commit(2, "Odd")
    assert main(["blame", "odd.md", "-C", str(repo)]) == 0
    assert [row[4] for row in read_blame_rows(capsys)] == ["# Odd", "", "One\ttab", "Last\ufffd"]


def test_json_equals_response_of_tool(repo: Path, commit_ids: list[str], git: Git, capsys: Capture) -> None:
    assert main(["blame", "guides/setup.md#how", "--json", "-C", str(repo)]) == 0
    data = json.loads(capsys.readouterr().out)
    workspace = Workspace.open(repo, durable=False, read_only=True)
    arguments = {"file": "guides/setup.md", "slug": "how-to-retry", "blame": True}
    response = (
        ToolDispatcher(workspace, SearchIndex(workspace), ["history"], True)
        .call("view_history", arguments, client="x")
        .data
    )
    assert data == {name: response[name] for name in ("file", "slug", "lines", "commits", "commit")}
    assert data["commit"] == git("rev-parse", "HEAD")
    assert "".join(line["text"] for line in data["lines"]).startswith("## How to retry\n")


def test_long_document_is_printed_in_full(repo: Path, commit: CommitAll, capsys: Capture) -> None:
    """Check that the command reads all pages of the tool's response."""
    text = "# Long\n\n" + "".join(f"Line {number} of many words.\n" for number in range(6_000))
    (repo / "long.md").write_text(text)
    commit(2, "Long")
    assert main(["blame", "long.md", "--json", "-C", str(repo)]) == 0
    assert "".join(line["text"] for line in json.loads(capsys.readouterr().out)["lines"]) == text


def test_blame_at_ref_and_of_moved_section_works(repo: Path, commit_ids: list[str], capsys: Capture) -> None:
    assert main(["blame", "guide.md#retries", "--ref", commit_ids[0], "-C", str(repo)]) == 0
    assert {row[0] for row in read_blame_rows(capsys)} == {commit_ids[0][:8]}
    assert main(["blame", "guide.md#retries[0]", "-C", str(repo)]) == 0
    captured = capsys.readouterr()
    assert captured.err == "The address has moved to guides/setup.md#how-to-retry.\n"
    assert captured.out.startswith(commit_ids[2][:8])


def test_path_may_be_relative_to_current_folder(
    repo: Path, commit_ids: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repo / "guides")
    assert main(["blame", "setup.md#how"]) == 0
    assert capsys.readouterr().out.startswith(commit_ids[2][:8])


def test_oldest_lines_of_shallow_clone_are_marked(
    repo: Path, commit_ids: list[str], git: Git, tmp_path: Path, capsys: Capture
) -> None:
    git("clone", "--quiet", "--depth", "3", f"file://{repo}", str(tmp_path / "shallow"), cwd=tmp_path)
    assert main(["blame", "guides/setup.md#how", "-C", str(tmp_path / "shallow")]) == 0
    assert [row[0] for row in read_blame_rows(capsys)] == [f"^{commit_ids[4][:8]}"] * 3 + [
        commit_ids[5][:8]
    ] * 3


def test_empty_document_has_no_lines(repo: Path, commit: CommitAll, capsys: Capture) -> None:
    (repo / "empty.md").write_bytes(b"")
    commit(2, "Empty")
    assert main(["blame", "empty.md", "-C", str(repo)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arguments", "code", "expected_text"),
    [
        ([], 2, "FILE"),
        (["guides/setp.md"], 3, "guides/setup.md"),
        (["guides/setup.md#how-to-retyr"], 3, "how-to-retry"),
        (["docs/b.md"], 3, "docs/b.md"),
        (["app.py"], 3, "'app.py' is not a document"),
        (["guides/setup.md", "--ref", "never"], 3, "never"),
    ],
)
def test_invalid_address_or_option_returns_error(
    repo: Path, commit_ids: list[str], capsys: Capture, arguments: list[str], code: int, expected_text: str
) -> None:
    assert main(["blame", "-C", str(repo), *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert expected_text in captured.err


EXPECTED_PAGE = """\
{2}  Ann Author   2026-01-03   5  ## How to retry
{0}  Ann Author   2026-01-01   6
{1}  Bob Builder  2026-01-02   7  A backoff, which doubles.
{5}  Ann Author   2026-01-06   8
                                    9  - [ ] Raise it
                                   10          A \\u001b[31mtab\\u001b[0m.
"""


@pytest.mark.process
def test_terminal_shows_commit_once_per_run(
    repo: Path, commit_ids: list[str], run_in_terminal: RunInTerminal
) -> None:
    for columns in (80, 120):
        page = run_in_terminal("blame", "guides/setup.md#how", columns=columns)
        assert page == EXPECTED_PAGE.format(*(id[:8] for id in commit_ids))


@pytest.mark.process
def test_long_lines_and_names_stay_in_their_columns(
    repo: Path, commit: CommitAll, run_in_terminal: RunInTerminal
) -> None:
    (repo / "long.md").write_text("# Long\n\n" + "word " * 30 + "\n\n日本語" * 20 + "\n")
    commit(8, "Long", "Christopher Longname-Windischgrätz <c@example.com>")
    for columns, name in ((80, "Christopher …"), (120, "Christopher Longnam…")):
        lines = run_in_terminal("blame", "long.md", columns=columns).splitlines()
        assert lines[0][10:].startswith(f"{name}  2026-01-08   1  # Long")
        margin = len(lines[0]) - len("# Long")
        continuation_lines = [line for line in lines[2:] if not line[:margin].strip()]
        assert continuation_lines
        assert all(line[margin] != " " for line in continuation_lines)


@pytest.mark.process
def test_each_commit_has_its_own_colour(
    repo: Path, commit_ids: list[str], run_in_terminal: RunInTerminal
) -> None:
    page = run_in_terminal("blame", "guides/setup.md#how", colours=True)
    colours = [line.partition("m")[0] for line in page.splitlines()[:4]]
    assert len(set(colours)) == 4
    assert "\x1b[31mtab" not in page
