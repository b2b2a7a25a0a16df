"""Styles of output: on a terminal, in a pipe, and as the variables of the user say."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from docyard.cli.main import main
from docyard.terminal.styles import add_style
from tests.docyard.conftest import Git


@pytest.fixture
def broken_link(repo: Path, git: Git) -> Path:
    """Return a repository with a document whose link leads nowhere."""
    (repo / "broken.md").write_text("# Broken\n\n[a link](nowhere.md)\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "Break a link")
    return repo


def set_variables(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in values.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    "command", [["-h"], ["search", "-h"], ["proposals", "merge", "-h"], ["tokens", "add", "-h"]]
)
def test_help_has_styles_only_if_output_has_colours(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_variables(monkeypatch)
    assert main(command) == 0
    plain_text = capsys.readouterr().out
    assert "\x1b" not in plain_text
    set_variables(monkeypatch, FORCE_COLOR="1")
    assert main(command) == 0
    styled_text = capsys.readouterr().out
    assert "\x1b[1mOptions\x1b[0m:" in styled_text
    assert "\x1b[36m-h, --help\x1b[0m" in styled_text
    assert click.unstyle(styled_text) == plain_text


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1", "FORCE_COLOR": "1"}, {"TERM": "dumb"}])
def test_variables_remove_colours(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_variables(monkeypatch, **variables)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["-h"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_missing_command_prints_help_with_styles_to_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_variables(monkeypatch, FORCE_COLOR="1")
    assert main([]) == 2
    assert "\x1b[1mOptions\x1b[0m:" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["validate", "doctor"])
def test_findings_have_styles_only_if_output_has_colours(
    broken_link: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    set_variables(monkeypatch)
    main([command, "-C", str(broken_link)])
    plain_text = capsys.readouterr().out
    assert "\x1b" not in plain_text
    set_variables(monkeypatch, FORCE_COLOR="1")
    main([command, "-C", str(broken_link)])
    styled_text = capsys.readouterr().out
    assert "\x1b[" in styled_text
    assert click.unstyle(styled_text) == plain_text


def test_invisible_characters_are_escaped_in_a_report_with_styles(
    broken_link: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (broken_link / "broken.md").write_text("# Broken\n\n[a link](no\u202ewhere.md)\n", encoding="utf-8")
    set_variables(monkeypatch, FORCE_COLOR="1")
    assert main(["validate", "broken.md", "-C", str(broken_link)]) == 1
    output = capsys.readouterr().out
    assert "no\\u202ewhere.md" in output
    assert "\u202e" not in output


def test_style_has_attributes_and_a_colour() -> None:
    assert add_style("text", "bold cyan") == click.style("text", "cyan", bold=True)
    assert add_style("text", "dim") == click.style("text", dim=True)
    assert add_style("text", "") == "text"
