"""A writer is killed or refused by a full disk at each step that changes the index's folder.

An audit hook counts the steps in a forked process. The index that the next process opens must answer like a
fresh index.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from index.service import SearchIndex
from tests.index.lists import index_folder, is_correct, list_orphans, move_branch
from tests.repositories import Repo
from workspace.workspace import Workspace

Open = Callable[[], SearchIndex]

STEPS = frozenset({"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link"})

pytestmark = [pytest.mark.fault, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def stop_at(number: int, folder: Path, stop: Callable[[], None], *, only: bool = False) -> None:
    """Call `stop` at changes under the folder: from the step of this number on, or at it only."""
    count = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event == "open":
            path, _, flags = arguments
            if not (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
                return
        elif event in STEPS:
            path = arguments[0]
        else:
            return
        if not isinstance(path, str | bytes) or not os.fsdecode(path).startswith(str(folder)):
            return
        count += 1
        if count == number or (count > number and not only):
            stop()

    sys.addaudithook(hook)


def run(work: Callable[[], None]) -> int | None:
    """Run work in a forked process, and return its exit code."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode is not None, "the process hangs"
    return process.exitcode


@pytest.fixture
def commits(repo: Repo) -> list[str]:
    """Return commits that change, add and remove documents; the branch is at the last."""
    made = [repo.head()]
    for number in range(3):
        (repo.path / f"notes/n{number - 1}.md").unlink(missing_ok=True)
        text = f"# Limits\n\n## Errors {number}\n\nA quagga says when to retry.\n"
        made.append(repo.commit({"guides/limits.md": text, f"notes/n{number}.md": "# New\n\nOkapi.\n"}))
    return made


def follow(open_index: Open) -> None:
    """Let a fresh index follow, and end its threads: a fork would interrupt one that writes."""
    with closing(open_index()) as index:
        index.follow()


def is_right(open_index: Open, repo: Repo) -> bool:
    """Return True if a fresh index gives the right lists."""
    with closing(open_index()) as index:
        return is_correct(index, repo)


def begin(work: str, open_index: Open, repo: Repo, commits: list[str], number: int) -> None:
    """Prepare work: move the branch ahead of the index, or remove the index."""
    if work == "first":
        for pointer in (repo.path / ".git" / "docyard").glob("index/*/current"):
            pointer.unlink()
    else:
        follow(open_index)
        if work == "follow":
            move_branch(repo, commits[number % len(commits)])


@pytest.mark.parametrize(
    "work", ["follow", *(pytest.param(work, marks=pytest.mark.slow) for work in ("first", "rebuild"))]
)
def test_index_is_correct_after_kill_at_any_step(
    open_index: Open, repo: Repo, commits: list[str], work: str
) -> None:
    area = repo.path / ".git" / "docyard"
    code: int | None = None
    stopped = 0
    while code != 0:
        begin(work, open_index, repo, commits, stopped)

        def child(number: int = stopped + 1) -> None:
            stop_at(number, area, kill)
            index = SearchIndex(Workspace.open(repo.path, read_only=True))
            index.rebuild() if work == "rebuild" else index.follow()

        before = index_folder(repo) if work == "follow" else None
        code = run(child)
        assert code in (0, -signal.SIGKILL)
        assert is_right(open_index, repo)
        assert before is None or index_folder(repo) == before, "the index was rebuilt"
        if code:
            stopped += 1
            assert stopped < 200, "the work never completes"
        move_branch(repo, commits[(stopped + 1) % len(commits)])
        follow(open_index)
        assert list_orphans(repo) == []
    assert stopped >= 10


@pytest.mark.parametrize("work", ["follow", pytest.param("first", marks=pytest.mark.slow)])
def test_answers_are_correct_with_disk_full_at_any_step(
    open_index: Open, repo: Repo, commits: list[str], work: str
) -> None:
    """With a disk full from some step on, the index is in the cache folder or in memory."""
    area = repo.path / ".git" / "docyard"
    was_refused, stopped = 0, 0
    while was_refused == 0:
        begin(work, open_index, repo, commits, stopped)

        def child(number: int = stopped + 1) -> None:
            stop_at(number, area, refuse)
            assert is_correct(SearchIndex(Workspace.open(repo.path, read_only=True)), repo)
            try:
                (area / "probe").write_bytes(b"")
            except OSError:
                sys.exit(0)
            sys.exit(3)

        was_refused = run(child) or 0
        assert was_refused in (0, 3)
        (area / "probe").unlink(missing_ok=True)
        assert is_right(open_index, repo)
        stopped += 1
        assert stopped < 200, "the work never completes"
    assert stopped >= 10


def test_index_is_correct_after_kill_at_random_moments(
    open_index: Open, repo: Repo, commits: list[str]
) -> None:
    follow(open_index)

    def writer() -> None:
        index = SearchIndex(Workspace.open(repo.path, read_only=True))
        for number in range(1_000):
            move_branch(repo, commits[number % len(commits)])
            index.follow()
            if number % 7 == 3:
                index.rebuild()

    chance = random.Random(11)
    for _ in range(12):
        process = multiprocessing.get_context("fork").Process(target=writer)
        process.start()
        time.sleep(chance.uniform(0.01, 0.25))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert is_right(open_index, repo)
