"""Debouncer: background work runs once, and is not lost when the process exits."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from index.storage.metadata_file import Debouncer

NEVER = 1_000.0


def test_scheduled_work_runs_after_the_delay() -> None:
    done = threading.Event()
    Debouncer(done.set, 0.01).schedule()
    assert done.wait(60)


def test_work_scheduled_twice_runs_once() -> None:
    done: list[str] = []
    debouncer = Debouncer(lambda: done.append(threading.current_thread().name), NEVER)
    debouncer.flush()
    assert done == []
    debouncer.schedule()
    debouncer.schedule()
    assert done == []
    debouncer.flush()
    debouncer.flush()
    assert done == [threading.current_thread().name]
    debouncer.schedule()
    debouncer.flush()
    assert len(done) == 2


def test_work_scheduled_while_running_runs_again() -> None:
    done: list[bool] = []

    def work() -> None:
        done.append(True)
        if len(done) == 1:
            debouncer.schedule()

    debouncer = Debouncer(work, NEVER)
    debouncer.schedule()
    debouncer.flush()
    assert len(done) == 1
    debouncer.flush()
    assert len(done) == 2


@pytest.mark.process
def test_process_exit_runs_scheduled_work() -> None:
    code = (
        "from index.storage.metadata_file import Debouncer\n"
        "Debouncer(lambda: print('done'), 1000).schedule()\nprint('end')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout.split() == ["end", "done"]
    assert ended.stderr == ""
