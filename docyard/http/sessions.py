"""Sessions of browsers: kept in memory by the digest of a random value, for as long as they are used."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from docyard.http.proving import Proof

IDLE = 12 * 3600.0  # seconds without a request after which a session ends
LONGEST = 7 * 24 * 3600.0  # seconds after which every session ends
MOST = 1_000
"""Sessions at once; then the one that was not used for the longest time ends."""

_RANDOM = 32  # bytes


@dataclass(slots=True)
class Session:
    """What was proved when a session began, and what its forms carry. Times are of a steady clock."""

    proof: Proof
    csrf: str
    begun: float
    used: float


class Sessions:
    """The sessions of one server. Used on its event loop alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._key = secrets.token_bytes(_RANDOM)
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()

    def begin(self, proof: Proof) -> str:
        """Begin a session; gives the value of its cookie, which is kept nowhere here."""
        value = secrets.token_urlsafe(_RANDOM)
        now = self._clock()
        digest = _digest(value)
        self._sessions[digest] = Session(proof, self.csrf(digest), now, now)
        while len(self._sessions) > MOST:
            self._sessions.popitem(last=False)
        return value

    def find(self, value: str) -> Session | None:
        """The session of a cookie, which is used by this; None if there is none, or it has ended."""
        digest = _digest(value)
        found = self._sessions.get(digest)
        if found is None:
            return None
        now = self._clock()
        if now - found.used > IDLE or now - found.begun > LONGEST:
            del self._sessions[digest]
            return None
        found.used = now
        self._sessions.move_to_end(digest)
        return found

    def end(self, value: str) -> None:
        """End a session; one that there is not has ended."""
        self._sessions.pop(_digest(value), None)

    def csrf(self, name: bytes) -> str:
        """What forms carry for a session, or for a caller of another name: no other server can tell it."""
        return hmac.digest(self._key, name, "sha256").hex()


def _digest(value: str) -> bytes:
    # Looked up by its digest, so that nothing of the value is told by how long that takes.
    return hashlib.sha256(value.encode("utf-8", "surrogatepass")).digest()
