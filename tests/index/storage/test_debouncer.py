"""Later: what nobody waits for is done once, and never lost by an orderly end."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from index.storage.metadata_file import Debouncer

NEVER = 1_000.0


def test_it_is_done_in_a_moment() -> None:
    done = threading.Event()
    Debouncer(done.set, 0.01).schedule()
    assert done.wait(60)


def test_what_is_asked_for_often_is_done_once() -> None:
    done: list[str] = []
    later = Debouncer(lambda: done.append(threading.current_thread().name), NEVER)
    later.flush()
    assert done == []
    later.schedule()
    later.schedule()
    assert done == []
    later.flush()
    later.flush()
    assert done == [threading.current_thread().name]
    later.schedule()
    later.flush()
    assert len(done) == 2


def test_what_is_asked_for_meanwhile_is_done_again() -> None:
    done: list[bool] = []

    def work() -> None:
        done.append(True)
        if len(done) == 1:
            later.schedule()

    later = Debouncer(work, NEVER)
    later.schedule()
    later.flush()
    assert len(done) == 1
    later.flush()
    assert len(done) == 2


@pytest.mark.process
def test_the_end_of_the_process_waits_for_it() -> None:
    code = (
        "from index.storage.metadata_file import Debouncer\n"
        "Debouncer(lambda: print('done'), 1000).schedule()\nprint('end')\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ended.stdout.split() == ["end", "done"]
    assert ended.stderr == ""
