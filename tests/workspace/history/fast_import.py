"""Functions that write a history with any commit graph by one call of `git fast-import`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.repositories import Repo

FIRST_COMMIT_TIME_S = 1_700_000_000


class PlannedCommit(NamedTuple):
    """A commit to write: all of its files, and the indexes of its parents in the list of commits."""

    files: Mapping[str, bytes]
    parents: Sequence[int] = ()
    message: bytes = b"A change"
    author: bytes = b"Ada <ada@example.org>"
    clock_error_s: int = 0


def write_history(path: Path, commits: Sequence[PlannedCommit]) -> tuple[Repo, list[str]]:
    """Write a bare repository of commits, one hour apart except for clock errors.

    The branch `main` is at the last commit, and a branch `at<number>` at each commit.

    Return the repository and the commit ids.
    """
    path.mkdir(parents=True)
    repo = Repo(path)
    repo.git("init", "-q", "--bare", "-b", "main")
    stream = bytearray()
    for number, commit in enumerate(commits):
        time = FIRST_COMMIT_TIME_S + 3600 * number + commit.clock_error_s
        stream += b"reset refs/heads/at%d\n" % number
        if commit.parents:
            stream += b"from :%d\n\n" % (commit.parents[0] + 1)
        stream += b"commit refs/heads/at%d\nmark :%d\n" % (number, number + 1)
        stream += b"author %b %d +0130\n" % (commit.author, time)
        stream += b"committer Bob <bob@example.org> %d +0000\n" % time
        stream += b"data %d\n%b\n" % (len(commit.message), commit.message)
        for parent in commit.parents[:1]:
            stream += b"from :%d\n" % (parent + 1)
        for parent in commit.parents[1:]:
            stream += b"merge :%d\n" % (parent + 1)
        stream += b"deleteall\n"
        for file_path, data in commit.files.items():
            stream += b"M 100644 inline %b\ndata %d\n%b\n" % (file_path.encode(), len(data), data)
    stream += b"reset refs/heads/main\nfrom :%d\n\n" % len(commits)
    marks = path / "marks"
    command = ["git", "fast-import", "--quiet", f"--export-marks={marks}"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(command, cwd=path, input=bytes(stream), env=env, check=True)
    ids = dict(line.split() for line in marks.read_text().splitlines())
    return repo, [ids[f":{number + 1}"] for number in range(len(commits))]


def build_linear_commits(versions: Sequence[Mapping[str, bytes]]) -> list[PlannedCommit]:
    """Return commits with these files, each with the previous commit as its parent."""
    return [PlannedCommit(files, [number - 1] if number else []) for number, files in enumerate(versions)]
