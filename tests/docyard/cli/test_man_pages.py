"""Manual pages: each command and option is there, and the formatter prints its text unchanged."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from docyard.cli.main import COMMANDS
from docyard.cli.man_pages import escape, render_share_files
from tests.loops import loop_over

PAGES = {path: text for path, text in render_share_files().items() if path.endswith(".1")}


def test_every_command_has_a_page_with_its_help() -> None:
    assert set(PAGES) == {"man/man1/docyard.1", *(f"man/man1/docyard-{name}.1" for name in COMMANDS)}
    for name, short_help in COMMANDS.items():
        page = PAGES[f"man/man1/docyard-{name}.1"]
        assert f"docyard\\-{name} \\- {escape(short_help.rstrip('.'))}\n" in page
        assert f".BR docyard\\-{name} (1)\n{escape(short_help)}\n" in PAGES["man/man1/docyard.1"]
        assert "\n.SH EXIT STATUS\n" in page
    merge = PAGES["man/man1/docyard-proposals.1"].partition('.SS "docyard proposals merge"')[2]
    assert r"\fB\-\-token\-file\fR FILE" in merge.partition(".SS ")[0]


def test_completion_scripts_have_the_names_that_shells_look_for() -> None:
    files = render_share_files()
    assert "complete " in files["bash-completion/completions/docyard"]
    assert files["zsh/site-functions/_docyard"].startswith("#compdef docyard\n")
    assert "complete --command docyard" in files["fish/vendor_completions.d/docyard.fish"]


@loop_over(
    ("text", "escaped_text"),
    [
        (".SH", r"\&.SH"),
        ("'br", r"\(aqbr"),
        ("-C ~ a\\b", r"\-C \(ti a\eb"),
        ("caf\u00e9 \u2026", r"caf\[u00E9] \[u2026]"),
    ],
)
def test_characters_of_the_formatter_are_escaped(text: str, escaped_text: str) -> None:
    assert escape(text) == escaped_text


@pytest.mark.process
def test_formatter_prints_every_page_without_a_warning(tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    for path, text in PAGES.items():
        file = tmp_path / Path(path).name
        file.write_text(text, encoding="ascii")
        completed = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-rLL=2000n", "-P-cbou", str(file)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert completed.stderr == ""
    assert "docyard read 'plan.md#tasks[0]'" in _print_page("read", tmp_path)


def _print_page(name: str, folder: Path) -> str:
    """Return the printed text of a page, without the attributes of its characters."""
    completed = subprocess.run(
        ["groff", "-man", "-Tutf8", "-P-cbou", str(folder / f"docyard-{name}.1")],
        capture_output=True,
        text=True,
        check=True,
    )
    return re.sub(r"\x1b\[[0-9;]*m", "", completed.stdout)
