"""Work that an answer does not wait for: done a moment later, once however often it was asked for."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

DELAY = 0.5
"""Seconds from the first time that something is asked for until it is done."""


class Later:
    """One piece of work, done in a thread of its own; `flush` and the end of the process do it at once."""

    def __init__(self, work: Callable[[], None], delay: float = DELAY) -> None:
        """Nothing is done before `ask`. Nobody hears of what `work` raises, so it is to raise nothing."""
        self._work = work
        self._delay = delay
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._working = threading.Lock()

    def ask(self) -> None:
        """See to it that the work is done after this moment."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(self._delay, self.flush)
                self._timer.daemon = True
                self._timer.start()
                atexit.register(self.flush)

    def flush(self) -> None:
        """Do now what was asked for, if it is not done yet; when this returns, it is."""
        with self._working:
            with self._lock:
                timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
                atexit.unregister(self.flush)
                self._work()
