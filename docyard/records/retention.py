"""The deletion of old records, in small batches, by the thread that writes records.

A clock that jumps forwards while the server runs deletes nothing: the time must have passed by the monotonic
clock, too. A clock that jumps backwards delays the deletion.
"""

from __future__ import annotations

import logging
import time

from sqlalchemy import Connection, Table, and_, delete, select

from docyard.database.ids import read_clock_ms
from docyard.database.tables import (
    NAMESPACES,
    OPT_OUTS,
    ORGANIZATIONS,
    PROBLEM_REPORTS,
    SEARCH_COUNTS,
    SEARCH_QUERIES,
    TERM_COUNTS,
    TERM_TOTALS,
    TOOL_CALLS,
)
from docyard.records.counts import ALL_NAMESPACES_ID, DAY_MS, subtract_searches

INTERVAL_S = 86_400.0
"""The time between two runs."""

BATCH_ROWS = 1_000
"""The number of rows that one transaction deletes."""

_MAX_CLOCK_JUMP_MS = 3_600_000

log = logging.getLogger("docyard")


class Retention:
    """Deletes the records that are older than a number of days. Used by one thread."""

    def __init__(self, days: int) -> None:
        self._days = days
        self._clock_offset_ms = _read_clock_offset_ms()
        self._next_run_s = 0.0
        self._has_logged_jump = False

    @property
    def is_due(self) -> bool:
        """Return True if `delete_batch` must be called."""
        return time.monotonic() >= self._next_run_s

    def delete_batch(self, connection: Connection) -> int:
        """Delete some old records and return their number; after the last ones, wait for the next run."""
        now = read_clock_ms()
        jump_ms = _read_clock_offset_ms() - self._clock_offset_ms
        if jump_ms > _MAX_CLOCK_JUMP_MS:
            if not self._has_logged_jump:
                log.warning("the clock has jumped by %d s: no old records are deleted", jump_ms // 1_000)
            self._has_logged_jump = True
            self._next_run_s = time.monotonic() + INTERVAL_S
            return 0
        count = delete_records_before(connection, now - self._days * DAY_MS)
        if not count:
            delete_orphan_counts(connection)
            self._next_run_s = time.monotonic() + INTERVAL_S
        return count


def _read_clock_offset_ms() -> int:
    return read_clock_ms() - time.monotonic_ns() // 1_000_000


def delete_records_before(connection: Connection, time_ms: int) -> int:
    """Delete at most `BATCH_ROWS` records of each kind from before a time; return the number of all."""
    lock_for_writing(connection)
    count = 0
    for organization in connection.execute(select(ORGANIZATIONS.c.id)).scalars().all():
        rows = connection.execute(
            select(SEARCH_QUERIES)
            .where(SEARCH_QUERIES.c.organization_id == organization, SEARCH_QUERIES.c.created_at < time_ms)
            .order_by(SEARCH_QUERIES.c.created_at)
            .limit(BATCH_ROWS)
        )
        count += delete_searches(connection, [dict(row) for row in rows.mappings()])
        for table in (TOOL_CALLS, PROBLEM_REPORTS):
            count += _delete_old(connection, table, organization, time_ms)
        if count >= BATCH_ROWS:
            break
    return count


def lock_for_writing(connection: Connection) -> None:
    """Take the lock of a writer of SQLite, which a transaction that has read cannot take any more."""
    connection.execute(delete(OPT_OUTS).where(OPT_OUTS.c.key == ""))


def delete_searches(connection: Connection, rows: list[dict[str, object]]) -> int:
    """Delete recorded searches, and subtract them from the counts; return their number."""
    if not rows:
        return 0
    ids = [row["id"] for row in rows]
    # Another process may have deleted a row after it was read, and has subtracted it then.
    deleted_ids = set(
        connection.execute(
            delete(SEARCH_QUERIES).where(SEARCH_QUERIES.c.id.in_(ids)).returning(SEARCH_QUERIES.c.id)
        ).scalars()
    )
    subtract_searches(connection, [row for row in rows if row["id"] in deleted_ids])
    return len(deleted_ids)


def _delete_old(connection: Connection, table: Table, organization: str, time_ms: int) -> int:
    old_ids = (
        select(table.c.id)
        .where(table.c.organization_id == organization, table.c.created_at < time_ms)
        .limit(BATCH_ROWS)
    )
    return connection.execute(delete(table).where(table.c.id.in_(old_ids))).rowcount


def delete_orphan_counts(connection: Connection) -> None:
    """Delete the counts of namespaces that no longer exist, whose searches SQL has deleted with them."""
    existing_ids = select(NAMESPACES.c.id)
    for table in (SEARCH_COUNTS, TERM_COUNTS, TERM_TOTALS):
        namespace_ids = select(table.c.namespace_id).distinct()
        condition = and_(table.c.namespace_id != ALL_NAMESPACES_ID, table.c.namespace_id.not_in(existing_ids))
        orphan_ids = connection.execute(namespace_ids.where(condition)).scalars().all()
        if orphan_ids:
            connection.execute(delete(table).where(table.c.namespace_id.in_(orphan_ids)))
