"""Memory: a process's own high-water mark, and that of a tree of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.memory import Watch, children, peak_mb

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs proc(5)"),
]

HOLD = "import time; held = b'x' * 60_000_000; print('ready', flush=True); time.sleep(0.3)"
PARENT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {HOLD!r}], stdout=subprocess.PIPE)
child.stdout.readline()
held = b"y" * 60_000_000
child.wait()
"""


def test_a_tree_is_what_its_processes_hold_together() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT]) as process, Watch(process.pid) as watch:
        process.wait()
    assert 120 < watch.peak_mb < 200


def test_a_process_keeps_its_peak_after_it_has_let_go() -> None:
    code = "held = b'x' * 60_000_000; del held; from benchmarks.memory import peak_mb; print(peak_mb())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 60 < float(done.stdout) < 120


def test_the_children_of_a_process_and_their_peak() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert process.pid in set(children(os.getpid()))
        assert 60 < peak_mb(process.pid) < 120
    assert process.pid not in set(children(os.getpid()))
    assert peak_mb(process.pid) == 0
