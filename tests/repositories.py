"""Builders of small repositories for tests.

libgit2 creates most commits, in a fraction of the time of the git program. The git program creates commits
that libgit2 would create differently: with filters, hooks, a running merge, or environment variables of Git.
"""

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

import pygit2

from workspace.git.objects import Signature

NAME, EMAIL = "Ada", "ada@example.org"

_GIT_SETTINGS = {"gc.auto": "0", "maintenance.auto": "false"}
"""These settings stop git from starting a housekeeping process after each commit."""

_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_EDITOR": "true",
    "LC_ALL": "C",
    "GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{number}": key for number, key in enumerate(_GIT_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_GIT_SETTINGS.values())},
}


def build_git_environment() -> dict[str, str]:
    """Return the environment of the git program, without the user's configuration."""
    return {**os.environ, **_ENVIRONMENT}


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository; `path` is its work tree, or the Git directory of a bare repository."""

    path: Path

    def git(self, *arguments: str, check: bool = True) -> str:
        """Run git in the repository, without the user's configuration, and return its output."""
        result = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=build_git_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if check and result.returncode:
            raise AssertionError(f"git {' '.join(arguments)}: {result.stdout}{result.stderr}")
        return result.stdout

    def write(self, files: Mapping[str, str | bytes]) -> None:
        """Write files into the work tree, without adding them to Git."""
        for name, content in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def commit(self, files: Mapping[str, str | bytes], message: str = "A person's commit") -> str:
        """Write files, commit everything, and return the commit's id."""
        self._write_and_commit(files, message)
        return self.head()

    def _write_and_commit(self, files: Mapping[str, str | bytes], message: str) -> None:
        self.write(files)
        repository = self._open()
        if repository is None or _needs_git(repository):
            self.git("add", "-A")
            self.git("commit", "-q", "--allow-empty", "-m", message)
            return
        index = repository.index
        index.add_all()
        tree = index.write_tree()  # the index then stores the ids of the trees
        index.write()
        user_signature = repository.default_signature
        parents = [] if repository.head_is_unborn else [repository.head.target]
        text = message.strip("\n") + "\n"
        repository.create_commit("HEAD", user_signature, user_signature, text, tree, parents)

    def head(self) -> str:
        """Return the id of the commit that HEAD names."""
        repository = self._open()
        return (
            str(repository.head.target) if repository is not None else self.git("rev-parse", "HEAD").strip()
        )

    def _open(self) -> pygit2.Repository | None:
        """Open the repository with libgit2; return None if libgit2 does not support it."""
        try:
            return pygit2.Repository(str(self.path))
        except pygit2.GitError:
            return None

    def status(self) -> str:
        """Return the output of `git status --porcelain`."""
        return self.git("status", "--porcelain")

    def fsck(self) -> str:
        """Return the problems that `git fsck --strict` reports."""
        return self.git("fsck", "--strict", "--no-dangling", "--no-progress")


_GIT_VARIABLE_PREFIXES = (
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_DIR",
    "GIT_INDEX",
    "GIT_WORK_TREE",
    "GIT_OBJECT",
)
_UNSUPPORTED_FILES = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "sharedindex*", "shallow")
_UNSUPPORTED_SETTINGS = (
    "core.splitindex",
    "core.fsmonitor",
    "core.untrackedcache",
    "core.sparsecheckout",
    "index.version",
)


def _needs_git(repository: pygit2.Repository) -> bool:
    """Return True if libgit2 might commit differently from the git program."""
    folder = Path(repository.path)
    return (
        any(name.startswith(_GIT_VARIABLE_PREFIXES) for name in os.environ)
        or any(any(folder.glob(pattern)) for pattern in _UNSUPPORTED_FILES)
        or any(name in repository.config for name in _UNSUPPORTED_SETTINGS)
        or any(os.access(hook, os.X_OK) for hook in Path(repository.workdir, ".git", "hooks").glob("*"))
        or any(Path(repository.workdir).rglob(".gitattributes"))
    )


FILES: Mapping[str, str] = {
    "README.md": "# Example\n\nText.\n",
    "guides/setup.md": "# Setup\n\nSteps.\n",
    "guides/deep/only.md": "# Only\n",
}


@cache
def _create_git_dir_template() -> Path:
    """Create a `.git` folder with `git init`, without sample hooks, as a template for copies."""
    folder = tempfile.TemporaryDirectory(prefix="repository-")
    atexit.register(folder.cleanup)
    repo = Repo(Path(folder.name))
    repo.git("init", "-q", "-b", "main")
    repo.git("config", "user.name", NAME)
    repo.git("config", "user.email", EMAIL)
    for example in (repo.path / ".git" / "hooks").iterdir():
        example.unlink()
    return repo.path / ".git"


def create_empty_repository(path: Path, *options: str) -> Repo:
    """Make a repository without a commit, on the branch `main`, with options of `git init`."""
    path.mkdir(parents=True, exist_ok=True)
    repo = Repo(path)
    if options or (path / ".git").exists():
        repo.git("init", "-q", "-b", "main", *options)
        repo.git("config", "user.name", NAME)
        repo.git("config", "user.email", EMAIL)
    else:
        shutil.copytree(_create_git_dir_template(), path / ".git")
    return repo


def create_repository(path: Path, files: Mapping[str, str | bytes] = FILES) -> Repo:
    """Make a repository with one commit of these files on the branch `main`, checked out."""
    repo = create_empty_repository(path)
    repo._write_and_commit(files, "First")
    return repo


def create_bare_repository(path: Path, files: Mapping[str, str | bytes] = FILES) -> Repo:
    """Make a bare repository with one commit of these files."""
    source = create_repository(path.with_name(path.name + "-source"), files)
    unused = shutil.ignore_patterns("index", "logs", "COMMIT_EDITMSG")
    shutil.copytree(source.path / ".git", path, ignore=unused)
    settings = pygit2.Repository(str(path)).config
    settings["core.bare"] = True
    del settings["core.logallrefupdates"]
    settings["remote.origin.url"] = f"{source.path}/."
    return Repo(path)


def clone_repository(source: Repo, path: Path) -> Repo:
    """Clone a repository, and set the name and e-mail address of the user who commits."""
    source.git("clone", "-q", str(source.path), str(path))
    repo = Repo(path)
    repo.git("config", "user.name", NAME)
    repo.git("config", "user.email", EMAIL)
    return repo


def create_detached_repository(path: Path, files: Mapping[str, str | bytes] = FILES) -> Repo:
    """Make a normal repository with a detached HEAD."""
    repo = create_repository(path, files)
    repo.git("checkout", "-q", "--detach")
    return repo


def add_work_tree(repo: Repo, path: Path, branch: str) -> Repo:
    """Make a linked work tree of a repository, on a new branch."""
    repo.git("worktree", "add", "-q", "-b", branch, str(path))
    return Repo(path)


def make_signature() -> Signature:
    """Return the signature of the repositories' user, at a fixed time."""
    return Signature(NAME, EMAIL, 1_700_000_000, 60)


def read_repository_files(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return the mode, modification time in ns and bytes of each file below a folder, by path.

    The folders `objects` and `docyard` are skipped.
    """
    states = {}
    for parent, subfolders, names in os.walk(folder):
        subfolders[:] = [name for name in subfolders if name not in ("objects", "docyard")]
        for path in (Path(parent, name) for name in names):
            status = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            states[str(path)] = (status.st_mode, status.st_mtime_ns, data)
    return states
