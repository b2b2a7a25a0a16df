"""Sessions in the database of a server, which all of its workers share."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, or_, select, update

from docyard.caller import Principal
from docyard.database.tables import SESSIONS
from docyard.identity.verifier import Authenticated
from docyard.sessions.sessions import digest_value
from docyard.sessions.storage import MAX_OWN_SESSIONS, MAX_SESSIONS, Expiry, StoredSession, StoredSessions
from index.storage.keys import USER_KEYS, SigningKeys

if TYPE_CHECKING:
    from docyard.database.database import Database


class DatabaseSessions(StoredSessions):
    """The sessions in the database of a server of organizations, where no token belongs to a person.

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
        self._max_own_sessions = max_own_sessions
        self._signing_keys = signing_keys
        super().__init__(clock, max_sessions)

    async def start(self, owner: Authenticated) -> str:
        """Start a session; return the value of its cookie. Expired sessions are deleted.

        Raises DatabaseUnavailable, and ValueError for a person, whom this table does not have.
        """
        if owner.person is not None:
            raise ValueError("the session of a person whose approvals are sealed is not stored")
        return await super().start(owner)

    def _compute_key(self) -> bytes:
        return self._signing_keys.get_session_key(self._database.description)

    def _insert(self, value: str, owner: Authenticated, now_ms: int, expiry: Expiry) -> None:
        principal = owner.principal
        columns = SESSIONS.c
        with self._database.begin() as connection:
            connection.execute(
                delete(SESSIONS).where(
                    or_(columns.last_used_at < expiry.last_used_at, columns.created_at < expiry.created_at)
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
                    digest=digest_value(value).hex(),
                    principal=principal.key,
                    principal_name=principal.name,
                    organization=principal.organization,
                    group_names=sorted(principal.groups),
                    scopes=sorted(principal.scopes),
                    is_operator=principal.is_operator,
                    token_digest=owner.token_digest.hex(),
                    expires_at=None if owner.expires_at is None else int(owner.expires_at * 1_000),
                    created_at=now_ms,
                    last_used_at=now_ms,
                )
            )

    def _select(self, value: str, digest: bytes) -> StoredSession | None:
        with self._database.connect() as connection:
            statement = select(SESSIONS).where(SESSIONS.c.digest == digest.hex())
            row = connection.execute(statement).first()
        return None if row is None else StoredSession(_build_owner(row), row.created_at, row.last_used_at)

    def _mark_used(self, digest: bytes, now_ms: int) -> None:
        with self._database.begin() as connection:
            statement = update(SESSIONS).where(SESSIONS.c.digest == digest.hex())
            connection.execute(statement.values(last_used_at=now_ms))

    def _delete(self, digest: bytes) -> None:
        with self._database.begin() as connection:
            connection.execute(delete(SESSIONS).where(SESSIONS.c.digest == digest.hex()))


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
