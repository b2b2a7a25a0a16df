"""Sessions in the database of an engine, which the nodes of a repository share.

    docyard_sessions    (repository, digest) → principal, owner, masked digest of the token, times

A row contains neither the value of the cookie nor the key of a token. The owner is an identity with names,
groups and scopes. The digest of the token, with which a session is compared, is masked with bytes that are
derived from the value of the cookie: the server's own token may be a phrase that its digest would confirm.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from docyard.caller import Principal
from docyard.database.errors import DatabaseUnavailable
from docyard.identity.verifier import Authenticated
from docyard.sessions.sessions import digest_value
from docyard.sessions.storage import MAX_OWN_SESSIONS, MAX_SESSIONS, Expiry, StoredSession, StoredSessions
from docyard.telemetry.logs import StateText
from index.port import EngineUnavailable
from index.postgres.heads import run_with_tables
from index.storage.keys import USER_KEYS, SigningKeys
from workspace.policy.tokens import Person

if TYPE_CHECKING:
    from index.postgres.database import Connection, Database
    from index.postgres.options import EngineOptions

log = logging.getLogger("docyard")
T = TypeVar("T")

_TABLE = """
    CREATE TABLE IF NOT EXISTS docyard_sessions (
        repository text NOT NULL,
        digest bytea NOT NULL,
        principal bytea NOT NULL,
        owner text NOT NULL,
        masked_token_digest bytea NOT NULL,
        created_at bigint NOT NULL,
        last_used_at bigint NOT NULL,
        PRIMARY KEY (repository, digest)
    )
"""

_SET_TIMEOUTS = """
    SELECT set_config('lock_timeout', '5s', true),
        set_config('idle_in_transaction_session_timeout', '5s', true)
"""
"""Limits of a transaction: a node that is frozen in one does not stop the sign-ins of all others."""

_INSERTION_LOCK = 0x646F6379736573
"""The key of the advisory lock of insertions: two that delete the same sessions could block each other."""

_DELETE_EXPIRED = """
    DELETE FROM docyard_sessions WHERE last_used_at < %(last_used_at)s OR created_at < %(created_at)s
"""

_DELETE_OWN_OLDER = """
    DELETE FROM docyard_sessions WHERE repository = %(repository)s AND digest IN (
        SELECT digest FROM docyard_sessions
        WHERE repository = %(repository)s AND principal = %(principal)s
        ORDER BY last_used_at DESC, created_at DESC OFFSET %(max_own_sessions)s - 1
    )
"""

_DELETE_OLDER = """
    DELETE FROM docyard_sessions WHERE repository = %(repository)s AND digest IN (
        SELECT digest FROM docyard_sessions WHERE repository = %(repository)s
        ORDER BY last_used_at DESC, created_at DESC OFFSET %(max_sessions)s - 1
    )
"""

_INSERT = """
    INSERT INTO docyard_sessions
        (repository, digest, principal, owner, masked_token_digest, created_at, last_used_at)
    VALUES (%(repository)s, %(digest)s, %(principal)s, %(owner)s, %(masked_token_digest)s, %(now)s, %(now)s)
"""

_SELECT = """
    SELECT owner, masked_token_digest, created_at, last_used_at FROM docyard_sessions
    WHERE repository = %s AND digest = %s
