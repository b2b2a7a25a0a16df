"""The keys that nodes share: what one node has signed for a client is valid on all of them.

    docyard_index_keys    purpose → key, previous_key

The first node that needs a key creates it. Each process reads it once, when it first signs or verifies, and
again when no key that it knows has signed a token. A node that cannot read the keys signs with the user's own
key: such a token is valid on that node only.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from index.port import EngineUnavailable
from index.postgres.heads import create_missing_tables
from index.storage.keys import KEY_BYTES, SigningKeys

if TYPE_CHECKING:
    from index.postgres.database import Connection, Database

QUESTIONS_PURPOSE = "questions"
"""The purpose of the key of the hashes of recorded questions."""

_SIGNING_PURPOSE = "signing"
_SESSIONS_PURPOSE = "sessions"
_REFRESH_INTERVAL_S = 1.0  # anyone can send tokens that no key has signed
_TABLE = f"""
    CREATE TABLE IF NOT EXISTS docyard_index_keys (
        purpose text PRIMARY KEY,
        key bytea NOT NULL CHECK (octet_length(key) = {KEY_BYTES}),
        previous_key bytea CHECK (octet_length(previous_key) = {KEY_BYTES}),
        changed_at timestamptz NOT NULL DEFAULT now()
    )
"""

log = logging.getLogger("docyard")


class SharedKeys(NamedTuple):
    """The key of a purpose, and the one before its rotation."""

    key: bytes
    previous_key: bytes | None = None


class SharedSigningKeys(SigningKeys):
    """The keys that nodes share in a database; a replica is read if the primary server cannot be reached."""

    def __init__(
        self,
        database: Database,
        replica: Database | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._replica = replica
        self._clock = clock
        # Threads may read the keys at the same time: they read the same ones.
        self._keys: SharedKeys | None = None
        self._session_key: bytes | None = None
        self._read_time = 0.0

    def get_signing_key(self) -> bytes:
        """Return the shared key; this user's key if no database can be reached, and none was read."""
        keys = self._keys or self._read()
        return super().get_signing_key() if keys is None else keys.key

    def list_verification_keys(self) -> Iterator[bytes]:
        """Yield the shared keys, this user's keys, and the shared keys if they have changed."""
        keys = self._keys or self._read()
        yield from _list(keys)
        yield from super().list_verification_keys()
        if keys is not None and self._clock() - self._read_time >= _REFRESH_INTERVAL_S:
            new_keys = self._read()
            if new_keys != keys:
                yield from _list(new_keys)

    def get_session_key(self, database: str) -> bytes:
        """Return the key that nodes share for all sessions; that of this user while it cannot be read.

        A CSRF token belongs to one session, so this key is not rotated.
        """
        if self._session_key is None:
            try:
                self._session_key = get_or_create_keys(self._database, _SESSIONS_PURPOSE).key
            except EngineUnavailable:
                return super().get_session_key(database)
        return self._session_key

    def _read(self) -> SharedKeys | None:
        """Read and cache the keys; return None, and keep those that were read, if that is impossible."""
        self._read_time = self._clock()
        try:
            keys = get_or_create_keys(self._database, _SIGNING_PURPOSE)
        except EngineUnavailable as error:
            replica_keys = self._read_from_replica()
            if replica_keys is None:
                if self._keys is None:
                    log.warning("the keys of the nodes cannot be read, so this node signs: %s", error)
                return None
            keys = replica_keys
        self._keys = keys
        return keys

    def _read_from_replica(self) -> SharedKeys | None:
        if self._replica is None:
            return None
        try:
            return self._replica.run(lambda connection: _read_keys(connection, _SIGNING_PURPOSE))
        except EngineUnavailable:
            return None


def _list(keys: SharedKeys | None) -> tuple[bytes, ...]:
    return () if keys is None else tuple(key for key in keys if key is not None)


def get_or_create_keys(database: Database, purpose: str, first_key: bytes | None = None) -> SharedKeys:
    """Return the keys of a purpose; if there are none, store `first_key` or a random one.

    Raises EngineUnavailable.
    """
    return database.run(lambda connection: _get_or_create(connection, purpose, first_key))


def rotate_signing_key(database: Database) -> None:
    """Replace the key that signs; tokens of the key before stay valid until the next rotation.

    Raises EngineUnavailable.
    """

    def rotate(connection: Connection) -> None:
        _get_or_create(connection, _SIGNING_PURPOSE, None)
        connection.execute(
            """
            UPDATE docyard_index_keys SET previous_key = key, key = %s, changed_at = now()
            WHERE purpose = %s
            """,
            (secrets.token_bytes(KEY_BYTES), _SIGNING_PURPOSE),
        )

    database.run(rotate)


def _get_or_create(connection: Connection, purpose: str, first_key: bytes | None) -> SharedKeys:
    keys = _read_keys(connection, purpose)
    if keys is not None:
        return keys
    create_missing_tables(connection, (_TABLE,))
    connection.execute(
        "INSERT INTO docyard_index_keys (purpose, key) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (purpose, first_key or secrets.token_bytes(KEY_BYTES)),
    )
    created_keys = _read_keys(connection, purpose)
    if created_keys is None:  # another node has dropped the table since
        raise EngineUnavailable("the keys of the nodes were deleted", fix="Repeat the call.")
    return created_keys


def _read_keys(connection: Connection, purpose: str) -> SharedKeys | None:
    from psycopg.errors import UndefinedTable

    try:
        row = connection.execute(
            "SELECT key, previous_key FROM docyard_index_keys WHERE purpose = %s", (purpose,)
        ).fetchone()
    except UndefinedTable:
        return None
    return SharedKeys(bytes(row[0]), None if row[1] is None else bytes(row[1])) if row is not None else None
