"""The audit log: each change of organizations, tokens and records, without content.

Entries are only appended. The hash of an entry contains the hash of the entry before, so a changed or
removed entry is found. The removal of the last entries, and a computation of all hashes by a person with
access to the database, are found by comparing an entry with an earlier copy of its hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, false, func, insert, or_, select, update

from docyard.database.ids import read_clock_ms
from docyard.database.tables import AUDIT_LOG
from docyard.organizations.objects import format_canonical_json

# The key of the lock of PostgreSQL under which one transaction at a time appends; any constant number.
_AUDIT_LOCK = 7_263_190_545
_LOCK_TIMEOUT = "5s"
_HASHED_FIELDS = ("number", "created_at", "organization", "principal", "action", "object", "outcome")
_BATCH_SIZE = 1_000
_MAX_OBJECT_LENGTH = 500


class AuditEntry(NamedTuple):
    """An entry. `organization` is a slug, `principal` a principal's key, `created_at` in milliseconds."""

    number: int
    created_at: int
    organization: str | None
    principal: str
    action: str
    object: str
    outcome: str
    hash: str


class AuditCheck(NamedTuple):
    """The number of right entries from the first one on, and the hash of the last of them.

    `first_wrong_number` is the number of the first entry that is wrong or missing; None if there is none.
    """

    entry_count: int
    last_hash: str
    first_wrong_number: int | None


def lock_audit_log(connection: Connection) -> None:
    """Wait until no other transaction can append, and lock the log until this transaction ends.

    On SQLite this takes the lock of writers, so it must come before the first statement of a transaction that
    reads. Changes of organizations take this lock first, so they never run at the same time.
    """
    if connection.dialect.name == "sqlite":
        # A statement that writes takes the lock, also if it finds no row.
        connection.execute(update(AUDIT_LOG).where(false()).values(outcome="ok"))
    else:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_AUDIT_LOCK})")


def append_audit_entry(
    connection: Connection,
    principal: str,
    action: str,
    object: str = "",
    *,
    organization: str | None = None,
    outcome: str = "ok",
) -> AuditEntry:
    """Append an entry in the transaction of the change that it records, and return it.

    `object` is a name, never a content. See `lock_audit_log`, which is called first.
    """
    lock_audit_log(connection)
    last = connection.execute(
        select(AUDIT_LOG.c.number, AUDIT_LOG.c.hash).order_by(AUDIT_LOG.c.number.desc()).limit(1)
    ).first()
    fields: dict[str, Any] = {
        "number": 1 if last is None else last.number + 1,
        "created_at": read_clock_ms(),
        "organization": organization,
        "principal": principal,
        "action": action,
        "object": "".join(char if char.isprintable() else "?" for char in object[:_MAX_OBJECT_LENGTH]),
        "outcome": outcome,
    }
    entry = AuditEntry(**fields, hash=_compute_hash("" if last is None else last.hash, fields))
    connection.execute(insert(AUDIT_LOG).values(entry._asdict()))
    return entry


def build_audit_recorder(
    principal: str, action: str, object: str, organization: str | None
) -> Callable[[Connection], None]:
    """Return the function that appends an entry in the transaction of a connection."""

    def record(connection: Connection) -> None:
        append_audit_entry(connection, principal, action, object, organization=organization)

    return record


def list_audit_entries(
    connection: Connection, *, organization: str | None = None, limit: int = 0, before: int | None = None
) -> list[AuditEntry]:
    """Return the last entries, the newest first: all if `limit` is 0, of one organization if it is named."""
    statement = select(AUDIT_LOG).order_by(AUDIT_LOG.c.number.desc())
    if organization is not None:
        statement = statement.where(AUDIT_LOG.c.organization == organization)
    if before is not None:
        statement = statement.where(AUDIT_LOG.c.number < before)
    if limit:
        statement = statement.limit(limit)
    return [AuditEntry(**row._mapping) for row in connection.execute(statement)]


def list_organization_entries(connection: Connection, slug: str, limit: int) -> list[AuditEntry]:
    """Return the last entries of the organization that has a slug now, the newest first.

    Entries of another organization that had the slug before are not its own.
    """
    columns = AUDIT_LOG.c
    is_beginning = or_(
        and_(columns.action == "organization.add", columns.object == slug),
        and_(
            columns.action == "organization.rename", columns.object.endswith(f" -> {slug}", autoescape=True)
        ),
    )
    first_number = connection.scalar(
        select(func.max(columns.number)).where(is_beginning, columns.outcome == "ok")
    )
    entries = list_audit_entries(connection, organization=slug, limit=limit)
    return [entry for entry in entries if entry.number >= (first_number or 0)]


def verify_audit_log(connection: Connection) -> AuditCheck:
    """Compute the hash of each entry again, and return the first entry that is wrong or missing."""
    count, last_hash = 0, ""
    while True:
        rows = connection.execute(
            select(AUDIT_LOG)
            .where(AUDIT_LOG.c.number > count)
            .order_by(AUDIT_LOG.c.number)
            .limit(_BATCH_SIZE)
        ).all()
        for row in rows:
            fields = {name: row._mapping[name] for name in _HASHED_FIELDS}
            if row.number != count + 1 or row.hash != _compute_hash(last_hash, fields):
                return AuditCheck(count, last_hash, count + 1)
            count, last_hash = row.number, row.hash
        if len(rows) < _BATCH_SIZE:
            return AuditCheck(count, last_hash, None)


def _compute_hash(previous_hash: str, fields: Mapping[str, Any]) -> str:
    return hashlib.sha256((previous_hash + format_canonical_json(dict(fields))).encode()).hexdigest()
