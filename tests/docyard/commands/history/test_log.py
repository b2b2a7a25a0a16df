"""`docyard log`: the commits that changed a document or section, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import click
import pytest
from click.shell_completion import ShellComplete

from docyard.cli.main import docyard, main
from docyard.cli.recent_commits import RecentCommits
from tests.docyard.commands.conftest import CommitAll, RunInTerminal
from tests.docyard.conftest import Git
from tests.loops import loop_over
from tests.repositories import Repo
from tests.workspace.history.fast_import import PlannedCommit, build_linear_commits, write_history
from workspace.workspace import Workspace

Capture = pytest.CaptureFixture[str]


def read_log_rows(capsys: Capture) -> list[list[str]]:
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def read_actions(capsys: Capture) -> list[str]:
    return [" ".join(filter(None, row[4:7])) for row in read_log_rows(capsys)]


def test_section_is_followed_across_renames(repo: Path, commit_ids: list[str], capsys: Capture) -> None:
    assert main(["log", "guides/setup.md#how-to-retry", "-C", str(repo)]) == 0
    assert read_log_rows(capsys) == [
        [
            commit_ids[5][:8],
            "2026-01-06T07:30:00Z",
            "Ann Author",
            "",
            "changed",
            "guides/setup.md#how-to-retry",
            "",
            "Drop B",
        ],
        [
            commit_ids[3][:8],
            "2026-01-04T07:30:00Z",
            "Ann Author",
            "",
            "renamed",
            "guides/setup.md#how-to-retry",
            "guide.md#how-to-retry",
            "A folder for guides",
        ],
        [
            commit_ids[2][:8],
            "2026-01-03T07:30:00Z",
            "Ann Author",
            "",
            "renamed",
            "guide.md#how-to-retry",
            "guide.md#retries",
            "Rename the section after a common question",
        ],
        [
            commit_ids[1][:8],
            "2026-01-02T07:30:00Z",
            "Bob Builder",
            "claude-code",
            "changed",
            "guide.md#retries",
            "",
            "Describe the backoff",
        ],
        [
            commit_ids[0][:8],
            "2026-01-01T07:30:00Z",
            "Ann Author",
            "",
            "created",
            "guide.md#retries",
            "",
            "Begin",
        ],
    ]


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ("guides/setup.md#How to retry", ""),
        ("guides/setup.md#how", ""),
        ("guides/setup.md#1", ""),
        ("guides/setup.md#how-to-retry[0]", ""),
        ("setup.md#how-to-retry", ""),
        ("../guides/setup.md#how-to-retry", ""),
        ("guide.md#retries", "The address has moved to guides/setup.md#how-to-retry.\n"),
    ],
)
def test_every_form_of_address_returns_same_history(
    repo: Path,
    commit_ids: list[str],
    address: str,
    notice: str,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(repo / "guides")
    assert main(["log", address, "--limit", "0"]) == 0
    captured = capsys.readouterr()
    assert [line[:8] for line in captured.out.splitlines()] == [
        commit_ids[index][:8] for index in (5, 3, 2, 1, 0)
    ]
    assert captured.err == notice


def test_history_of_removed_document_begins_with_its_removal(
    repo: Path, commit_ids: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "docs").mkdir(exist_ok=True)
    for folder, address in ((repo, "docs/b.md"), (repo / "docs", "b.md"), (repo / "docs", "docs/b.md")):
        monkeypatch.chdir(folder)
        assert main(["log", address]) == 0
        assert read_actions(capsys) == ["removed docs/b.md", "created docs/b.md"]


def test_history_of_removed_section_begins_with_its_removal(
    repo: Path, commit_ids: list[str], commit: CommitAll, capsys: Capture
) -> None:
    (repo / "guides" / "setup.md").write_text("# Guide\n\nHow to begin.\n")
    commit(8, "Without retries")
    assert main(["log", "guides/setup.md#how-to-retry", "--limit", "2", "-C", str(repo)]) == 0
    assert read_actions(capsys) == [
        "removed guides/setup.md#how-to-retry",
        "changed guides/setup.md#how-to-retry",
    ]


def test_log_of_ref_begins_at_its_commit(repo: Path, commit_ids: list[str], capsys: Capture) -> None:
    assert main(["log", "guide.md#retries", "--ref", commit_ids[1], "-C", str(repo)]) == 0
    assert read_actions(capsys) == ["changed guide.md#retries", "created guide.md#retries"]
    assert main(["log", "guide.md", "--ref", "@{2026-01-03}", "-C", str(repo)]) == 0
    assert read_actions(capsys) == ["changed guide.md", "changed guide.md", "created guide.md"]


def test_log_without_file_lists_all_documents(repo: Path, commit_ids: list[str], capsys: Capture) -> None:
    assert main(["log", "-C", str(repo)]) == 0
    assert [(row[0], *row[4:7]) for row in read_log_rows(capsys)] == [
        (commit_ids[5][:8], "removed", "docs/b.md", ""),
        (commit_ids[5][:8], "changed", "guides/setup.md", ""),
        (commit_ids[4][:8], "created", "docs/b.md", ""),
        (commit_ids[3][:8], "renamed", "guides/setup.md", "guide.md"),
        (commit_ids[2][:8], "changed", "guide.md", ""),
        (commit_ids[1][:8], "changed", "guide.md", ""),
        (commit_ids[0][:8], "created", "guide.md", ""),
    ]


def test_limited_log_reports_that_more_commits_exist(
    repo: Path, commit_ids: list[str], capsys: Capture
) -> None:
    for arguments in ([], ["guides/setup.md"]):
        assert main(["log", *arguments, "--limit", "2", "-C", str(repo)]) == 0
        captured = capsys.readouterr()
        assert len({line[:8] for line in captured.out.splitlines()}) == 2
        assert captured.err == "Only the last 2 commits are shown; --limit 0 shows all.\n"


def test_log_without_limit_reads_every_page(tmp_path: Path, capsys: Capture) -> None:
    versions = [{"a.md": b"# A\n\n## S\n\nVersion %d.\n" % number} for number in range(250)]
    write_history(tmp_path / "long", build_linear_commits(versions))
    for arguments, count in ((["a.md#s"], 20), (["a.md#s", "--limit", "0"], 250), (["--limit", "0"], 250)):
        assert main(["log", *arguments, "-C", str(tmp_path / "long")]) == 0
        captured = capsys.readouterr()
        assert len(captured.out.splitlines()) == count
        assert (captured.err == "") == (count == 250)


EXPECTED_PATCH = """\
{5}  2026-01-06 07:30  Ann Author
          Drop B

