"""The write lock of an index: one writer at a time among all threads and processes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from index.port import BaseMoved, Progress
from index.storage.files import IndexUnwritable
from index.storage.location import IndexFolder, IndexLocation
from index.storage.locking import IndexBusy, hold_lock

WRITE_TIMEOUT_S = 5.0
"""Seconds to wait for another writer if there is an index to search meanwhile."""

FIRST_BUILD_TIMEOUT_S = 300.0
"""Seconds to wait for another writer if there is no index yet."""

T = TypeVar("T")


class IndexWriteLock:
    """The lock under which an index is written, at the first writable location."""

    def __init__(self, index_location: IndexLocation) -> None:
        self._index_location = index_location
        self._lock = threading.RLock()

    def run(
        self,
        work: Callable[[IndexFolder | None], T],
        has_index: Callable[[], bool],
        progress: Progress | None = None,
        *,
        can_move: bool = True,
    ) -> T:
        """Run work as the only writer. Raises IndexBusy, and IndexUnwritable if no location can be written.

        `has_index` returns True if there is an index to search while another process writes. If one location
        cannot be written, the work is repeated at the next one. If `can_move` is False, BaseMoved is raised
        instead.
        """
        with self._hold_thread_lock(has_index, progress):
            while True:
                location = self._index_location.resolve()
                try:
                    with _hold_process_lock(location, has_index, progress):
                        return work(location)
                except IndexUnwritable as error:
                    if location is None:
                        raise
                    self._index_location.fall_back(location)
                    if not can_move:
                        raise BaseMoved(
                            "the index must be rebuilt at another location: its folder cannot be written",
                            fix="Run `docyard index rebuild`.",
                            commit=None,
                        ) from error

    @contextmanager
    def block_writes(self) -> Iterator[None]:
        """Prevent writes by other threads of this process during the block."""
        with self._lock:
            yield

    @contextmanager
    def _hold_thread_lock(self, has_index: Callable[[], bool], progress: Progress | None) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            _report_waiting(progress)
            if not self._lock.acquire(timeout=_choose_timeout(has_index)):
                raise IndexBusy("the search index is still being updated", fix="Try again in a moment.")
        try:
            yield
        finally:
            self._lock.release()


@contextmanager
def _hold_process_lock(
    location: IndexFolder | None, has_index: Callable[[], bool], progress: Progress | None
) -> Iterator[None]:
    if location is None:
        yield
        return
    with hold_lock(location.lock, _choose_timeout(has_index), lambda: _report_waiting(progress)):
        yield


def _choose_timeout(has_index: Callable[[], bool]) -> float:
    return WRITE_TIMEOUT_S if has_index() else FIRST_BUILD_TIMEOUT_S


def _report_waiting(progress: Progress | None) -> None:
    if progress:
        progress(0, 0, "Waiting for another call or process to index")
