"""The most memory that processes have held: one of them exactly, a tree of them by looking often.

A process that starts others holds what they hold too. The system keeps a high-water mark for each alone, so
the sum over a tree is looked at every few milliseconds, with pages that several share counted once (proc(5),
smaps_rollup, Pss). Where the system does not say that, the marks of single processes are all there is.
"""

from __future__ import annotations

import resource
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

_INTERVAL = 0.02
_PROC = Path("/proc")


def peak_mb(pid: int | None = None) -> float:
    """Return the most memory that a process has held so far, in MB; this one, unless another is named.

    Linux keeps in `ru_maxrss` what the parent held when it started this process, so the high-water mark of
    the address space (proc(5), VmHWM) comes first. Another process's is 0 where there is no proc(5).
    """
    try:
        status = (_PROC / str(pid or "self") / "status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError, ValueError):
        if pid is not None:
            return 0.0
        unit = 1 if sys.platform == "darwin" else 1024
        both = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        return max(resource.getrusage(who).ru_maxrss for who in both) * unit / 1e6


def children(pid: int) -> Iterator[int]:
    """Yield the processes that a process has started and that still run."""
    for task in (_PROC / str(pid) / "task").glob("*/children"):
        try:
            yield from map(int, task.read_text().split())
        except OSError:  # the thread has ended
            continue


class Watch:
    """Looks at a process and all below it, from entering to leaving; `peak_mb` is the most that was seen."""

    def __init__(self, pid: int) -> None:
        self.peak_mb = 0.0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            tree = list(_tree(self._pid))
            # Adding up resident pages is cheap; sharing them out walks page tables, which slows what it sees.
            if sum(map(_resident_mb, tree)) > self.peak_mb:
                self.peak_mb = max(self.peak_mb, sum(map(_proportional_mb, tree)))
            if self._stop.wait(_INTERVAL):
                return


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for child in children(pid):
        yield from _tree(child)


def _resident_mb(pid: int) -> float:
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except (OSError, IndexError):
        return 0.0


def _proportional_mb(pid: int) -> float:
    try:
        rollup = (_PROC / str(pid) / "smaps_rollup").read_text()
        return int(rollup.partition("\nPss:")[2].split()[0]) * 1024 / 1e6
    except (OSError, IndexError):
        return 0.0
