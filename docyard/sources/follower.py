"""Threads that fetch the sources that have a URL, build missing indexes, and read the list of sources again.

One thread fetches the sources whose last fetch failed, so that a remote that does not answer delays no other
source. SIGHUP requests that the list is read again.
"""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable
from queue import SimpleQueue
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from docyard.telemetry.logs import StateText
from index.sources.source import SourceUnavailable
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from index.sources.source import Source
    from workspace.git.remotes.credentials import Access

log = logging.getLogger("docyard")

_CLOSE_TIMEOUT_S = 2.0
_MAX_WAIT_S = 60.0
_DAMAGE_WAIT_S = 30.0  # after a fetch, before a damaged clone is fetched again
_FETCH_THREADS = 3


class Follower:
    """Follows the sources of a server from `start` to `close`.

    `access` returns the user's credentials and is called for each fetch. `reload` reads the list of sources
    again; it is called at SIGHUP, and every `reload_interval_s` seconds if these are given. If `leads` is
    False, another process fetches the sources and builds their indexes; only requested fetches are made.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        access: Callable[[], Access],
        reload: Callable[[], object],
        reload_interval_s: float | None = None,
        *,
        leads: bool = True,
    ) -> None:
        self._sources = sources
        self._access = access
        self._reload = reload
        self._leads = leads
        self._max_wait_s = _MAX_WAIT_S if reload_interval_s is None else reload_interval_s
        self._reloads_regularly = reload_interval_s is not None
        self._work_event = threading.Event()
        self._reload_requested = threading.Event()
        self._close_requested = threading.Event()
        self._thread = threading.Thread(target=self._run, name="docyard-sources", daemon=True)
        self._due_sources: SimpleQueue[Source] = SimpleQueue()
        self._due_failed_sources: SimpleQueue[Source] = SimpleQueue()
        self._lock = threading.Lock()
        # The lock guards these three. References are weak, because a changed file removes sources.
        self._fetching: WeakSet[Source] = WeakSet()
        self._requested: WeakSet[Source] = WeakSet()
        self._last_fetch_times: WeakKeyDictionary[Source, float] = WeakKeyDictionary()  # monotonic seconds
        self._prepared: WeakSet[Source] = WeakSet()
        self._logged_messages: dict[tuple[str, str], str] = {}

    def start(self) -> None:
        """Start the threads."""
        self._thread.start()
        for queue in (self._due_failed_sources, *[self._due_sources] * _FETCH_THREADS):
            threading.Thread(
                target=self._fetch_from, args=(queue,), name="docyard-fetch", daemon=True
            ).start()

    def close(self) -> None:
        """Stop the main thread. A running fetch ends with the process."""
        self._close_requested.set()
        self._work_event.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_TIMEOUT_S)

    def request_reload(self) -> None:
        """Read the list of sources again soon. May be called from a signal handler."""
        self._reload_requested.set()
        self._work_event.set()

    def request_fetch(self, sources: Collection[Source]) -> None:
        """Fetch some sources soon, also those that are being fetched now."""
        with self._lock:
            self._requested.update(sources)
        self._work_event.set()

    def listen_to_hangup(self) -> None:
        """Read the list of sources again at each SIGHUP. Must be called in the main thread."""
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda number, frame: self.request_reload())

    def _run(self) -> None:
        while not self._close_requested.is_set():
            self._work_event.clear()
            try:
                if self._reloads_regularly or self._reload_requested.is_set():
                    self._reload_requested.clear()
                    self._reload()
                for source in self._sources:
                    if self._close_requested.is_set():
                        return
                    self._update(source)
            except Exception:
                log.exception("the sources could not be followed")
                self._close_requested.wait(_MAX_WAIT_S)
            self._work_event.wait(self._compute_wait_s())

    def _compute_wait_s(self) -> float:
        """Return the seconds until the next fetch. The end of a running fetch sets the event."""
        now = time.monotonic()
        with self._lock:
            times = [
                self._compute_due_time(source)
                for source in self._sources
                if source.settings.url is not None and source not in self._fetching
            ]
        return max(0.0, min([self._max_wait_s, *(due - now for due in times)]))

    def _compute_due_time(self, source: Source) -> float:
        """Return the time of the next fetch. The caller holds the lock."""
        last_time = self._last_fetch_times.get(source)
        if source in self._requested:
            return 0.0
        if not self._leads:
            return math.inf
        if last_time is None:
            return 0.0
        interval_s = source.settings.interval_s
        return last_time + (min(interval_s, _DAMAGE_WAIT_S) if source.is_damaged else interval_s)

    def _update(self, source: Source) -> None:
        """Have a source fetched if it is due, and build its index if there is none."""
        if source.settings.url is not None and self._claim_fetch(source):
            queue = self._due_sources if source.fetch_error is None else self._due_failed_sources
            queue.put(source)
        if self._leads and source not in self._prepared and source not in self._fetching:
            try:
                source.prepare()
                self._prepared.add(source)
                self._logged_messages.pop((source.name, "prepare"), None)
            except SourceUnavailable as error:
                if source.fetch_error is None:  # else the fetch has logged the reason
                    self._log_once(source, "prepare", f"it is unavailable: {error.reason}")

    def _claim_fetch(self, source: Source) -> bool:
        """Return True if a source must be fetched now; it counts as being fetched then."""
        with self._lock:
            if source in self._fetching or self._compute_due_time(source) > time.monotonic():
                return False
            self._requested.discard(source)
            self._fetching.add(source)
            return True

    def _fetch_from(self, queue: SimpleQueue[Source]) -> None:
        while True:
            source = queue.get()
            try:
                self._fetch(source)
            except Exception:
                log.exception("the source '%s' could not be fetched", source.name)
            with self._lock:
                self._last_fetch_times[source] = time.monotonic()
                self._fetching.discard(source)
            self._work_event.set()

    def _fetch(self, source: Source) -> None:
        try:
            source.fetch(self._access())
        except WorkspaceError as error:
            self._log_once(source, "fetch", error.message)
        except OSError as error:
            self._log_once(source, "fetch", f"the clone cannot be written ({error.strerror})")
        else:
            if self._logged_messages.pop((source.name, "fetch"), None) is not None:
                log.warning("the source '%s' can be fetched again", source.name)

    def _log_once(self, source: Source, work: str, message: str) -> None:
        """Log the failure of a kind of work unless its last failure had the same message."""
        if self._logged_messages.get((source.name, work)) != message:
            self._logged_messages[source.name, work] = message
            log.warning("the source '%s': %s", source.name, StateText(message))
