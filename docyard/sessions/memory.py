"""Sessions in the memory of one process, which end with it."""

from __future__ import annotations

import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from docyard.identity.verifier import Authenticated
from docyard.sessions.sessions import RANDOM_BYTES, Session, create_value, digest_value, has_ended

MAX_SESSIONS = 1_000
"""The number of sessions; beyond it the least recently used session ends."""


@dataclass(slots=True)
class _TimedSession:
    """A session, and the seconds of a monotonic clock at which it was started and used last."""

    session: Session
    started_at: float
    last_used_at: float


class MemorySessions:
    """The sessions of a server that is one process."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, max_sessions: int = MAX_SESSIONS
    ) -> None:
        self._clock = clock
        self._max_sessions = max_sessions
        self._key = secrets.token_bytes(RANDOM_BYTES)
        self._sessions: OrderedDict[bytes, _TimedSession] = OrderedDict()

    async def start(self, owner: Authenticated) -> str:
        """Start a session; return the value of its cookie."""
        value, now = create_value(), self._clock()
        digest = digest_value(value)
        self._sessions[digest] = _TimedSession(Session(owner, self.compute_csrf_token(digest)), now, now)
        while len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)
        return value

    async def find(self, value: str, *, is_read_only: bool = True) -> Session | None:
        """Return the session of a cookie and mark it as used; None if it does not exist or has ended."""
        digest = digest_value(value)
        timed = self._sessions.get(digest)
        if timed is None:
            return None
        now = self._clock()
        if has_ended(now, timed.started_at, timed.last_used_at):
            del self._sessions[digest]
            return None
        timed.last_used_at = now
        self._sessions.move_to_end(digest)
        return timed.session

    async def end(self, value: str) -> None:
        """End a session, if it exists."""
        self._sessions.pop(digest_value(value), None)

    async def load_key(self) -> None:
        """Do nothing: the key is that of this process."""

    def compute_csrf_token(self, name: bytes) -> str:
        """Return the CSRF token for a session's digest or a caller's name."""
        return hmac.digest(self._key, name, "sha256").hex()
