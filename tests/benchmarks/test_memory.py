"""The peak memory of a process and of a process tree."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.memory import MemorySampler, list_child_pids, read_peak_mb

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs proc(5)"),
]

ALLOCATION_SCRIPT = "import time; data = b'x' * 60_000_000; print('ready', flush=True); time.sleep(0.3)"
PARENT_SCRIPT = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {ALLOCATION_SCRIPT!r}], stdout=subprocess.PIPE)
child.stdout.readline()
data = b"y" * 60_000_000
child.wait()
"""


def test_peak_of_process_tree_includes_parent_and_child() -> None:
    with (
        subprocess.Popen([sys.executable, "-c", PARENT_SCRIPT]) as process,
        MemorySampler(process.pid) as sampler,
    ):
        process.wait()
    assert 120 < sampler.peak_mb < 200


def test_peak_of_process_includes_freed_memory() -> None:
    import_line = "from benchmarks.memory import read_peak_mb"
    code = f"data = b'x' * 60_000_000; del data; {import_line}; print(read_peak_mb())"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 60 < float(process.stdout) < 120


def test_child_processes_are_listed_with_their_peak() -> None:
    with subprocess.Popen([sys.executable, "-c", ALLOCATION_SCRIPT], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert process.pid in set(list_child_pids(os.getpid()))
        assert 60 < read_peak_mb(process.pid) < 120
    assert process.pid not in set(list_child_pids(os.getpid()))
    assert read_peak_mb(process.pid) == 0
