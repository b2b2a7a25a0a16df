"""The debouncer: background work runs once, and also runs if the process exits before the delay is over."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from index.storage.metadata_file import Debouncer

LONG_DELAY_S = 1_000.0


def test_scheduled_work_runs_after_the_delay() -> None:
    run_event = threading.Event()
    Debouncer(run_event.set, 0.01).schedule()
    assert run_event.wait(60)


def test_work_scheduled_twice_runs_once() -> None:
    runs: list[str] = []
    debouncer = Debouncer(lambda: runs.append(threading.current_thread().name), LONG_DELAY_S)
    debouncer.flush()
    assert runs == []
    debouncer.schedule()
    debouncer.schedule()
    assert runs == []
    debouncer.flush()
    debouncer.flush()
    assert runs == [threading.current_thread().name]
    debouncer.schedule()
    debouncer.flush()
    assert len(runs) == 2


def test_work_scheduled_while_running_runs_again() -> None:
    runs: list[bool] = []

    def work() -> None:
        runs.append(True)
        if len(runs) == 1:
            debouncer.schedule()

    debouncer = Debouncer(work, LONG_DELAY_S)
    debouncer.schedule()
    debouncer.flush()
    assert len(runs) == 1
    debouncer.flush()
    assert len(runs) == 2


@pytest.mark.process
def test_process_exit_runs_scheduled_work() -> None:
    code = (
        "from index.storage.metadata_file import Debouncer\n"
        "Debouncer(lambda: print('done'), 1000).schedule()\nprint('end')\n"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert process.stdout.split() == ["end", "done"]
    assert process.stderr == ""
