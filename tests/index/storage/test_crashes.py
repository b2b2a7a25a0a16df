"""Crash tests: a writer is killed, or the disk is full, at each step that changes the index folder.

An audit hook counts the steps in a forked process. The index that the next process opens must return the
results of a new index.
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
from tests.index.index_checks import find_index_folder, is_correct, list_orphans, move_branch
from tests.repositories import Repo
from workspace.workspace import Workspace

OpenIndex = Callable[[], SearchIndex]

SPACE_LEFT_EXIT_CODE = 3
"""The exit code of a child that ended before the simulated disk was full."""

STEPS = frozenset({"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate", "os.link"})

pytestmark = [pytest.mark.fault, pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")]


def kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def raise_disk_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def stop_at(number: int, folder: Path, stop: Callable[[], None], *, once: bool = False) -> None:
    """Call `stop` at the change with this number below the folder, and at later changes unless `once`."""
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
        if count == number or (count > number and not once):
            stop()

    sys.addaudithook(hook)


def run_in_fork(work: Callable[[], None]) -> int | None:
    """Run work in a forked process, and return its exit code."""
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start()
    process.join(60)
    assert process.exitcode is not None, "the process hangs"
    return process.exitcode


@pytest.fixture
def commits(repo: Repo) -> list[str]:
    """Return commits that change, add and remove documents; the branch is at the last commit."""
    commit_ids = [repo.head()]
    for number in range(3):
        (repo.path / f"notes/n{number - 1}.md").unlink(missing_ok=True)
        text = f"# Limits\n\n## Errors {number}\n\nA quagga says when to retry.\n"
        commit_ids.append(repo.commit({"guides/limits.md": text, f"notes/n{number}.md": "# New\n\nOkapi.\n"}))
    return commit_ids


def update_and_close(open_index: OpenIndex) -> None:
    """Update the index, and wait until its threads end, because a later fork could interrupt them."""
    with closing(open_index()) as index:
        index.update_to_tip()


def is_reopened_index_correct(open_index: OpenIndex, repo: Repo) -> bool:
    """Return True if an index that is opened now returns correct results."""
    with closing(open_index()) as index:
        return is_correct(index, repo)


def prepare_work(work: str, open_index: OpenIndex, repo: Repo, commits: list[str], number: int) -> None:
    """Prepare the work: remove the pointer to the index (`first`), or update the index.

    For the work `update`, then move the branch to another commit.
    """
    if work == "first":
        for pointer in (repo.path / ".git" / "docyard").glob("index/*/current"):
            pointer.unlink()
    else:
        update_and_close(open_index)
        if work == "update":
            move_branch(repo, commits[number % len(commits)])


@pytest.mark.parametrize(
    "work", ["update", *(pytest.param(work, marks=pytest.mark.slow) for work in ("first", "rebuild"))]
)
def test_index_is_correct_after_kill_at_any_step(
    open_index: OpenIndex, repo: Repo, commits: list[str], work: str
) -> None:
    private_folder = repo.path / ".git" / "docyard"
    code: int | None = None
    step_count = 0
    while code != 0:
        prepare_work(work, open_index, repo, commits, step_count)

        def run_child(number: int = step_count + 1) -> None:
            stop_at(number, private_folder, kill_self)
            index = SearchIndex(Workspace.open(repo.path, read_only=True))
            index.rebuild() if work == "rebuild" else index.update_to_tip()

        old_folder = find_index_folder(repo) if work == "update" else None
        code = run_in_fork(run_child)
        assert code in (0, -signal.SIGKILL)
        assert is_reopened_index_correct(open_index, repo)
        assert old_folder is None or find_index_folder(repo) == old_folder, "the index was rebuilt"
        if code:
            step_count += 1
            assert step_count < 200, "the work never completes"
        move_branch(repo, commits[(step_count + 1) % len(commits)])
        update_and_close(open_index)
        assert list_orphans(repo) == []
    assert step_count >= 10


@pytest.mark.parametrize("work", ["update", pytest.param("first", marks=pytest.mark.slow)])
def test_results_are_correct_with_disk_full_at_any_step(
    open_index: OpenIndex, repo: Repo, commits: list[str], work: str
) -> None:
    """Check the results if the disk is full from a step on, so that the index must move."""
    private_folder = repo.path / ".git" / "docyard"
    exit_code, step_count = 0, 0
    while exit_code == 0:
        prepare_work(work, open_index, repo, commits, step_count)

        def run_child(number: int = step_count + 1) -> None:
            stop_at(number, private_folder, raise_disk_full)
            assert is_correct(SearchIndex(Workspace.open(repo.path, read_only=True)), repo)
            try:
                (private_folder / "probe").write_bytes(b"")
            except OSError:
                sys.exit(0)
            sys.exit(SPACE_LEFT_EXIT_CODE)

        exit_code = run_in_fork(run_child) or 0
        assert exit_code in (0, SPACE_LEFT_EXIT_CODE)
        (private_folder / "probe").unlink(missing_ok=True)
        assert is_reopened_index_correct(open_index, repo)
        step_count += 1
        assert step_count < 200, "the work never completes"
    assert step_count >= 10


def test_index_is_correct_after_kill_at_random_moments(
    open_index: OpenIndex, repo: Repo, commits: list[str]
) -> None:
    update_and_close(open_index)

    def run_writer() -> None:
        index = SearchIndex(Workspace.open(repo.path, read_only=True))
        for number in range(1_000):
            move_branch(repo, commits[number % len(commits)])
            index.update_to_tip()
            if number % 7 == 3:
                index.rebuild()

    rng = random.Random(11)
    for _ in range(12):
        process = multiprocessing.get_context("fork").Process(target=run_writer)
        process.start()
        time.sleep(rng.uniform(0.01, 0.25))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert is_reopened_index_correct(open_index, repo)