"""


_COOKIE_SUFFIX_CHARS = 12
_OTHER_FORM = (
    "the table docyard_sessions has another form",
    "Run `DROP TABLE docyard_sessions`: the next sign-in creates it, and people sign in again.",
)


class EngineSessions(StoredSessions):
    """The sessions of a repository in the database of its engine.

    `repository` is a digest that identifies it on all nodes. The key of CSRF tokens is that of all nodes.
    """

    def __init__(
        self,
        database: Database,
        repository: str,
        clock: Callable[[], float] = time.time,
        *,
        max_sessions: int = MAX_SESSIONS,
        max_own_sessions: int = MAX_OWN_SESSIONS,
        signing_keys: SigningKeys = USER_KEYS,
    ) -> None:
        self._database = database
        self._repository = repository
        self._max_own_sessions = max_own_sessions
        self._signing_keys = signing_keys
        super().__init__(clock, max_sessions)

    @property
    def cookie_suffix(self) -> str:
        """The end of the names of cookies, which is the same on all nodes, and differs by repository."""
        return self._repository[:_COOKIE_SUFFIX_CHARS]

    def _compute_key(self) -> bytes:
        # Repositories with one engine share the key of their nodes.
        key = self._signing_keys.get_session_key("engine")
        return hmac.digest(key, b"repository\n" + self._repository.encode(), "sha256")

    def _insert(self, value: str, owner: Authenticated, now_ms: int, expiry: Expiry) -> None:
        parameters = {
            **expiry._asdict(),
            "repository": self._repository,
            "digest": digest_value(value),
            "principal": hashlib.sha256(owner.principal.key.encode("utf-8", "surrogatepass")).digest(),
            "owner": _encode_owner(owner),
            "masked_token_digest": _mask(value, owner.token_digest),
            "now": now_ms,
            "max_sessions": self._max_sessions,
            "max_own_sessions": self._max_own_sessions,
        }

        def insert(connection: Connection) -> None:
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_INSERTION_LOCK,))
            for statement in (_DELETE_EXPIRED, _DELETE_OWN_OLDER, _DELETE_OLDER, _INSERT):
                connection.execute(statement, parameters)

        self._run_transaction(insert)

    def _select(self, value: str, digest: bytes) -> StoredSession | None:
        row = self._run(lambda connection: connection.execute(_SELECT, (self._repository, digest)).fetchone())
        if row is None:
            return None
        owner, masked_token_digest, created_at, last_used_at = row
        try:
            authenticated = _decode_owner(owner, _mask(value, bytes(masked_token_digest)))
        except ValidationError:  # its text would have the names of a person
            log.warning("a row of docyard_sessions is damaged; its session has ended")
            return None
        return StoredSession(authenticated, created_at, last_used_at)

    def _mark_used(self, digest: bytes, now_ms: int) -> None:
        self._run_transaction(
            lambda connection: connection.execute(
                "UPDATE docyard_sessions SET last_used_at = %s WHERE repository = %s AND digest = %s",
                (now_ms, self._repository, digest),
            )
        )

    def _delete(self, digest: bytes) -> None:
        self._run_transaction(
            lambda connection: connection.execute(
                "DELETE FROM docyard_sessions WHERE repository = %s AND digest = %s",
                (self._repository, digest),
            )
        )

    def _run_transaction(self, work: Callable[[Connection], object]) -> None:
        """Call `work` in a transaction that waits for no lock for long. Raises DatabaseUnavailable."""

        def run(connection: Connection) -> None:
            with connection.transaction():
                connection.execute(_SET_TIMEOUTS)
                work(connection)

        self._run(run)

    def _run(self, work: Callable[[Connection], T]) -> T:
        """Call `work` with a connection; create the table if it is missing. Raises DatabaseUnavailable."""
        import psycopg

        try:
            return self._database.run(lambda connection: run_with_tables(connection, (_TABLE,), work))
        except EngineUnavailable as error:
            raise _report(DatabaseUnavailable.from_engine(error)) from error
        except (psycopg.ProgrammingError, psycopg.IntegrityError, psycopg.DataError) as error:
            raise _report(DatabaseUnavailable("schema", *_OTHER_FORM)) from error


def _report(failure: DatabaseUnavailable) -> DatabaseUnavailable:
    log.warning("sessions cannot be used: %s", StateText(f"{failure.message}. {failure.fix}"))
    return failure


def open_engine_sessions(engine: EngineOptions) -> EngineSessions:
    """Return the sessions of an engine with a database and a repository. Reads the key of CSRF tokens."""
    assert engine.database is not None
    return EngineSessions(engine.database, engine.repository, signing_keys=engine.signing_keys)


def _mask(value: str, data: bytes) -> bytes:
    """Return data masked with bytes that are derived from the value of a cookie; the same call unmasks it.

    Each value masks one row, so the bytes of no mask are used twice.
    """
    seed = b"docyard token digest\n" + value.encode("utf-8", "surrogatepass")
    mask = hashlib.shake_256(seed).digest(len(data))
    return bytes(byte ^ mask_byte for byte, mask_byte in zip(data, mask, strict=True))


class _StoredOwner(BaseModel):
    """The identity in a row. Fields of a later version are ignored."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    principal: str
    name: str
    organization: str | None
    groups: frozenset[str]
    scopes: frozenset[str]
    is_operator: bool
    person: tuple[str, str, str] | None
    expires_at: float | None


def _encode_owner(owner: Authenticated) -> str:
    principal = owner.principal
    return json.dumps(
        {
            "principal": principal.key,
            "name": principal.name,
            "organization": principal.organization,
            "groups": sorted(principal.groups),
            "scopes": sorted(principal.scopes),
            "is_operator": principal.is_operator,
            "person": None if owner.person is None else list(owner.person),
            "expires_at": owner.expires_at,
        }
    )


def _decode_owner(text: str, token_digest: bytes) -> Authenticated:
    """Return the identity that `_encode_owner` has written. Raises ValidationError."""
    fields = _StoredOwner.model_validate_json(text)
    principal = Principal(
        fields.principal, fields.name, fields.organization, fields.groups, fields.scopes, fields.is_operator
    )
    person = None if fields.person is None else Person(*fields.person)
    return Authenticated(principal, person, token_digest, fields.expires_at)
