"""Background queue for work a page did not wait for; one thread, small steps."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    Step = Callable[[], bool]

_MOST = 64  # that wait; a page that is asked for again begins anew
_PAUSE = 0.005  # seconds between two steps, in which requests go first


class BackgroundQueue:
    """Background work, the newest first. Safe in several threads."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[Hashable, Step] = OrderedDict()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._over = threading.Event()

    @property
    def is_busy(self) -> bool:
        """Return True if work is left."""
        return self._thread is not None

    def submit(self, key: Hashable, step: Step) -> None:
        """Run steps until one returns True or fails; a later call for the key raises the error."""
        with self._lock:
            self._waiting[key] = step
            self._waiting.move_to_end(key)
            while len(self._waiting) > _MOST:
                self._waiting.popitem(last=False)
            if self._thread is None and not self._over.is_set():
                self._thread = threading.Thread(target=self._run, name="docyard reading", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Stop after the current step, and wait for it."""
        self._over.set()
        thread = self._thread
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting or self._over.is_set():
                    self._thread = None
                    return
                key, step = next(reversed(self._waiting.items()))
            try:
                is_done = step()
            except WorkspaceError:
                is_done = True
            if is_done:
                with self._lock:
                    self._waiting.pop(key, None)
            self._over.wait(_PAUSE)
