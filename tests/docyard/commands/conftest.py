"""Fixtures: a repository with a history, and a function that runs docyard in a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import termios
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import fork_server

ROOT = Path(__file__).resolve().parents[3]
ANSI_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")

RunInTerminal = Callable[..., str]
CommitAll = Callable[..., str]


class History(NamedTuple):
    """A repository folder, and the ids of the commits that changed documents, oldest first."""

    folder: Path
    commit_ids: list[str]


def commit_all(folder: Path, day: int, message: str, author: str = "Ann Author <ann@example.com>") -> str:
    """Commit the whole work tree, on a day of January 2026, and return the id."""
    date = f"2026-01-{day:02}T09:30:00+0200"
    variables = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    identity = ("-c", "user.name=Ann Author", "-c", "user.email=ann@example.com")
    for command in (
        ("add", "--all"),
        (*identity, "commit", "--quiet", "--author", author, "--message", message),
        ("rev-parse", "HEAD"),
    ):
        completed = subprocess.run(
            ("git", *command), cwd=folder, env=variables, check=True, capture_output=True, text=True
        )
    return completed.stdout.strip()


@pytest.fixture
def commit(repo: Path) -> CommitAll:
    """Return a function that commits the whole work tree of the repository, as `commit_all` does."""
    return partial(commit_all, repo)


@pytest.fixture(scope="session")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Return a repository in which a document is edited and moved, and another is added and removed."""
    folder = tmp_path_factory.mktemp("history")
    subprocess.run(("git", "init", "--quiet", "--initial-branch=main"), cwd=folder, check=True)
    guide = folder / "guide.md"
    text = "# Guide\n\nHow to begin.\n\n## Retries\n\nA backoff with jitter.\n"
    guide.write_text(text)
    commits = [commit_all(folder, 1, "Begin")]
    guide.write_text(text := text.replace("A backoff with jitter.", "A backoff, which doubles."))
    client = "\n\nDocyard-Client: claude-code\nDocyard-Tool: edit_document"
    commits.append(commit_all(folder, 2, f"Describe the backoff{client}", "Bob Builder <bob@example.com>"))
    guide.write_text(text := text.replace("## Retries", "## How to retry"))
    commits.append(commit_all(folder, 3, "Rename the section after a common question"))
    (folder / "guides").mkdir()
    guide = guide.rename(folder / "guides" / "setup.md")
    (folder / "app.py").write_text("print()\n")
    commits.append(commit_all(folder, 4, "A folder for guides"))
    (folder / "docs").mkdir()
    (folder / "docs" / "b.md").write_text("# B\n\nText.\n")
    commits.append(commit_all(folder, 5, "Add B"))
    (folder / "docs" / "b.md").unlink()
    guide.write_text(text + "\n- [ ] Raise it\n\tA \x1b[31mtab\x1b[0m.\n")
    commits.append(commit_all(folder, 6, "Drop B"))
    (folder / "app.py").write_text("print(2)\n")
    commit_all(folder, 7, "No document")
    return History(folder, commits)


@pytest.fixture
def commit_ids(repo: Path, history: History) -> list[str]:
    """Replace the repository with a copy of `history`; return the ids of commits that changed documents."""
    shutil.rmtree(repo)
    shutil.copytree(history.folder, repo)
    return history.commit_ids


@pytest.fixture
def run_in_terminal(repo: Path) -> RunInTerminal:
    """Return a function that runs docyard in a terminal, in the repository, and returns the printed text.

    The function checks that the exit code is 0, and removes colours unless `colours` is true.
    No pager is used unless `pager` is its command. The terminal has 40 lines.
    """

    def run(*arguments: str, columns: int = 80, colours: bool = False, pager: str = "") -> str:
        master, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        variables = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}
        variables["DOCYARD_PAGER"] = pager
        for name in ("COLUMNS", "NO_COLOR", "COLORTERM"):
            variables.pop(name, None)
        command = [*fork_server.build_python_command(), "-m", "docyard", *arguments]
        process = subprocess.Popen(
            command, cwd=repo, stdin=terminal, stdout=terminal, stderr=terminal, env=variables
        )
        os.close(terminal)
        output = b""
        try:
            while chunk := os.read(master, 65536):
                output += chunk
        except OSError:  # Linux raises this when all writers have closed
            pass
        os.close(master)
        assert process.wait() == 0
        text = output.decode().replace("\r\n", "\n")
        return text if colours else ANSI_SEQUENCE.sub("", text)

    return run
