"""Fixtures: a home folder for each test, without the user's settings and index key, and a repository."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

Git = Callable[..., str]


@pytest.fixture(scope="session")
def git_template_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the template folder of `git init`, without the sample hooks."""
    folder = tmp_path_factory.mktemp("new-repository")
    (folder / "hooks").mkdir()
    (folder / "info").mkdir()
    return folder


@pytest.fixture(autouse=True)
def home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, git_template_folder: Path
) -> Path:
    folder = tmp_path_factory.mktemp("home")
    (folder / ".gitconfig").write_text(
        "[user]\n  name = Ann Author\n  email = ann@example.com\n"
        f"[init]\n  defaultBranch = main\n  templateDir = {git_template_folder}\n"
        # Otherwise git starts a maintenance process after each commit.
        "[gc]\n  auto = 0\n[maintenance]\n  auto = false\n"
    )
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(folder / name.lower()))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("REPO", "BRANCH", "READ_ONLY", "TOOLSETS", "REMOTE_TOKEN", "REMOTE_USER", "CREDENTIALS"):
        monkeypatch.delenv(f"DOCYARD_{name}", raising=False)
    for name in ("DOCYARD_SSH_KEY", "SSH_AUTH_SOCK", "GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "GIT_DIR"):
        monkeypatch.delenv(name, raising=False)
    import pygit2

    # libgit2 searches the user's configuration once in a process.
    pygit2.settings.search_path[pygit2.enums.ConfigLevel.GLOBAL] = str(folder)
    pygit2.settings.search_path[pygit2.enums.ConfigLevel.XDG] = str(folder)
    pygit2.settings.search_path[pygit2.enums.ConfigLevel.SYSTEM] = str(folder / "none")
    return folder


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["pipe", "socket"])
def descriptors(request: pytest.FixtureRequest) -> Iterator[tuple[int, int]]:
    """Yield the descriptors of a pipe or a socket pair: one to read from, and one to write to."""
    if request.param == "pipe":
        reader, writer = os.pipe()
    else:
        reader, writer = (end.detach() for end in socket.socketpair())
    inodes = {end: os.fstat(end).st_ino for end in (reader, writer)}
    yield reader, writer
    for end, inode in inodes.items():
        with suppress(OSError):  # a test may have closed it, and another file may have its descriptor now
            if os.fstat(end).st_ino == inode:
                os.close(end)


@pytest.fixture
def repo(tmp_path: Path, git: Git) -> Path:
    """Return a repository with one document, committed."""
    folder = tmp_path / "specs"
    folder.mkdir()
    git("init", "--quiet", "--initial-branch=main")
    (folder / "guide.md").write_text(
        "---\ntype: runbook\ntags: [backend]\n---\n\n# Guide\n\nHow to begin.\n\n"
        "## Retries\n\nA backoff with jitter.\n"
    )
    git("add", ".")
    git("commit", "--quiet", "--message", "Begin")
    return folder


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Return a function that runs git in the folder of `repo`, or in `cwd`, and returns its output."""

    def run(*arguments: str, cwd: Path | None = None) -> str:
        completed = subprocess.run(
            ("git", *arguments), cwd=cwd or tmp_path / "specs", check=True, capture_output=True, text=True
        )
        return completed.stdout.strip()

    return run
