"""The recorded peak memory of a process, and the sampled peak memory of a process tree.

The system records a high-water mark only for single processes. So the sum over a tree is sampled every 20
milliseconds, with shared pages counted once (proc(5), smaps_rollup, Pss). On systems without these values,
only the marks of single processes are available.
"""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

_SAMPLE_INTERVAL_S = 0.02
_PROC = Path("/proc")


def read_peak_mb(pid: int | None = None) -> float:
    """Return the peak memory of a process so far, in MB. The default is this process.

    The value is the highest resident size (proc(5), VmHWM). Without proc(5), the result is 0 for another
    process; for this process it is the larger `ru_maxrss` of this process and its ended children. On Linux,
    `ru_maxrss` is not used, because it includes the parent's memory at the start of this process.
    """
    try:
        status = (_PROC / str(pid or "self") / "status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError, ValueError):
        if pid is not None:
            return 0.0
        bytes_per_unit = 1 if sys.platform == "darwin" else 1024
        targets = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return max(resource.getrusage(target).ru_maxrss for target in targets) * bytes_per_unit / 1e6


def list_child_pids(pid: int) -> Iterator[int]:
    """Yield the process ids of the children of a process."""
    for task in (_PROC / str(pid) / "task").glob("*/children"):
        try:
            yield from map(int, task.read_text().split())
        except OSError:  # the thread has ended
            continue


class MemorySampler:
    """A context manager that samples the total memory of a process tree. `peak_mb` is the maximum so far."""

    def __init__(self, pid: int) -> None:
        self.peak_mb = 0.0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> MemorySampler:
        self._thread.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while True:
            pids = list(list_process_tree(self._pid))
            # A sum of resident pages is cheap; proportional sizes need page tables, which slows the process.
            if sum(map(read_resident_mb, pids)) > self.peak_mb:
                self.peak_mb = max(self.peak_mb, sum(map(_read_proportional_mb, pids)))
            if self._stop.wait(_SAMPLE_INTERVAL_S):
                return


def list_process_tree(pid: int) -> Iterator[int]:
    """Yield the id of a process, and those of its children and of their children."""
    yield pid
    for child in list_child_pids(pid):
        yield from list_process_tree(child)


def read_resident_mb(pid: int | None = None) -> float:
    """Return the resident memory of a process in MB; 0 without proc(5). The default is this process."""
    try:
        return (
            int((_PROC / str(pid or "self") / "statm").read_text().split()[1]) * resource.getpagesize() / 1e6
        )
    except (OSError, IndexError):
        return 0.0


def _read_proportional_mb(pid: int) -> float:
    try:
        rollup = (_PROC / str(pid) / "smaps_rollup").read_text()
        return int(rollup.partition("\nPss:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        return 0.0
