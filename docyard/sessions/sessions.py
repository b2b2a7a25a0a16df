"""The sessions of browsers: what all kinds promise, the one in memory and those in a database.

The value of a session's cookie is random, and only its digest is stored.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import NamedTuple, Protocol

from docyard.identity.verifier import Authenticated

MAX_IDLE_S = 12 * 3600.0
"""The time without a request after which a session ends."""

MAX_SESSION_S = 7 * 24 * 3600.0
"""The time after which a session ends in any case."""

RANDOM_BYTES = 32
"""The length of the value of a cookie, and of the key of CSRF tokens."""


class Session(NamedTuple):
    """The identity and the CSRF token of a session."""

    owner: Authenticated
    csrf: str


class Sessions(Protocol):
    """The sessions of a server. Use them only on one event loop, which they never block.

    Sessions in a database raise DatabaseUnavailable.
    """

    async def start(self, owner: Authenticated) -> str:
        """Start a session; return the value of its cookie. With too many, the least recently used ends."""

    async def find(self, value: str, *, is_read_only: bool = True) -> Session | None:
        """Return the session of a cookie and mark it as used; None if it does not exist or has ended.

        With `is_read_only`, one that another process has ended may be returned for a few seconds.
        """

    async def end(self, value: str) -> None:
        """End a session, if it exists."""

    async def load_key(self) -> None:
        """Load the key of CSRF tokens, if it could not be read before."""

    def compute_csrf_token(self, name: bytes) -> str:
        """Return the CSRF token for a session's digest or a caller's name. No other server can compute it."""


def create_value() -> str:
    """Return a new random value of a cookie."""
    return secrets.token_urlsafe(RANDOM_BYTES)


def digest_value(value: str) -> bytes:
    """Return the digest of a cookie. A lookup by digest does not reveal the value by its duration."""
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()


def has_ended(now: float, started_at: float, last_used_at: float) -> bool:
    """Return True if a session is too old, or was not used for too long. Times are seconds of one clock.

    A session from the far future has ended too: a node with a wrong clock has started it.
    """
    return now - last_used_at > MAX_IDLE_S or not -MAX_IDLE_S <= now - started_at <= MAX_SESSION_S
