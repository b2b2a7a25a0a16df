"""The write lock of an index: one writer at a time, of all threads and processes that share it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from index.port import BaseMoved, Progress
from index.storage.files import IndexUnwritable
from index.storage.location import IndexLocation, Location
from index.storage.locking import IndexBusy, hold_lock

WRITE_TIMEOUT_S = 5.0
"""Seconds to wait for another writer while there is something to answer from."""

FIRST_BUILD_TIMEOUT_S = 300.0
"""The same while there is nothing."""

T = TypeVar("T")


class IndexWriteLock:
    """The lock under which an index is written, at the first writable location.

    `serves` returns True if there is an index to answer from while another process writes.
    """

    def __init__(self, home: IndexLocation, serves: Callable[[], bool]) -> None:
        self._home = home
        self._serves = serves
        self._lock = threading.RLock()

    def run(
        self, work: Callable[[Location | None], T], progress: Progress | None = None, *, moves: bool = True
    ) -> T:
        """Run work as the only writer. Raises IndexBusy, and IndexUnwritable if memory is all there is.

        If one location cannot be written, the work is repeated at the next; with `moves` false, BaseMoved
        reports the new location to the caller.
        """
        with self._among_threads(progress):
            while True:
                location = self._home.resolve()
                try:
                    with self._among_processes(location, progress):
                        return work(location)
                except IndexUnwritable as refusal:
                    if location is None:
                        raise
                    self._home.fall_back(location)
                    if not moves:
                        raise BaseMoved(
                            "the index has to move, since its folder cannot be written",
                            fix="Build it anew.",
                            commit=None,
                        ) from refusal

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Lock out the other threads for a moment."""
        with self._lock:
            yield

    @contextmanager
    def _among_threads(self, progress: Progress | None) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            _report_waiting(progress)
            if not self._lock.acquire(timeout=self._patience()):
                raise IndexBusy(
                    "the search index is still being brought up to date", fix="Try again in a moment."
                )
        try:
            yield
        finally:
            self._lock.release()

    @contextmanager
    def _among_processes(self, location: Location | None, progress: Progress | None) -> Iterator[None]:
        if location is None:
            yield
            return
        with hold_lock(location.lock, self._patience(), lambda: _report_waiting(progress)):
            yield

    def _patience(self) -> float:
        return WRITE_TIMEOUT_S if self._serves() else FIRST_BUILD_TIMEOUT_S


def _report_waiting(progress: Progress | None) -> None:
    if progress:
        progress(0, 0, "Waiting for another call or process to index")
