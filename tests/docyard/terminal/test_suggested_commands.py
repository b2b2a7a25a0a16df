"""Suggested commands have the options of the invocation that prints them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from docyard.cli.main import COMMANDS, docyard, main
from docyard.terminal.suggested_commands import complete_commands
from tests import repositories
from tests.loops import loop_over


@contextmanager
def invoke(*arguments: str) -> Iterator[None]:
    """Enter the context of a command and its options, as while the command runs."""
    position = next(index for index, word in enumerate(arguments) if word in COMMANDS)
    context = docyard.make_context("docyard", [*arguments[:position], "version"])
    rest = list(arguments[position:])
    command: click.Command = docyard
    while isinstance(command, click.Group):
        name = rest.pop(0)
        subcommand = command.get_command(context, name)
        assert subcommand is not None
        command = subcommand
        options = ["list"] if isinstance(command, click.Group) else rest
        context = command.make_context(name, options, parent=context)
    with context:
        yield


@loop_over(
    "arguments, text, expected_text",
    [
        (["list"], "docyard show ID", "docyard show ID"),
        (["list", "-C", "a b"], "next: docyard show ID", "next: docyard show -C 'a b' ID"),
        (["-C", "x", "list"], "`docyard proposals list` shows", "`docyard proposals list -C x` shows"),
        (["list", "-C", "x"], "docyard sync pushes it", "docyard sync -C x pushes it"),
        (["list", "-C", "x"], "docyard show -C y ID", "docyard show -C y ID"),
        (["list", "-C", "x"], "docyard init x", "docyard init x"),
        (["list", "-C", "x"], "docyard version", "docyard version"),
        (["list", "-C", "x"], "the server docyard is old", "the server docyard is old"),
        (["list", "-C", "x"], "git switch b, then git is", "git -C x switch b, then git is"),
        (["list", "-C", "x"], "git -C y log | git log", "git -C y log | git -C x log"),
        (["sync", "--remote", "r", "--branch", "b"], "docyard sync", "docyard sync --branch b --remote r"),
        (["sync", "--branch", "b"], "docyard sync --branch c", "docyard sync --branch c"),
        (["sync", "--branch", "b"], "docyard tokens list", "docyard tokens list"),
        (
            ["proposals", "submit", "k", "--token-file", "f"],
            "docyard tasks list, or docyard proposals merge k",
            "docyard tasks list, or docyard proposals merge --token-file f k",
        ),
    ],
)
def test_command_gets_the_options_of_the_invocation(
    arguments: list[str], text: str, expected_text: str
) -> None:
    with invoke(*arguments):
        assert complete_commands(text) == expected_text


def test_command_outside_of_an_invocation_is_unchanged() -> None:
    assert complete_commands("docyard show ID") == "docyard show ID"


def test_fix_of_an_error_names_the_repository(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = repositories.create_repository(tmp_path / "a folder", {"a.md": "# A\n\n## Limits\n"})
    monkeypatch.chdir(tmp_path)
    for arguments in (["-C", "a folder", "read", "a.md#zzzzz"], ["show", "a.md#zzzzz", "-C", "a folder"]):
        assert main(arguments) == 3
        assert "`docyard read -C 'a folder' a.md --sections` lists" in capsys.readouterr().err
    monkeypatch.chdir(repo.path)
    assert main(["read", "a.md#zzzzz"]) == 3
    assert "`docyard read a.md --sections` lists" in capsys.readouterr().err
