"""The pager: long output on a terminal is printed by it, short output is not."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from docyard.cli.main import main
from tests import fork_server
from tests.docyard.conftest import Git

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal"),
]

LINE_COUNT = 60
PAGER = "sed -e 's/^/PAGED /'"


@pytest.fixture
def long_repo(repo: Path, git: Git) -> Path:
    """Return a repository with a document that is longer than the terminal."""
    (repo / "long.md").write_text("# Long\n\n" + "".join(f"Line {n}.\n\n" for n in range(LINE_COUNT)))
    git("add", ".")
    git("commit", "--quiet", "--message", "Long")
    return repo


def run_in_terminal(folder: Path, *arguments: str, code: int = 0, **variables: str) -> str:
    """Run a command on a terminal of 24 lines, and return its output."""
    import fcntl
    import pty
    import termios

    terminal_end, process_end = pty.openpty()
    fcntl.ioctl(process_end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    environment = {name: value for name, value in os.environ.items() if not name.endswith("PAGER")}
    root = str(Path(__file__).resolve().parents[3])
    process = subprocess.Popen(
        [*fork_server.build_python_command(), "-m", "docyard", *arguments],
        cwd=folder,
        stdin=process_end,
        stdout=process_end,
        stderr=process_end,
        env={**environment, "TERM": "xterm", "PYTHONPATH": root, **variables},
    )
    os.close(process_end)
    output = b""
    try:
        while chunk := os.read(terminal_end, 65536):
            output += chunk
    except OSError:  # Linux raises this when all writers have closed
        pass
    os.close(terminal_end)
    assert process.wait() == code
    return output.decode()


@pytest.mark.parametrize(
    "arguments", [["read", "long.md"], ["read", "long.md", "--raw"], ["blame", "long.md"]]
)
def test_long_output_is_printed_by_pager(long_repo: Path, arguments: list[str]) -> None:
    output = run_in_terminal(long_repo, *arguments, DOCYARD_PAGER=PAGER)
    assert output.startswith("PAGED ")
    assert f"Line {LINE_COUNT - 1}." in output


def test_short_output_is_printed_without_pager(long_repo: Path) -> None:
    for command in (["read", "guide.md"], ["log"], ["search", "backoff"]):
        assert "PAGED" not in run_in_terminal(long_repo, *command, DOCYARD_PAGER=PAGER)
    assert "PAGED" in run_in_terminal(long_repo, "read", "guide.md", "--pager", DOCYARD_PAGER=PAGER)


def test_variables_and_option_select_pager(long_repo: Path) -> None:
    assert "PAGED" in run_in_terminal(long_repo, "read", "long.md", GIT_PAGER=PAGER, PAGER="cat")
    assert "PAGED" in run_in_terminal(long_repo, "read", "long.md", PAGER=PAGER)
    for no_pager in ("", "cat"):
        assert "PAGED" not in run_in_terminal(
            long_repo, "read", "long.md", PAGER=PAGER, DOCYARD_PAGER=no_pager
        )
    assert "PAGED" not in run_in_terminal(long_repo, "read", "long.md", "--no-pager", PAGER=PAGER)
    assert "PAGED" not in run_in_terminal(long_repo, "--no-pager", "read", "long.md", PAGER=PAGER)
    assert "PAGED" in run_in_terminal(long_repo, "--pager", "read", "guide.md", PAGER=PAGER)
    assert "PAGED" in run_in_terminal(long_repo, "--no-pager", "read", "guide.md", "--pager", PAGER=PAGER)


@pytest.mark.parametrize("pager", ["no-such-pager -x", "'open", " ; "])
def test_pager_that_cannot_be_started_loses_no_output(long_repo: Path, pager: str) -> None:
    output = run_in_terminal(long_repo, "read", "long.md", DOCYARD_PAGER=pager)
    assert output.startswith("note: the pager ")
    assert f"Line {LINE_COUNT - 1}." in output


def test_pager_that_ends_early_is_no_error(long_repo: Path) -> None:
    output = run_in_terminal(long_repo, "read", "long.md", "--raw", DOCYARD_PAGER="head -n 1")
    assert output.splitlines() == ["# Long"]


def test_note_follows_output_and_error_has_no_pager(long_repo: Path) -> None:
    output = run_in_terminal(long_repo, "log", "--limit", "1", "--pager", DOCYARD_PAGER=PAGER)
    assert output.rstrip().splitlines()[-1].startswith("PAGED Only the last 1 commits are shown")
    error = run_in_terminal(long_repo, "read", "none.md", code=3, DOCYARD_PAGER=PAGER)
    assert error.startswith("error: ")


def test_output_in_pipe_has_no_pager(
    long_repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCYARD_PAGER", PAGER)
    assert main(["read", "long.md", "--pager", "-C", str(long_repo)]) == 0
    assert capsys.readouterr().out.startswith("# Long")
