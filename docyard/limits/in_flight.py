"""The numbers of running calls, by principal and by organization."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Cap(NamedTuple):
    """The maximum number of running calls of one key."""

    key: tuple[str, ...]
    limit: int


class CallsInFlight:
    """The running calls of one process. Its memory is bounded by their number. Thread-safe."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()

    def start(self, caps: Sequence[Cap]) -> int | None:
        """Count one more call for each key. Return the number of the first cap that is reached, if any.

        Then nothing is counted.
        """
        with self._lock:
            for position, cap in enumerate(caps):
                if self._counts[cap.key] >= cap.limit:
                    self._remove_zeros(caps)
                    return position
            self._counts.update(cap.key for cap in caps)
        return None

    def finish(self, caps: Sequence[Cap]) -> None:
        """Count one call less for each key."""
        with self._lock:
            self._counts.subtract(cap.key for cap in caps)
            self._remove_zeros(caps)

    def count(self, key: tuple[str, ...]) -> int:
        """Return the number of running calls of a key."""
        with self._lock:
            return self._counts.get(key, 0)

    def _remove_zeros(self, caps: Sequence[Cap]) -> None:
        for cap in caps:
            if self._counts[cap.key] <= 0:
                del self._counts[cap.key]
