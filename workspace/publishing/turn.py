"""A writer's turn within this process: threads wait here, and only one for the lock of all processes."""

from __future__ import annotations

import threading
from types import TracebackType

_PATIENCE = 30.0  # seconds to wait for the writers of this process


class Turn:
    """What the writers of a repository in this process enter, one after the other. Entering raises Busy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(timeout=_PATIENCE):
            # Imported here because a server answers its first questions without it.
            from workspace.publishing.locks import Busy

            raise Busy("other calls are being written, one after the other")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()
