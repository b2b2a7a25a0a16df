"""One writer at a time: of the threads of this process, and of all processes that share an index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from index.port import BaseMoved, Progress
from index.storage.files import IndexUnwritable
from index.storage.location import Home, Location
from index.storage.locking import IndexBusy, locked

PATIENCE = 5.0
"""Seconds to wait for another writer while there is something to answer from."""

FIRST_PATIENCE = 300.0
"""The same while there is nothing."""

T = TypeVar("T")


class Turns:
    """The turns in which an index is written, at the first of its homes that can be written.

    `serves` says whether there is something to answer from while another writes.
    """

    def __init__(self, home: Home, serves: Callable[[], bool]) -> None:
        self._home = home
        self._serves = serves
        self._lock = threading.RLock()

    def take(
        self, work: Callable[[Location | None], T], progress: Progress | None = None, *, moves: bool = True
    ) -> T:
        """Do work as the only writer. Raises IndexBusy, and IndexUnwritable where memory is all there is.

        What cannot be written in one place is done again in the next; with `moves` false, BaseMoved tells the
        caller that there is another place by now.
        """
        with self._among_threads(progress):
            while True:
                location = self._home.settle()
                try:
                    with self._among_processes(location, progress):
                        return work(location)
                except IndexUnwritable as refusal:
                    if location is None:
                        raise
                    self._home.give_up(location)
                    if not moves:
                        raise BaseMoved(
                            "the index has to move, since its folder cannot be written",
                            fix="Build it anew.",
                            commit=None,
                        ) from refusal

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep the other threads out for a moment."""
        with self._lock:
            yield

    @contextmanager
    def _among_threads(self, progress: Progress | None) -> Iterator[None]:
        if not self._lock.acquire(blocking=False):
            _waiting(progress)
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
        with locked(location.lock, self._patience(), lambda: _waiting(progress)):
            yield

    def _patience(self) -> float:
        return PATIENCE if self._serves() else FIRST_PATIENCE


def _waiting(progress: Progress | None) -> None:
    if progress:
        progress(0, 0, "Waiting for another call or process to index")
