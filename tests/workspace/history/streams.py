"""Histories written by `git fast-import`: any commit graph in one call."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.repositories import Repo

BEGUN = 1_700_000_000


class Made(NamedTuple):
    """A planned commit: all of its files, and the indexes of its parents in the list.

    `late` is its clock error in seconds.
    """

    files: Mapping[str, bytes]
    parents: Sequence[int] = ()
    message: bytes = b"A change"
    author: bytes = b"Ada <ada@example.org>"
    late: int = 0


def history(path: Path, commits: Sequence[Made]) -> tuple[Repo, list[str]]:
    """Return a bare repository of these commits, each an hour after the previous; the last is `main`."""
    path.mkdir(parents=True)
    repo = Repo(path)
    repo.git("init", "-q", "--bare", "-b", "main")
    stream = bytearray()
    for number, made in enumerate(commits):
        time = BEGUN + 3600 * number + made.late
        stream += b"reset refs/heads/at%d\n" % number
        if made.parents:
            stream += b"from :%d\n\n" % (made.parents[0] + 1)
        stream += b"commit refs/heads/at%d\nmark :%d\n" % (number, number + 1)
        stream += b"author %b %d +0130\n" % (made.author, time)
        stream += b"committer Bob <bob@example.org> %d +0000\n" % time
        stream += b"data %d\n%b\n" % (len(made.message), made.message)
        for parent in made.parents[:1]:
            stream += b"from :%d\n" % (parent + 1)
        for parent in made.parents[1:]:
            stream += b"merge :%d\n" % (parent + 1)
        stream += b"deleteall\n"
        for name, data in made.files.items():
            stream += b"M 100644 inline %b\ndata %d\n%b\n" % (name.encode(), len(data), data)
    stream += b"reset refs/heads/main\nfrom :%d\n\n" % len(commits)
    marks = path / "marks"
    command = ["git", "fast-import", "--quiet", f"--export-marks={marks}"]
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(command, cwd=path, input=bytes(stream), env=env, check=True)
    ids = dict(line.split() for line in marks.read_text().splitlines())
    return repo, [ids[f":{number + 1}"] for number in range(len(commits))]


def line_of(versions: Sequence[Mapping[str, bytes]]) -> list[Made]:
    """Return a linear list of commits."""
    return [Made(files, [number - 1] if number else []) for number, files in enumerate(versions)]