@@ -5,3 +5,6 @@
 ## How to retry
{space}
 A backoff, which doubles.
+
+- [ ] Raise it
+\tA \\u001b[31mtab\\u001b[0m.

{3}  2026-01-04 07:30  Ann Author
          A folder for guides
          renamed from guide.md#how-to-retry

{2}  2026-01-03 07:30  Ann Author
          Rename the section after a common question
          renamed from guide.md#retries

@@ -5,3 +5,3 @@
-## Retries
+## How to retry
{space}
 A backoff, which doubles.
"""


def test_diffs_are_printed_with_commits(repo: Path, commit_ids: list[str], capsys: Capture) -> None:
    arguments = ["log", "guides/setup.md#how", "-p", "--limit", "3", "-C", str(repo)]
    assert main(arguments) == 0
    assert capsys.readouterr().out == EXPECTED_PATCH.format(*(id[:8] for id in commit_ids), space=" ")


def test_too_large_texts_are_not_compared(repo: Path, commit: CommitAll, capsys: Capture) -> None:
    (repo / "large.md").write_text("# Large\n\n" + "A line of words.\n" * 70_000)
    commit(2, "Large")
    assert main(["log", "large.md", "-p", "-C", str(repo)]) == 0
    assert "\n\ntexts of over 1,000,000 bytes are not compared\n" in capsys.readouterr().out
    assert main(["log", "large.md", "-p", "--json", "-C", str(repo)]) == 0
    assert json.loads(capsys.readouterr().out)["history"][0]["hint"].endswith("not compared")


def test_json_of_section_has_history_and_diffs(
    repo: Path, commit_ids: list[str], git: Git, capsys: Capture
) -> None:
    assert main(["log", "guide.md#retries", "--json", "-p", "--limit", "4", "-C", str(repo)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["file"], data["slug"], data["complete"]) == ("guides/setup.md", "how-to-retry", False)
    assert data["moved_to"] == {"file": "guides/setup.md", "slug": "how-to-retry", "commit": commit_ids[3]}
    assert data["commit"] == git("rev-parse", "HEAD")
    assert [entry["commit"] for entry in data["history"]] == [commit_ids[index] for index in (5, 3, 2, 1)]
    assert data["history"][3] == {
        "commit": commit_ids[1],
        "kind": "changed",
        "by": "Bob Builder, by client claude-code",
        "author": {"name": "Bob Builder", "email": "bob@example.com"},
        "date": "2026-01-02T07:30:00Z",
        "client": "claude-code",
        "tool": "edit_document",
        "proposal": None,
        "subject": "Describe the backoff",
        "file": "guide.md",
        "slug": "retries",
        "diff": "@@ -5,3 +5,3 @@\n ## Retries\n \n-A backoff with jitter.\n+A backoff, which doubles.",
    }


def test_json_of_all_documents_has_their_changes(repo: Path, commit_ids: list[str], capsys: Capture) -> None:
    assert main(["log", "--json", "--limit", "3", "-C", str(repo)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["complete"] is False
    assert [entry["commit"] for entry in data["history"]] == commit_ids[5:2:-1]
    assert data["history"][2]["documents"] == [
        {"kind": "renamed", "file": "guides/setup.md", "old_file": "guide.md"}
    ]
    assert main(["log", "--json", "-C", str(repo)]) == 0
    assert json.loads(capsys.readouterr().out)["complete"] is True


@loop_over(
    ("arguments", "code", "expected_text"),
    [
        (["guides/setp.md"], 3, "guides/setup.md"),
        (["guides/setup.md#how-to-retyr"], 3, "how-to-retry"),
        (["app.py"], 3, "'app.py' is not a document"),
        (["guides"], 3, "'guides' is a folder"),
        (["new.md"], 3, "not committed yet"),
        (["--ref", "never"], 3, "never"),
        (["guides/setup.md", "--ref", "@{2020-01-31}"], 3, "before the history"),
        (["-p"], 2, "--diff needs a FILE"),
        (["--limit", "-1"], 2, "--limit"),
    ],
)
def test_invalid_address_or_option_returns_error(
    repo: Path, commit_ids: list[str], capsys: Capture, arguments: list[str], code: int, expected_text: str
) -> None:
    (repo / "new.md").write_text("# New\n")
    assert main(["log", "-C", str(repo), *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert expected_text in captured.err


def test_branch_without_commits_returns_error(tmp_path: Path, git: Git, capsys: Capture) -> None:
    git("init", "--quiet", str(tmp_path / "new"), cwd=tmp_path)
    assert main(["log", "-C", str(tmp_path / "new")]) == 3
    assert "no commit yet" in capsys.readouterr().err


def test_shallow_clone_is_reported(
    repo: Path, commit_ids: list[str], git: Git, tmp_path: Path, capsys: Capture
) -> None:
    git("clone", "--quiet", "--depth", "3", f"file://{repo}", str(tmp_path / "shallow"), cwd=tmp_path)
    for arguments in ([], ["guides/setup.md"]):
        assert main(["log", *arguments, "-C", str(tmp_path / "shallow")]) == 0
        captured = capsys.readouterr()
        assert captured.out.startswith(commit_ids[5][:8])
        assert captured.err.startswith("The clone is shallow")


EXPECTED_PAGE = """\
{5}  2026-01-06 07:30  Ann Author
          Drop B
{3}  2026-01-04 07:30  Ann Author
          A folder for guides
          renamed from guide.md#how-to-retry
{2}  2026-01-03 07:30  Ann Author
          Rename the section after a common question
          renamed from guide.md#retries
{1}  2026-01-02 07:30  claude-code for Bob Builder
          Describe the backoff
Only the last 4 commits are shown; --limit 0 shows all.
"""


@pytest.mark.process
def test_terminal_shows_indented_entries(
    repo: Path, commit_ids: list[str], run_in_terminal: RunInTerminal
) -> None:
    for columns in (80, 120):
        page = run_in_terminal("log", "guides/setup.md#how", "--limit", "4", columns=columns)
        assert page == EXPECTED_PAGE.format(*(id[:8] for id in commit_ids))


@pytest.mark.process
def test_long_subjects_and_many_documents_are_indented(
    repo: Path, commit: CommitAll, run_in_terminal: RunInTerminal
) -> None:
    for number in range(12):
        (repo / f"{number:02}.md").write_text(f"# {number}\n")
    id = commit(8, "Words " * 20, "日本 太郎 <taro@example.com>")
    lines = run_in_terminal("log", "--limit", "1").splitlines()
    assert lines[0] == f"{id[:8]}  2026-01-08 07:30  日本 太郎"
    assert [line.strip() for line in lines[1:3]] == [("Words " * 11).strip(), ("Words " * 9).strip()]
    assert lines[3:-2] == [f"          created {number:02}.md" for number in range(10)]
    assert lines[-2] == "          and 2 more"
    assert all(line.startswith(" " * 10) for line in lines[1:-1])


@pytest.mark.process
def test_terminal_output_is_coloured(
    repo: Path, commit_ids: list[str], run_in_terminal: RunInTerminal
) -> None:
    page = run_in_terminal("log", "guides/setup.md#how", "-p", "--limit", "3", colours=True)
    for text in (
        f"\x1b[33m{commit_ids[5][:8]}\x1b[0m",
        "\x1b[32m+## How to retry\x1b[0m",
        "\x1b[31m-## Retries\x1b[0m",
        "\x1b[36m@@ -5,3 +5,3 @@\x1b[0m",
    ):
        assert text in page
    assert "\\u001b[31mtab" in page
    assert "\x1b[31mtab" not in page


@pytest.mark.process
def test_control_characters_are_escaped(
    repo: Path, commit: CommitAll, run_in_terminal: RunInTerminal, capsys: Capture
) -> None:
    (repo / "\x1b]0;x\x07.md").write_text("# X\n")
    commit(9, "A \x1b[31msubject\u202e turned", "M\x1b[5mallory <m@example.com>")
    page = run_in_terminal("log", "--limit", "1", colours=True)
    assert not any(sequence in page for sequence in ("\x1b]", "\x1b[5m", "\x1b[31m", "\u202e", "\x07"))
    assert main(["log", "--limit", "1", "-p", "-C", str(repo), "guide.md"]) == 0
    assert "\x1b" not in capsys.readouterr().out


@loop_over("seed", range(6))
def test_log_of_all_documents_equals_git_log(tmp_path: Path, seed: int) -> None:
    """Compare with the paths that `git log -c` lists, on random histories with merges."""
    random = Random(seed)
    paths = ["a.md", "b/c.md", "b/d.md", "e.txt"]
    commits: list[PlannedCommit] = []
    for number in range(25):
        parents = sorted({random.randrange(max(0, number - 4), number) for _ in range(2)}) if number else []
        files = dict(commits[random.choice(parents)].files) if parents else {}
        for path in random.sample(paths, random.randrange(3)):
            files[path] = b"# %d\n\n%s\n" % (number, path.encode())
        if random.random() < 0.2:
            files.pop(random.choice(paths), None)
        commits.append(PlannedCommit(files or {"a.md": b"# A\n"}, parents[::-1]))
    repo, _ = write_history(tmp_path / "random", commits)
    workspace = Workspace.open(tmp_path / "random", durable=False)
    changes = {
        entry.info.commit: {
            changed_path
            for change in entry.changes
            for changed_path in (change.path, change.old_path)
            if changed_path is not None
        }
        for entry in RecentCommits(workspace.snapshot())
    }
    assert changes == _list_changes_by_git(repo)


def _list_changes_by_git(repo: Repo) -> dict[str, set[str]]:
    changes: dict[str, set[str]] = {}
    log = repo.git("log", "-c", "--root", "--no-renames", "--name-only", "--format=%x01%H", "main")
    for part in log.split("\x01")[1:]:
        id, *changed_paths = part.split()
        documents = {path for path in changed_paths if path.endswith(".md")}
        if documents:
            changes[id] = documents
    return changes


@pytest.mark.parametrize("name", ["log", "blame"])
def test_addresses_and_refs_are_completed(repo: Path, commit_ids: list[str], git: Git, name: str) -> None:
    git("tag", "v1.0")
    shell = ShellComplete(docyard, {}, "docyard", "_DOCYARD_COMPLETE")
    words = [name, "-C", str(repo)]
    assert [entry.value for entry in shell.get_completions(words, "guides/")] == ["guides/setup.md"]
    assert [entry.value for entry in shell.get_completions(words, "guides/setup.md#h")] == [
        "guides/setup.md#how-to-retry"
    ]
    assert [entry.value for entry in shell.get_completions([*words, "--ref"], "v")] == ["v1.0"]
    assert isinstance(docyard.get_command(click.Context(docyard), name), click.Command)
