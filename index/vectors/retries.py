"""The times at which a provider that failed is called again."""

from __future__ import annotations

import threading
import time

from index.vectors.embedder import EmbeddingUnavailable

_FIRST_DELAY_S = 1.0
_MAX_DELAY_S = 60.0
_MAX_REQUESTED_DELAY_S = 3_600.0


class RetrySchedule:
    """The failures of a provider, and the time of the next call. Safe to use from threads.

    The delay is a second, doubled with each failure, at most a minute, or what the provider asks for, at most
    an hour.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failure_count = 0
        self._failure: EmbeddingUnavailable | None = None
        self._next_time = 0.0

    @property
    def failure(self) -> EmbeddingUnavailable | None:
        """The last failure; None after a success, and before the first call."""
        return self._failure

    def remaining_s(self) -> float:
        """Return the seconds until the next call; 0 if the provider may be called now."""
        with self._lock:
            return max(0.0, self._next_time - time.monotonic()) if self._failure else 0.0

    def record_success(self) -> None:
        """Forget the failures."""
        with self._lock:
            self._failure, self._failure_count = None, 0

    def record_failure(self, failure: EmbeddingUnavailable) -> None:
        """Delay the next call. A failure during a delay extends it only if the provider asks for that."""
        requested_s = min(failure.retry_after_s or 0.0, _MAX_REQUESTED_DELAY_S)
        with self._lock:
            now = time.monotonic()
            if self._failure is not None and now < self._next_time:
                if now + requested_s > self._next_time:
                    self._failure, self._next_time = failure, now + requested_s
                return
            # The exponent is limited, because a provider may be down for days.
            delay = min(_FIRST_DELAY_S * 2.0 ** min(self._failure_count, 10), _MAX_DELAY_S)
            self._failure, self._failure_count = failure, self._failure_count + 1
            self._next_time = now + max(delay, requested_s)
