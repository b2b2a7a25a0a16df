"""The state of a repository, read with the git program and the file system, independently of Docyard."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.repositories import Repo

_FIELD_SEPARATOR, _RECORD_SEPARATOR = "\x1f", "\x1e"


def find_git_dir(repo: Repo) -> Path:
    """Return the folder that contains the objects and refs."""
    return (repo.path / repo.git("rev-parse", "--git-common-dir").strip()).resolve()


def find_leftover_files(repo: Repo) -> list[str]:
    """Return the paths of locks, staging folders and temporary files that no writer removed."""
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


def read_markdown_files(repo: Repo, commit: str = "HEAD") -> dict[str, str]:
    """Return every Markdown file of a commit, by its path."""
    tree_lines = repo.git("ls-tree", "-r", "-z", commit)
    entries = [line.split("\t", 1) for line in tree_lines.split("\0") if line.endswith(".md")]
    object_ids = "".join(f"{header.split()[2]}\n" for header, _ in entries)
    process = subprocess.run(
        ["git", "cat-file", "--batch"],
        cwd=repo.path,
        input=object_ids.encode(),
        capture_output=True,
        check=True,
    )
    return dict(zip((path for _, path in entries), _parse_blobs(process.stdout), strict=True))


def _parse_blobs(stream: bytes) -> Iterator[str]:
    """Yield the contents in the output of `git cat-file --batch`."""
    while stream:
        header, _, content_and_rest = stream.partition(b"\n")
        size = int(header.split()[2])
        yield content_and_rest[:size].decode()
        stream = content_and_rest[size + 1 :]


def read_commits(repo: Repo) -> dict[str, tuple[str, str]]:
    """Return every commit of HEAD with its tool (empty for a user) and its subject."""
    fields = ("%H", "%(trailers:key=Docyard-Tool,valueonly,separator=)", "%s")
    log_format = _FIELD_SEPARATOR.join(fields) + _RECORD_SEPARATOR
    lines = repo.git("log", f"--format={log_format}").split(_RECORD_SEPARATOR)
    return {
        commit: (tool, subject)
        for commit, tool, subject in (line.strip().split(_FIELD_SEPARATOR) for line in lines if line.strip())
    }


def assert_valid(repo: Repo, *, is_bare: bool = False) -> None:
    """Check that HEAD, index and files agree, no temporary file remains, and fsck reports no problem."""
    assert find_leftover_files(repo) == []
    if not is_bare:
        assert repo.status() == ""
        repo.git("diff", "--quiet", "HEAD")
        repo.git("diff", "--quiet", "--cached", "HEAD")
    assert repo.fsck() == ""
