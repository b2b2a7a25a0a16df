"""The state of a repository, read with the git program and the file system, independently of Docyard."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.repositories import Repo

_FIELD, _END = "\x1f", "\x1e"


def find_git_dir(repo: Repo) -> Path:
    """Return the folder of objects and refs."""
    return (repo.path / repo.git("rev-parse", "--git-common-dir").strip()).resolve()


def find_leftover_files(repo: Repo) -> list[str]:
    """Return locks, private folders and partly written files that no writer removed."""
    git_dir = find_git_dir(repo)
    leftover_files = [
        *git_dir.glob("*.lock"),
        *git_dir.glob("worktrees/*/*.lock"),
        *(git_dir / "refs").rglob("*.lock"),
    ]
    leftover_files += (git_dir / "docyard" / "pending").glob("*")
    if git_dir != repo.path:
        leftover_files += [path for path in repo.path.rglob(".docyard-*") if git_dir not in path.parents]
    return sorted(path.as_posix() for path in leftover_files)


def read_texts(repo: Repo, commit: str = "HEAD") -> dict[str, str]:
    """Return every Markdown file of a commit, by its path."""
    listed = repo.git("ls-tree", "-r", "-z", commit)
    entries = [line.split("\t", 1) for line in listed.split("\0") if line.endswith(".md")]
    requested = "".join(f"{head.split()[2]}\n" for head, _ in entries)
    completed = subprocess.run(
        ["git", "cat-file", "--batch"],
        cwd=repo.path,
        input=requested.encode(),
        capture_output=True,
        check=True,
    )
    return dict(zip((path for _, path in entries), _blobs(completed.stdout), strict=True))


def _blobs(stream: bytes) -> Iterator[str]:
    """Yield the contents in the output of `git cat-file --batch`."""
    while stream:
        head, _, rest = stream.partition(b"\n")
        size = int(head.split()[2])
        yield rest[:size].decode()
        stream = rest[size + 1 :]


def read_commits(repo: Repo) -> dict[str, tuple[str, str]]:
    """Return every commit of the branch with its tool (empty for a user) and its subject."""
    shape = f"%H{_FIELD}%(trailers:key=Docyard-Tool,valueonly,separator=){_FIELD}%s{_END}"
    lines = repo.git("log", f"--format={shape}").split(_END)
    return {
        number: (tool, subject)
        for number, tool, subject in (line.strip().split(_FIELD) for line in lines if line.strip())
    }


def assert_sound(repo: Repo, *, bare: bool = False) -> None:
    """Check that HEAD, index and files are equal, no files are left over, and fsck is clean."""
    assert find_leftover_files(repo) == []
    if not bare:
        assert repo.status() == ""
        repo.git("diff", "--quiet", "HEAD")
        repo.git("diff", "--quiet", "--cached", "HEAD")
    assert repo.fsck() == ""
