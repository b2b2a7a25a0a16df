"""What a terminal is shown holds nothing that it would obey."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests import warm
from tests.loops import loop_over

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

RED = "\x1b[31mred\u202e\x07"


def on_a_terminal(*command: str) -> str:
    """What a command shows there."""
    import pty

    ours, theirs = pty.openpty()
    shown = b""
    with subprocess.Popen([*warm.python(), "-m", "docyard", *command], stdout=theirs, stderr=theirs):
        os.close(theirs)
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    return shown.decode()


@pytest.mark.process
def test_a_file_from_elsewhere_cannot_steer_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "metadata.json"
    stats = {"total_chunks": 1, "total_files": 1, "indexed_at": "2026-02-21T14:32:00Z"}
    file.write_text(
        json.dumps(
            {
                "metadata_version": "1.1.0",
                "corpus_description": RED,
                "taxonomy": {"a": {"values": ["b"], "description": RED}},
                "stats": stats,
            }
        )
    )
    shown = on_a_terminal("metadata", str(file))
    assert "\x1b[31mred" not in shown
    assert "\u202e" not in shown
    assert shown.count(r"\u001b[31mred\u202e\u0007") == 2


@loop_over("path", ["x" * 5_000, "~no-such-user/docs"])
@loop_over("command", [["metadata"], ["search", "x", "-C"], ["build", ".", "--out"], ["serve", "-C"]])
def test_a_path_that_cannot_be_is_refused(
    command: list[str], path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, path]) == 3
    told = capsys.readouterr().err
    assert told.startswith("error: the path ")
    assert len(told) < 400


def test_an_error_cannot_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metadata", "a\x1b[31m"]) == 3
    assert capsys.readouterr().err.startswith(r"error: a\u001b[31m cannot be read")
