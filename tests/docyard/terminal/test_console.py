"""Control characters in terminal output, which are escaped, and unusable paths, which are refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests import fork_server
from tests.loops import loop_over

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

RED_TEXT = "\x1b[31mred\u202e\x07"


def run_in_terminal(*command: str) -> str:
    """Run a command in a pseudo-terminal and return its output."""
    import pty

    terminal_end, process_end = pty.openpty()
    output = b""
    with subprocess.Popen(
        [*fork_server.build_python_command(), "-m", "docyard", *command],
        stdout=process_end,
        stderr=process_end,
    ):
        os.close(process_end)
        try:
            while chunk := os.read(terminal_end, 4096):
                output += chunk
        except OSError:  # Linux raises this when all writers have closed
            pass
    os.close(terminal_end)
    return output.decode()


@pytest.mark.process
def test_control_characters_of_foreign_file_are_escaped(tmp_path: Path) -> None:
    metadata_file = tmp_path / "metadata.json"
    stats = {"total_chunks": 1, "total_files": 1, "indexed_at": "2026-02-21T14:32:00Z"}
    metadata_file.write_text(
        json.dumps(
            {
                "metadata_version": "1.1.0",
                "corpus_description": RED_TEXT,
                "taxonomy": {"a": {"values": ["b"], "description": RED_TEXT}},
                "stats": stats,
            }
        )
    )
    output = run_in_terminal("metadata", str(metadata_file))
    assert "\x1b[31mred" not in output
    assert "\u202e" not in output
    assert output.count(r"\u001b[31mred\u202e\u0007") == 2


@loop_over("path", ["x" * 5_000, "~no-such-user/docs"])
@loop_over("command", [["metadata"], ["search", "x", "-C"], ["build", ".", "--out"], ["serve", "-C"]])
def test_unusable_path_is_refused(command: list[str], path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, path]) == 3
    error = capsys.readouterr().err
    assert error.startswith("error: the path ")
    assert len(error) < 400


def test_control_characters_in_error_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metadata", "a\x1b[31m"]) == 3
    assert capsys.readouterr().err.startswith(r"error: a\u001b[31m cannot be read")
