"""Checks of the database of indexes: its servers, their versions, and the lag of the replica."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from docyard.doctor.finding import Finding, Severity
from docyard.doctor.index import AREA

if TYPE_CHECKING:
    from index.postgres.options import EngineOptions
    from index.postgres.server_state import ServerState

MAX_LAG_BYTES = 16 * 1024 * 1024
"""The lag of a replica in bytes of the log above which it is a problem: one file of the log."""


def check_engine(options: EngineOptions) -> Iterator[Finding]:
    """Yield the state of the database of indexes and of its replica, and their problems."""
    from index.port import EngineUnavailable
    from index.postgres.database import build_missing_right
    from index.postgres.server_state import read_server_state

    if options.database is None:
        return
    try:
        primary = read_server_state(options.database)
    except EngineUnavailable as error:
        yield Finding(Severity.ERROR, AREA, error.message, error.fix)
        return
    yield _describe_primary(primary)
    yield from _check_version(primary)
    if primary.is_replica:
        yield Finding(
            Severity.ERROR,
            AREA,
            "engine.url names a replica, so no index can be written",
            "Name the primary server in engine.url, or all servers with ?target_session_attrs=read-write.",
        )
        return
    if not primary.may_create_tables:
        failure = build_missing_right()
        yield Finding(Severity.ERROR, AREA, failure.message, failure.fix)
    if primary.protected_tables:
        tables = ", ".join(primary.protected_tables)
        yield Finding(
            Severity.ERROR,
            AREA,
            f"the user of the engine's database may not read or change {tables}",
            f"Grant this user the rights: `GRANT SELECT, INSERT, UPDATE, DELETE ON {tables} TO …`.",
        )
    if options.replica is None:
        return
    try:
        replica = read_server_state(options.replica)
    except EngineUnavailable as error:
        yield Finding(
            Severity.WARNING,
            AREA,
            "the server of engine.read_url cannot be reached, so indexes are read from the primary server",
            error.fix,
        )
        return
    yield from _check_replica(primary, replica)


def _describe_primary(primary: ServerState) -> Finding:
    text = (
        f"the index is in PostgreSQL {primary.version} (synchronous_commit = {primary.synchronous_commit}, "
        f"{'with' if primary.has_synchronous_replicas else 'without'} synchronous replicas)"
    )
    return Finding(Severity.NOTE, AREA, text)


def _check_version(state: ServerState) -> Iterator[Finding]:
    from index.postgres.server_state import MIN_VERSION

    if state.major_version < MIN_VERSION:
        yield Finding(
            Severity.WARNING,
            AREA,
            f"PostgreSQL {state.version} stores the index, and the oldest tested release is {MIN_VERSION}",
            f"Upgrade it to PostgreSQL {MIN_VERSION} or newer.",
        )


def _check_replica(primary: ServerState, replica: ServerState) -> Iterator[Finding]:
    if not replica.is_replica:
        yield Finding(
            Severity.NOTE, AREA, "engine.read_url is answered by a primary server, so no replica is used"
        )
        return
    lag = max(0, primary.position - replica.position)
    yield Finding(
        Severity.WARNING if lag > MAX_LAG_BYTES else Severity.NOTE,
        AREA,
        f"the replica of the index is {lag:,} bytes of the log behind the primary server",
        "Read pg_stat_replication at the primary server, and the log of the replica."
        if lag > MAX_LAG_BYTES
        else "",
    )
    if primary.synchronous_commit != "remote_apply" or not primary.has_synchronous_replicas:
        yield Finding(
            Severity.NOTE,
            AREA,
            "commits do not wait for the replica, so it may show an older index for a moment; "
            "synchronous_commit = remote_apply with synchronous_standby_names prevents that",
        )
