"""Every command that reads or writes documents fails while the committed `docyard.toml` is invalid."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from docyard.cli.main import docyard, main
from docyard.terminal.exits import Exit
from tests.docyard.conftest import Git
from tests.loops import loop_over

PROPOSAL = "k7m2q9xa"
CASES_FILE = "questions.yaml"
COMMANDS = {
    "build": ("--out", "OUT", "--description", "Documents"),
    "export": ("OUT",),
    "list": (),
    "new": ("Title",),
    "show": ("HEAD",),
    "search": ("retries",),
    "read": ("guide.md",),
    "log": (),
    "diff": ("HEAD~1",),
    "blame": ("guide.md",),
    "drift": (),
    "links": ("guide.md",),
    "metadata": (),
    "tasks list": (),
    "trace": (),
    "report": (),
    "validate": (),
    "fix": ("--check",),
    "eval": (CASES_FILE,),
    "index status": (),
    "index rebuild": (),
    "engine use": ("postgresql://127.0.0.1:1/docyard",),
    "index embed": (
        "--embedding-provider",
        "http",
        "--embedding-url",
        "http://127.0.0.1:1/v1",
        "--embedding-model",
        "model",
    ),
    "proposals list": (),
    "proposals show": (PROPOSAL,),
    "proposals diff": (PROPOSAL,),
    "proposals create": ("Title",),
    "proposals edit": (PROPOSAL, "--title", "New"),
    "proposals submit": (PROPOSAL,),
    "proposals comment": (PROPOSAL, "-m", "Why?"),
    "proposals approve": (PROPOSAL,),
    "proposals request-changes": (PROPOSAL, "-m", "No."),
    "proposals conflicts": (PROPOSAL,),
    "proposals refresh": (PROPOSAL,),
    "proposals merge": (PROPOSAL,),
    "proposals close": (PROPOSAL,),
    "proposals reopen": (PROPOSAL,),
    "comments list": (),
    "comments add": ("guide.md", "-m", "Why?"),
    "comments resolve": ("9f2c51d0a7b3e846",),
}
INDEPENDENT_COMMANDS = {
    "init": "writes settings",
    "serve": "imports the SDK; tests/docyard/mcp_server/test_start_error.py",
    "doctor": "reports the error among other problems",
    "tokens": "concerns people, and no documents",
    "sync": "may fetch valid settings; tests/docyard/test_sync.py",
    "demo": "has a repository of its own",
    "sources": "has a file of its own",
    "engine rotate-key": "concerns a database, and no documents",
    "admin": "has a file of its own",
    "config": "has a file of its own",
    "completion": "reads no repository",
    "version": "reads no repository",
}


@pytest.fixture
def repo_with_invalid_settings(repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Path:
    (repo / "docyard.toml").write_text("protect = 1\n")
    (repo / CASES_FILE).write_text("cases:\n  - query: retries\n    expected: [guide.md]\n")
    git("add", "docyard.toml")
    git("commit", "--quiet", "--message", "Break the settings")
    monkeypatch.chdir(repo)
    return repo


@loop_over("command", COMMANDS)
def test_invalid_settings_are_the_error_of_each_command(
    repo_with_invalid_settings: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    code = main([*command.split(), *COMMANDS[command]])
    captured = capsys.readouterr()
    assert captured.err == (
        "error: docyard.toml: protect: must be a list of tables: write each rule below [[protect]]\n"
        "  fix: Correct protect in docyard.toml and commit it.\n"
    )
    assert code == Exit.CANNOT_RUN
    assert captured.out == ""


def test_each_command_is_listed_here() -> None:
    context = click.Context(docyard)
    names = set()
    for name in docyard.list_commands(context):
        command = docyard.get_command(context, name)
        if name not in INDEPENDENT_COMMANDS and isinstance(command, click.Group):
            names |= {f"{name} {subcommand}" for subcommand in command.list_commands(context)}
        else:
            names.add(name)
    assert names == set(COMMANDS) | set(INDEPENDENT_COMMANDS)
