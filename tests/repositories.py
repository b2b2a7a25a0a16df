"""Builders of small repositories for tests, made by the git program itself."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workspace.git import Signature

NAME, EMAIL = "Ada", "ada@example.org"

_GIT_SETTINGS = {"gc.auto": "0", "maintenance.auto": "false"}
"""After each commit git would ask a process of its own whether there is something to tidy up."""

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_EDITOR": "true",
    "LC_ALL": "C",
    "GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(_GIT_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_GIT_SETTINGS.values())},
}


def environment() -> dict[str, str]:
    """Return the environment in which git runs here: without the user's own configuration."""
    return {**os.environ, **_ENVIRONMENT}


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository at `path`: the folder of its files, or itself if bare."""

    path: Path

    def git(self, *arguments: str, check: bool = True) -> str:
        """Run git there, without the user's own configuration, and return what it printed."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(f"git {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files into the work tree, without telling Git."""
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes], message: str = "A person's commit") -> str:
        """Write files, commit everything, and return the commit's id."""
        self._commit(files, message)
        return self.head()

    def _commit(self, files: Mapping[str, str | bytes], message: str) -> None:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    def head(self) -> str:
        """The id of the commit that HEAD names."""
        return self.git("rev-parse", "HEAD").strip()

    def status(self) -> str:
        """What `git status --porcelain` prints."""
        return self.git("status", "--porcelain")

    def fsck(self) -> str:
        """What `git fsck --strict` complains of."""
        return self.git("fsck", "--strict", "--no-dangling", "--no-progress")


FILES: Mapping[str, str] = {
    "README.md": "# Example\n\nText.\n",
    "guides/setup.md": "# Setup\n\nSteps.\n",
    "guides/deep/only.md": "# Only\n",
}


@cache
def _empty() -> Path:
    """What `git init` makes, less the examples of hooks; it is made once, and copied."""
    folder = tempfile.TemporaryDirectory(prefix="repository-")
    atexit.register(folder.cleanup)
    repo = Repo(Path(folder.name))
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", NAME)
    repo.git("config", "user.email", EMAIL)
    for example in (repo.path / ".git" / "hooks").iterdir():
        example.unlink()
    return repo.path / ".git"


def unborn(path: Path, *options: str) -> Repo:
    """A repository without a commit, on the branch `main`; the options are those of `git init`."""
    path.mkdir(parents=True, exist_ok=True)
    repo = Repo(path)
    if options or (path / ".git").exists():
        repo.git("init", "-q", "-b", "main", *options)
        repo.git("config", "user.name", NAME)
        repo.git("config", "user.email", EMAIL)
    else:
        shutil.copytree(_empty(), path / ".git")
    return repo


def normal(path: Path, files: Mapping[str, str | bytes] = FILES) -> Repo:
    """A repository with one commit of these files on the branch `main`, checked out."""
    repo = unborn(path)
    repo._commit(files, "First")
    return repo


def bare(path: Path, files: Mapping[str, str | bytes] = FILES) -> Repo:
    """A bare repository with the same commit."""
    source = normal(path.with_name(path.name + "-source"), files)
    person = ("-c", f"user.name={NAME}", "-c", f"user.email={EMAIL}")
    source.git("clone", "-q", "--bare", *person, ".", str(path))
    return Repo(path)


def cloned(source: Repo, path: Path) -> Repo:
    """A clone of a repository in which a person can commit."""
    source.git("clone", "-q", str(source.path), str(path))
    repo = Repo(path)
    repo.git("config", "user.name", NAME)
    repo.git("config", "user.email", EMAIL)
    return repo


def detached(path: Path, files: Mapping[str, str | bytes] = FILES) -> Repo:
    """A normal repository whose HEAD stands on the commit itself."""
    repo = normal(path, files)
    repo.git("checkout", "-q", "--detach")
    return repo


def linked(repo: Repo, path: Path, branch: str) -> Repo:
    """A linked work tree of a repository, on a new branch."""
    repo.git("worktree", "add", "-q", "-b", branch, str(path))
    return Repo(path)


def signature() -> Signature:
    """The person of these repositories, at a fixed moment."""
    return Signature(NAME, EMAIL, 1_700_000_000, 60)


def all_but_objects(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Mode, time and bytes of everything below a folder, less Git's objects and Docyard's own folder."""
    found = {}
    for below, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ("objects", "docyard")]
        for path in (Path(below, name) for name in names):
            status = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[str(path)] = (status.st_mode, status.st_mtime_ns, data)
    return found
