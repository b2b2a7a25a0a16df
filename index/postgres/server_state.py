"""The state of a server, for the operator: its version, its kind, and how far its log is applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from index.postgres.database import Connection, Database

MIN_VERSION = 15
"""The oldest release of PostgreSQL that the tests run with."""


class ServerState(NamedTuple):
    """The state of a server. `position` is the number of bytes of the log that queries see.

    `may_create_tables` is True if the user has the right to create tables. `protected_tables` are the tables
    of Docyard that the user may not read and change. Both, `synchronous_commit` and
    `has_synchronous_replicas` matter at the primary server only.
    """

    major_version: int
    version: str
    is_replica: bool
    synchronous_commit: str
    has_synchronous_replicas: bool
    position: int
    may_create_tables: bool
    protected_tables: Sequence[str]


def read_server_state(database: Database) -> ServerState:
    """Return the state of the server that a database is at. Raises EngineUnavailable."""
    return database.run(_read)


def _read(connection: Connection) -> ServerState:
    [row] = connection.execute(
        """
        SELECT current_setting('server_version_num')::int / 10000, current_setting('server_version'),
            pg_is_in_recovery(), current_setting('synchronous_commit'),
            current_setting('synchronous_standby_names') <> '',
            pg_wal_lsn_diff(
                CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
                '0/0'
            )::bigint,
            coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
            ARRAY(
                SELECT relname::text FROM pg_class
                WHERE relnamespace = to_regnamespace(current_schema()) AND relkind IN ('r', 'p')
                    AND starts_with(relname, 'docyard_') AND NOT (
                        has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
                        AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')
                    )
                ORDER BY relname
            )
        """
    ).fetchall()
    return ServerState(*row)
