"""The command line: exit codes, errors with fixes, help with examples, and deferred imports."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from docyard import __version__, environment
from docyard.cli.main import COMMANDS, docyard, main
from tests.docyard.conftest import Git
from tests.loops import loop_over


def list_all_commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(docyard)
    for name in COMMANDS:
        command = docyard.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from (
                (f"{name} {subcommand}", command.commands[subcommand]) for subcommand in command.commands
            )


ALL_COMMANDS = dict(list_all_commands())
COMMANDS_WITHOUT_REPOSITORY_OPTION = (
    "config",
    "demo",
    "completion",
    "engine",
    "index",
    "tokens",
    "comments",
    "proposals",
    "sources",
    "tasks",
    "admin",
    "version",
)
"""Commands without a repository option, and groups: only their subcommands have the option."""


@pytest.mark.smoke
def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--version"], ["version"]):
        assert main(arguments) == 0
        assert capsys.readouterr().out == f"docyard {__version__}\n"
    assert main(["version", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == __version__


@loop_over("name", ALL_COMMANDS)
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert "Example:" in text
    assert main([*name.split(), "-h"]) == 0
    assert capsys.readouterr().out == text


@loop_over("name", [name for name in ALL_COMMANDS if name not in COMMANDS_WITHOUT_REPOSITORY_OPTION])
def test_every_command_takes_a_repository_after_its_name(name: str) -> None:
    options = {option for parameter in ALL_COMMANDS[name].params for option in parameter.opts}
    assert {"-C", "--repo"} <= options


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["search"], ["search", "x", "--limit", "51"], ["init", "--nonsense"]]
)
def test_wrong_usage_exits_with_2_and_prints_fix(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "\n  fix: Run `docyard" in captured.err


@pytest.mark.parametrize("command", [["search", "x"], ["index", "status"], ["index", "rebuild"], ["serve"]])
def test_missing_repository_returns_error_with_fix(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "-C", str(tmp_path)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: the folder is not a Git repository")
    assert "\n  fix: " in captured.err
    assert f"({tmp_path})" in captured.err


def test_search_prints_hits_for_people_and_for_programs(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["search", "backoff", "jitter", "-C", str(repo)]) == 0
    assert capsys.readouterr().out.startswith("guide.md#retries\t")
    assert (
        main(["search", "backoff", "--json", "--repo", str(repo), "--type", "runbook", "--tag", "backend"])
        == 0
    )
    data = json.loads(capsys.readouterr().out)
    assert [hit["chunk_id"] for hit in data["hits"]] == ["guide.md#retries"]
    assert len(data["commit"]) == 40


def test_search_at_ref_uses_that_commit(
    repo: Path, git: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    old_commit = git("rev-parse", "HEAD")
    (repo / "guide.md").write_text("# Guide\n\nOther words.\n")
    git("commit", "--quiet", "--all", "--message", "Other")
    assert main(["search", "backoff", "-C", str(repo)]) == 1
    capsys.readouterr()
    assert main(["search", "backoff", "--ref", "HEAD~1", "--json", "-C", str(repo)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [hit["chunk_id"] for hit in data["hits"]] == ["guide.md#retries"]
    assert (data["commit"], data["stale"]) == (old_commit, False)
    assert main(["search", "backoff", "--ref", "nowhere", "-C", str(repo)]) == 3
    assert "nowhere" in capsys.readouterr().err


def test_search_without_hits_exits_with_1(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "new.md").write_text("# Zeppelin\n")
    assert main(["search", "zeppelin", "-C", str(repo)]) == 1
    assert "1 Markdown file is not committed" in capsys.readouterr().err
    assert main(["search", "zeppelin", "-C", str(repo)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err


def test_unknown_filter_value_suggests_known_one(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "backoff", "--type", "runbok", "-C", str(repo)]) == 3
    assert "runbook" in capsys.readouterr().err


def test_repository_and_branch_are_read_from_environment(
    repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    git("branch", "older")
    (repo / "more.md").write_text("# More\n\nzeppelin\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    monkeypatch.setenv(environment.REPOSITORY, str(repo))
    assert main(["search", "zeppelin"]) == 0
    monkeypatch.setenv(environment.BRANCH, "older")
    assert main(["search", "zeppelin"]) == 1
    assert main(["search", "zeppelin", "--branch", "main"]) == 0
    assert "more.md" in capsys.readouterr().out


def test_current_folder_is_default_repository(
    repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / "sub").mkdir()
    monkeypatch.chdir(repo / "sub")
    assert main(["search", "backoff"]) == 0
    assert "guide.md#retries" in capsys.readouterr().out


def test_index_status_reports_state_and_commit(
    repo: Path, git: Git, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_status() -> dict[str, object]:
        assert main(["index", "status", "--json", "-C", str(repo)]) == 0
        data: dict[str, object] = json.loads(capsys.readouterr().out)
        return data

    assert read_status()["state"] == "missing"
    assert main(["index", "rebuild", "-C", str(repo)]) == 0
    assert "Indexed 1 document, " in capsys.readouterr().out
    data = read_status()
    assert (data["state"], data["commit"], data["documents"]) == ("current", git("rev-parse", "HEAD"), 1)
    git("commit", "--quiet", "--allow-empty", "--message", "On")
    assert read_status()["state"] == "behind"


DEFERRED_MODULES = ("rich", "whoosh", "markdown_it", "yaml", "mcp", "pygit2", "Stemmer", "numpy")


@pytest.mark.process
@loop_over(
    ("statement", "deferred_modules"),
    [
        ("import docyard.cli.main", DEFERRED_MODULES),
        ("import docyard.cli.hosts.configurations", DEFERRED_MODULES),
        (
            "import workspace.edits.edit_operations",
            ("markdown_it", "yaml", "workspace.links.reader", "workspace.links.resolver"),
        ),
        (
            "import tools.dispatcher",
            (
                *("numpy", "yaml", "sqlite3", "markdown_it", "pygments", "rich", "whoosh"),
                *(
                    "workspace.proposals.actions",
                    "workspace.proposals.review",
                    "workspace.merge",
                    "workspace.diff.documents",
                ),
            ),
        ),
    ],
)
def test_modules_import_no_heavy_modules_before_their_use(
    statement: str, deferred_modules: tuple[str, ...]
) -> None:
    code = f"{statement}; import sys; print([name for name in {deferred_modules!r} if name in sys.modules])"
    completed = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


def test_missing_command_prints_help_without_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("Usage: docyard")
    assert "fix:" not in captured.err


@pytest.mark.parametrize(
    ("command", "suggestion"), [("serch x", "search"), ("proposals mereg x", "merge"), ("tokens lst", "list")]
)
def test_unknown_command_suggests_nearest(
    command: str, suggestion: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command.split()) == 2
    captured = capsys.readouterr()
    assert f"did you mean '{suggestion}'?" in captured.err
    assert (captured.out, "--help`." in captured.err) == ("", True)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("list -C nowhere", "the folder does not exist (nowhere)"),
        ("list -C file", "the path is not a folder (file)"),
        ("doctor -C empty", "the folder is not a Git repository, nor inside one (empty)"),
        ("validate -C nowhere", "the folder does not exist (nowhere)"),
        ("validate -C empty --staged", "the folder is not a Git repository, nor inside one (empty)"),
        ("init --host claude -C empty", "the folder is not a Git repository, nor inside one (empty)"),
        ("search x --index empty", "the folder is not an artifact: metadata.json is missing (empty)"),
        (
            "serve --read-only --index empty",
            "the folder is not an artifact: metadata.json is missing (empty)",
        ),
        ("build nowhere --out out", "the folder does not exist (nowhere)"),
        ("build specs --out file", "the artifact's path must be a folder (file)"),
        ("export file -C specs", "the path of the export must be a folder (file)"),
    ],
)
def test_error_about_a_folder_names_its_path(
    repo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir(exist_ok=True)
    (tmp_path / "file").touch()
    assert main(command.split()) in (2, 3)
    captured = capsys.readouterr()
    assert message in (captured.out + captured.err).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    "command", [["search", "words"], ["init", "--hosts"], ["proposals", "list"], ["serve"]]
)
@pytest.mark.parametrize("option", ["-C", "--repo"])
def test_repository_option_given_twice_is_wrong_usage(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str], option: str
) -> None:
    assert main([*command, "-C", str(repo), option, str(tmp_path)]) == 2
    assert "is given 2 times" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["list"], ["proposals", "list"], ["init", "--hosts"]])
def test_repository_option_before_the_command_applies(
    repo: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(environment.REPOSITORY, str(tmp_path / "nowhere"))
    assert main([*command, "--json", "-C", "specs"]) == 0
    output = capsys.readouterr().out
    for option in ("-C", "--repo"):
        assert main([option, "specs", *command, "--json"]) == 0
        assert capsys.readouterr().out == output
        assert main([option, str(repo), *command, "-C", str(tmp_path)]) == 2
        assert "is given 2 times" in capsys.readouterr().err


@loop_over(
    ("command", "reason"),
    [("version", "reads no repository"), ("admin erase --text x", "give it after the name")],
)
def test_repository_option_before_a_command_that_ignores_it_is_wrong_usage(
    repo: Path, capsys: pytest.CaptureFixture[str], command: str, reason: str
) -> None:
    assert main(["-C", str(repo), *command.split()]) == 2
    assert reason in capsys.readouterr().err


def test_repository_option_overrides_environment_and_path_may_have_colon(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repo_with_colon = repo.rename(tmp_path / "a:b")
    monkeypatch.setenv(environment.REPOSITORY, str(repo_with_colon))
    assert main(["log", "--json"]) == 0
    monkeypatch.setenv(environment.REPOSITORY, str(tmp_path / "nowhere"))
    assert main(["log", "--json", "-C", str(repo_with_colon)]) == 0
    assert main(["log", "--json"]) == 3


@loop_over(
    "arguments", [["list"], ["init"], ["proposals", "list"], ["doctor"], ["validate"], ["tasks", "list"]]
)
def test_deleted_current_folder_is_an_error(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "deleted"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert main(arguments) == 3
    assert capsys.readouterr().err.splitlines() == [
        "error: the current folder was deleted",
        "  fix: Go to an existing folder with `cd`, and try again.",
    ]


@loop_over(
    ("arguments", "texts"),
    [
        (
            ["proposals", "refresh", "abc", "--ours"],
            ["docyard proposals refresh --help", "conflicts ID"],
        ),
        (["new", "nosuchtype", "Title"], ["needs quotes", "--type TYPE"]),
        (["tasks", "list", "--state", "foo"], ["No such option '--state'\n"]),
        (["tasks", "list", "--reedy"], ["Did you mean '--ready'?"]),
        (["serve", "--http", "127.0.0.1:99999"], ["from 0 to 65535"]),
    ],
)
def test_wrong_usage_is_explained(
    arguments: list[str], texts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert [text for text in texts if text not in error] == []
