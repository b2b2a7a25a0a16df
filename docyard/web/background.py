"""A background queue for work that a page does not wait for. One thread runs the work in small steps."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    Step = Callable[[], bool]

log = logging.getLogger("docyard")

_MAX_QUEUED_STEPS = 64  # the oldest step is dropped; a later request for the same page submits it again
_STEP_DELAY_S = 0.005  # between two steps, so that requests run first


class BackgroundQueue:
    """A queue that repeats steps in one background thread, the newest step first. Thread-safe."""

    def __init__(self) -> None:
        self._queue: OrderedDict[Hashable, Step] = OrderedDict()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._close_event = threading.Event()

    @property
    def is_busy(self) -> bool:
        """Return True while the background thread runs."""
        return self._thread is not None

    def is_queued(self, key: Hashable) -> bool:
        """Return True while a step with this key is queued or running."""
        with self._lock:
            return key in self._queue

    def submit(self, key: Hashable, step: Step) -> None:
        """Run `step` repeatedly in the background, until it returns True or raises WorkspaceError.

        A step that is not finished is dropped if too many newer steps are queued, or the queue is closed.

        The step replaces a queued step with the same `key`. An error is not reported: a page that needs the
        result calls the failing function itself.
        """
        with self._lock:
            self._queue[key] = step
            self._queue.move_to_end(key)
            while len(self._queue) > _MAX_QUEUED_STEPS:
                self._queue.popitem(last=False)
            if self._thread is None and not self._close_event.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="docyard-background-queue", daemon=True
                )
                self._thread.start()

    def close(self) -> None:
        """Stop after the current step, and wait for the end of the thread."""
        self._close_event.set()
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._queue or self._close_event.is_set():
                    self._thread = None
                    return
                key, step = next(reversed(self._queue.items()))
            try:
                is_done = step()
            except WorkspaceError:
                is_done = True
            except Exception:  # an error of this program must not end the other steps
                log.exception("a step in the background failed")
                is_done = True
            if is_done:
                with self._lock:
                    if self._queue.get(key) is step:  # not a newer step with this key
                        del self._queue[key]
            self._close_event.wait(_STEP_DELAY_S)
