"""Sessions in the database of a server, which all of its workers share.

Each worker caches what it has read for a few seconds. So a session that ends in one worker ends in all within
`CACHE_S`, and a session in use survives a short outage of the database.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from anyio import to_thread
from sqlalchemy import delete, func, insert, or_, select, update

from docyard.caller import Principal
from docyard.database.errors import DatabaseUnavailable
from docyard.database.tables import SESSIONS
from docyard.identity.verifier import Authenticated
from docyard.sessions.sessions import (
    MAX_IDLE_S,
    MAX_SESSION_S,
    Session,
    create_value,
    digest_value,
    has_ended,
)
from index.storage.keys import USER_KEYS, SigningKeys
from workspace.lru_cache import LRUCache

if TYPE_CHECKING:
    from docyard.database.database import Database

CACHE_S = 5.0
"""The time for which a session that was read is valid without another look into the database."""

MAX_SESSIONS = 10_000
"""The number of sessions; beyond it the least recently used session ends."""

MAX_OWN_SESSIONS = 100
"""The number of sessions of one principal, who could otherwise end the sessions of all others."""

_USE_INTERVAL_S = 300.0  # between two updates of the time of the last use


class DatabaseSessions:
    """The sessions in a database. `clock` returns the time of day in seconds since 1970.

    The key of CSRF tokens is derived from the key of this user, or shared by nodes. So all workers, nodes and
    later starts compute the same tokens, and a copy of the database is not enough to compute them.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], float] = time.time,
        *,
        max_sessions: int = MAX_SESSIONS,
        max_own_sessions: int = MAX_OWN_SESSIONS,
        signing_keys: SigningKeys = USER_KEYS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._max_sessions = max_sessions
        self._max_own_sessions = max_own_sessions
        self._signing_keys = signing_keys
        self._load_key()
        self._cache: LRUCache[bytes, tuple[float, Session | None]] = LRUCache(max_sessions)

    async def start(self, owner: Authenticated) -> str:
        """Start a session; return the value of its cookie. Expired sessions are deleted.

        Raises DatabaseUnavailable, and ValueError for a person: the key of their seals must not be stored.
        """
        if owner.person is not None:
            raise ValueError("the session of a person whose approvals are sealed is not stored")
        value = create_value()
        await to_thread.run_sync(self._add, digest_value(value), owner)
        return value

    async def find(self, value: str) -> Session | None:
        """Return the session of a cookie and mark it as used; None if it does not exist or has ended.

        Raises DatabaseUnavailable.
        """
        digest, now = digest_value(value), self._clock()
        cached = self._cache.find(digest)
        if cached is not None and 0 <= now - cached[0] < CACHE_S:
            return cached[1]
        session = await to_thread.run_sync(self._read, digest)
        if session is not None:  # guesses would fill the cache
            self._cache.put(digest, (now, session))
        return session

    async def end(self, value: str) -> None:
        """End a session, if it exists. Raises DatabaseUnavailable."""
        digest = digest_value(value)
        await to_thread.run_sync(self._delete, digest)
        if digest in self._cache:
            self._cache.put(digest, (self._clock(), None))

    def compute_csrf_token(self, name: bytes) -> str:
        """Return the CSRF token for a session's digest or a caller's name."""
        return hmac.digest(self._key, name, "sha256").hex()

    def _load_key(self) -> None:
        """Load the key, which may read a database: call this in a thread, or before the event loop starts."""
        self._key = self._signing_keys.get_session_key(self._database.description)

    def _add(self, digest: bytes, owner: Authenticated) -> None:
        self._load_key()  # it is another one if nodes share it, and the database was down before
        now_ms = self._read_clock_ms()
        principal = owner.principal
        columns = SESSIONS.c
        with self._database.begin() as connection:
            connection.execute(
                delete(SESSIONS).where(
                    or_(
                        columns.last_used_at < now_ms - int(MAX_IDLE_S * 1_000),
                        columns.created_at < now_ms - int(MAX_SESSION_S * 1_000),
                    )
                )
            )
            own_older = (
                select(columns.digest)
                .where(columns.principal == principal.key)
                .order_by(columns.last_used_at.desc(), columns.created_at.desc())
                .offset(self._max_own_sessions - 1)
            )
            own_digests = connection.execute(own_older).scalars().all()
            connection.execute(delete(SESSIONS).where(columns.digest.in_(own_digests)))
            count = connection.scalar(select(func.count()).select_from(SESSIONS)) or 0
            if count >= self._max_sessions:
                oldest = (
                    select(columns.digest)
                    .order_by(columns.last_used_at, columns.created_at)
                    .limit(count - self._max_sessions + 1)
                )
                connection.execute(delete(SESSIONS).where(columns.digest.in_(oldest)))
            connection.execute(
                insert(SESSIONS).values(
                    digest=digest.hex(),
                    principal=principal.key,
                    principal_name=principal.name,
                    organization=principal.organization,
                    group_names=sorted(principal.groups),
                    scopes=sorted(principal.scopes),
                    is_operator=principal.is_operator,
                    token_digest=owner.token_key.hex(),
                    expires_at=None if owner.expires_at is None else int(owner.expires_at * 1_000),
                    created_at=now_ms,
                    last_used_at=now_ms,
                )
            )

    def _read(self, digest: bytes) -> Session | None:
        self._load_key()
        has_digest = SESSIONS.c.digest == digest.hex()
        with self._database.connect() as connection:
            row = connection.execute(select(SESSIONS).where(has_digest)).first()
        now = self._clock()
        if row is None or has_ended(now, row.created_at / 1_000, row.last_used_at / 1_000):
            return None
        if abs(now - row.last_used_at / 1_000) > _USE_INTERVAL_S:
            # A database that is full or locked for writing can still be read.
            with suppress(DatabaseUnavailable), self._database.begin() as connection:
                statement = update(SESSIONS).where(has_digest)
                connection.execute(statement.values(last_used_at=int(now * 1_000)))
        return Session(_build_owner(row), self.compute_csrf_token(digest))

    def _delete(self, digest: bytes) -> None:
        with self._database.begin() as connection:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.digest == digest.hex()))

    def _read_clock_ms(self) -> int:
        return int(self._clock() * 1_000)


def _build_owner(row: Any) -> Authenticated:
    principal = Principal(
        row.principal,
        row.principal_name,
        row.organization,
        frozenset(row.group_names),
        frozenset(row.scopes),
        row.is_operator,
    )
    expires_at = None if row.expires_at is None else row.expires_at / 1_000
    return Authenticated(principal, None, bytes.fromhex(row.token_digest), expires_at)
