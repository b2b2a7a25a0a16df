"""The pool of processes: all blocks of work are processed, even if worker processes fail."""

from __future__ import annotations

import multiprocessing
import os
import signal
from functools import partial

import pytest

from index.pool import process_map
from tests.loops import loop_over

pytestmark = pytest.mark.process

TEST_PID = os.getpid()


def _square(block: int) -> int:
    return block * block


def _square_or_die(parent_pid: int, fatal_block: int, block: int) -> int:
    """Square a block; kill the process at the block `fatal_block` unless it is `parent_pid`."""
    if block == fatal_block and os.getpid() != parent_pid:
        os.kill(os.getpid(), signal.SIGKILL)
    return block * block


def _fail(block: int) -> int:
    raise ValueError(f"no {block}")


def _set_environment_mark(name: str) -> None:
    os.environ["DOCYARD_TEST_POOL"] = name


def _read_environment_mark(block: int) -> str | None:
    return os.environ.get("DOCYARD_TEST_POOL")


@loop_over("processes", [0, 1, 3])
def test_each_block_is_processed_once(processes: int) -> None:
    assert sorted(process_map(_square, iter(range(20)), processes)) == [(n, n * n) for n in range(20)]


@loop_over("fatal_block", [0, 7])
def test_block_of_a_killed_process_is_processed_in_parent(fatal_block: int) -> None:
    work = partial(_square_or_die, TEST_PID, fatal_block)
    assert sorted(process_map(work, iter(range(20)), 2)) == [(n, n * n) for n in range(20)]


def test_error_in_worker_is_raised_in_parent() -> None:
    with pytest.raises(ValueError, match=r"no [56]"):
        list(process_map(_fail, iter([5, 6]), 1))


def test_initializer_runs_in_worker_process() -> None:
    assert list(
        process_map(_read_environment_mark, iter([1]), 1, partial(_set_environment_mark, "begun"))
    ) == [(1, "begun")]


def test_fewer_blocks_than_processes_are_all_processed() -> None:
    assert list(process_map(_square, iter(()), 2)) == []
    assert list(process_map(_square, iter([3]), 2)) == [(3, 9)]


class _KillOnUnpickling:
    """An object that kills another process when it is unpickled there."""

    def __reduce__(self) -> tuple[object, ...]:
        return _kill_other_process, (TEST_PID,)


def _kill_other_process(parent_pid: int) -> None:
    if os.getpid() != parent_pid:
        os.kill(os.getpid(), signal.SIGKILL)


def _square_with_data(killer: object, data: bytes, block: int) -> int:
    return block * block


def test_worker_killed_while_receiving_work_loses_no_block() -> None:
    """Send more data than fits into a pipe, to a process that is killed before it has read all."""
    work = partial(_square_with_data, _KillOnUnpickling(), bytes(1_000_000))
    assert sorted(process_map(work, iter(range(4)), 2)) == [(n, n * n) for n in range(4)]


def _square_or_stop(parent_pid: int, block: int) -> int:
    if os.getpid() != parent_pid:
        os.kill(os.getpid(), signal.SIGSTOP)
    return block * block


def test_blocks_of_stopped_processes_are_processed_in_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("index.pool._TIMEOUT_S", 3.0)
    assert sorted(process_map(partial(_square_or_stop, TEST_PID), iter(range(9)), 2)) == [
        (n, n * n) for n in range(9)
    ]
    assert multiprocessing.active_children() == []
