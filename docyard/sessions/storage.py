"""Sessions in a database: what those of several workers and those of several nodes have in common.

Each process caches what it has read for a few seconds, for requests that only read. So a session that ends in
one process ends in all within `CACHE_S`, and permits no change at once. A session in use survives a short
outage of the database.
"""

from __future__ import annotations

import hmac
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from anyio import CapacityLimiter, to_thread

from docyard.database.errors import DatabaseUnavailable
from docyard.identity.verifier import Authenticated
from docyard.sessions.sessions import (
    MAX_IDLE_S,
    MAX_SESSION_S,
    Session,
    create_value,
    digest_value,
    has_ended,
)
from workspace.lru_cache import LRUCache

CACHE_S = 5.0
"""The time for which a session that was read is valid without another look into the database."""

MAX_SESSIONS = 10_000
"""The number of sessions; beyond it the least recently used session ends."""

MAX_OWN_SESSIONS = 100
"""The number of sessions of one principal, who could otherwise end the sessions of all others."""

MAX_READS = 8
"""The number of sessions that are read at once: anyone can send cookies, and a read needs a connection."""

_USE_INTERVAL_S = 300.0  # between two updates of the time of the last use


class StoredSession(NamedTuple):
    """A session in a database. Times are those of day in milliseconds since 1970."""

    owner: Authenticated
    created_at: int
    last_used_at: int


class Expiry(NamedTuple):
    """The times before which a session must have been used last, or was created, if it has ended."""

    last_used_at: int
    created_at: int

    @classmethod
    def compute(cls, now_ms: int) -> Expiry:
        """Return the times at a time of day in milliseconds."""
        return cls(now_ms - int(MAX_IDLE_S * 1_000), now_ms - int(MAX_SESSION_S * 1_000))


class StoredSessions(ABC):
    """The sessions in a database, with a cache. `clock` returns the time of day in seconds since 1970.

    Methods of subclasses run in threads, and raise DatabaseUnavailable.
    """

    def __init__(self, clock: Callable[[], float], max_sessions: int) -> None:
        self._clock = clock
        self._max_sessions = max_sessions
        self._cache: LRUCache[bytes, tuple[float, Session | None]] = LRUCache(max_sessions)
        self._end_count = 0
        self._read_limiter: CapacityLimiter | None = None
        self._load_key()

    async def start(self, owner: Authenticated) -> str:
        """Start a session; return the value of its cookie. Expired sessions are deleted.

        Raises DatabaseUnavailable.
        """
        value = create_value()
        await to_thread.run_sync(self._start, value, owner)
        return value

    async def find(self, value: str, *, is_read_only: bool = True) -> Session | None:
        """Return the session of a cookie and mark it as used; None if it does not exist or has ended.

        Raises DatabaseUnavailable.
        """
        digest, now = digest_value(value), self._clock()
        cached = self._cache.find(digest)
        if is_read_only and cached is not None and 0 <= now - cached[0] < CACHE_S:
            return cached[1]
        if self._read_limiter is None:
            self._read_limiter = CapacityLimiter(MAX_READS)
        end_count = self._end_count
        session = await to_thread.run_sync(self._read, value, digest, limiter=self._read_limiter)
        if session is None:  # guesses would fill the cache
            if cached is not None:
                self._cache.put(digest, (now, None))
        elif end_count == self._end_count:  # else the session may have ended since it was read
            self._cache.put(digest, (now, session))
        return session

    async def end(self, value: str) -> None:
        """End a session, if it exists. Raises DatabaseUnavailable."""
        digest = digest_value(value)
        await to_thread.run_sync(self._delete, digest)
        self._end_count += 1
        if digest in self._cache:
            self._cache.put(digest, (self._clock(), None))

    async def load_key(self) -> None:
        """Load the key that nodes share, if the database was down before."""
        await to_thread.run_sync(self._load_key)

    def compute_csrf_token(self, name: bytes) -> str:
        """Return the CSRF token for a session's digest or a caller's name."""
        return hmac.digest(self._key, name, "sha256").hex()

    @abstractmethod
    def _compute_key(self) -> bytes:
        """Return the key of CSRF tokens, for which a database may be read."""

    @abstractmethod
    def _insert(self, value: str, owner: Authenticated, now_ms: int, expiry: Expiry) -> None:
        """Store a session; delete expired ones, and the least recently used if there are too many."""

    @abstractmethod
    def _select(self, value: str, digest: bytes) -> StoredSession | None:
        """Return a session, which may have expired; None if there is none."""

    @abstractmethod
    def _mark_used(self, digest: bytes, now_ms: int) -> None:
        """Set the time at which a session was used last."""

    @abstractmethod
    def _delete(self, digest: bytes) -> None:
        """Delete a session, if it exists."""

    def _load_key(self) -> None:
        """Load the key, which may read a database: call this in a thread, or before the event loop starts."""
        self._key = self._compute_key()

    def _start(self, value: str, owner: Authenticated) -> None:
        self._load_key()  # it is another one if nodes share it, and the database was down before
        now_ms = int(self._clock() * 1_000)
        self._insert(value, owner, now_ms, Expiry.compute(now_ms))

    def _read(self, value: str, digest: bytes) -> Session | None:
        self._load_key()
        stored = self._select(value, digest)
        now = self._clock()
        if stored is None or has_ended(now, stored.created_at / 1_000, stored.last_used_at / 1_000):
            return None
        if abs(now - stored.last_used_at / 1_000) > _USE_INTERVAL_S:
            # A database that is full or locked for writing can still be read.
            with suppress(DatabaseUnavailable):
                self._mark_used(digest, int(now * 1_000))
        return Session(stored.owner, self.compute_csrf_token(digest))
