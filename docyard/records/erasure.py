"""The removal of a text, or of a person, from the records, the counts, the reports and the notifications."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Text, cast, delete, false, func, or_, select

from docyard.database.database import Database
from docyard.database.tables import (
    AUDIT_LOG,
    NOTIFICATIONS,
    PROBLEM_REPORTS,
    SEARCH_QUERIES,
    SESSIONS,
    TERM_TOTALS,
    TOOL_CALLS,
)
from docyard.records.questions import HashKeys, clean_question, hash_question, normalize_question
from docyard.records.retention import BATCH_ROWS, delete_searches, lock_for_writing

_TOKEN_PREFIX = "token:"  # of the key of a person of a repository


class ErasedRecords(NamedTuple):
    """The numbers of rows that were, or would be, removed. `audit_entries` name a person, and stay."""

    searches: int
    calls: int
    reports: int
    audit_entries: int = 0
    notifications: int = 0


def count_text(database: Database, text: str, keys: HashKeys) -> ErasedRecords:
    """Return what `erase_text` would remove. Raises DatabaseUnavailable."""
    with database.connect() as connection:
        return ErasedRecords(
            _count(connection, SEARCH_QUERIES, _match_searches(text, keys)),
            0,
            _count(connection, PROBLEM_REPORTS, _match_reports(text)),
            notifications=_count(connection, NOTIFICATIONS, _match_notifications(text)),
        )


def erase_text(database: Database, text: str, keys: HashKeys) -> ErasedRecords:
    """Remove searches, reports and notifications with a text, in any case. Raises DatabaseUnavailable.

    In mode `hash` only a question that is the whole text can be found, if it was hashed with one of `keys`.
    """
    searches = _delete_searches(database, _match_searches(text, keys))
    with database.begin() as connection:
        reports = connection.execute(delete(PROBLEM_REPORTS).where(_match_reports(text))).rowcount
        notifications = connection.execute(delete(NOTIFICATIONS).where(_match_notifications(text))).rowcount
    _clean_file(database)
    return ErasedRecords(searches, 0, reports, notifications=notifications)


def count_person(database: Database, key: str) -> ErasedRecords:
    """Return what `erase_person` would remove. Raises DatabaseUnavailable."""
    with database.connect() as connection:
        searches, calls, reports = (
            _count(connection, table, table.c.mcp_server_user_id == key)
            for table in (SEARCH_QUERIES, TOOL_CALLS, PROBLEM_REPORTS)
        )
        audit_entries = _count(connection, AUDIT_LOG, AUDIT_LOG.c.principal == key)
        notifications = _count(connection, NOTIFICATIONS, _match_recipient(key))
    return ErasedRecords(searches, calls, reports, audit_entries, notifications)


def erase_person(database: Database, key: str) -> ErasedRecords:
    """Remove the searches, calls and reports of a principal, and sign them out. Raises DatabaseUnavailable.

    The notifications to the owner of a token (`token:NAME`) are removed, too. The audit log keeps its
    entries, because each contains the hash of the one before.
    """
    searches = _delete_searches(database, SEARCH_QUERIES.c.mcp_server_user_id == key)
    with database.begin() as connection:
        calls = connection.execute(delete(TOOL_CALLS).where(TOOL_CALLS.c.mcp_server_user_id == key)).rowcount
        reports = connection.execute(
            delete(PROBLEM_REPORTS).where(PROBLEM_REPORTS.c.mcp_server_user_id == key)
        ).rowcount
        notifications = connection.execute(delete(NOTIFICATIONS).where(_match_recipient(key))).rowcount
        connection.execute(delete(SESSIONS).where(SESSIONS.c.principal == key))
        audit_entries = _count(connection, AUDIT_LOG, AUDIT_LOG.c.principal == key)
    _clean_file(database)
    return ErasedRecords(searches, calls, reports, audit_entries, notifications)


def _match_searches(text: str, keys: HashKeys) -> ColumnElement[bool]:
    missing_words = cast(SEARCH_QUERIES.c.missing_words, Text)
    forms = _list_forms(text)
    return or_(
        *(_contains(SEARCH_QUERIES.c.query_text, form) for form in forms),
        *(_contains(missing_words, json.dumps(form)[1:-1]) for form in forms),
        SEARCH_QUERIES.c.query_text.in_([hash_question(key, text) for key in keys.list_keys()]),
    )


def _match_reports(text: str) -> ColumnElement[bool]:
    columns = (PROBLEM_REPORTS.c.address, PROBLEM_REPORTS.c.problem, PROBLEM_REPORTS.c.suggestion)
    return or_(*(_contains(column, form) for column in columns for form in _list_forms(text)))


def _match_notifications(text: str) -> ColumnElement[bool]:
    columns = (NOTIFICATIONS.c.content, NOTIFICATIONS.c.recipient)
    # The content is JSON, whose strings have escapes.
    forms = [*_list_forms(text), *(json.dumps(form)[1:-1] for form in _list_forms(text))]
    return or_(*(_contains(column, form) for column in columns for form in dict.fromkeys(forms)))


def _match_recipient(key: str) -> ColumnElement[bool]:
    name = key.removeprefix(_TOKEN_PREFIX)
    # The webhook has no name.
    return NOTIFICATIONS.c.recipient == name if name not in ("", key) else false()


def _list_forms(text: str) -> Sequence[str]:
    """Return the forms in which records store a text, also in lower case."""
    forms = (text.strip(), clean_question(text), normalize_question(text))
    # A database may lower ASCII letters alone: then the exact text is found, and other cases are not.
    return list(dict.fromkeys(case for form in forms if form for case in (form, form.lower())))


def _contains(column: Any, text: str) -> ColumnElement[bool]:
    return or_(func.lower(column).contains(text, autoescape=True), column.contains(text, autoescape=True))


def _count(connection: Connection, table: Any, condition: ColumnElement[bool]) -> int:
    return connection.execute(select(func.count()).select_from(table).where(condition)).scalar_one()


def _delete_searches(database: Database, condition: ColumnElement[bool]) -> int:
    """Delete searches in batches, and subtract them from the counts."""
    total = 0
    while True:
        with database.begin() as connection:
            if database.is_sqlite:
                connection.exec_driver_sql("PRAGMA secure_delete = ON")
            lock_for_writing(connection)
            rows = connection.execute(select(SEARCH_QUERIES).where(condition).limit(BATCH_ROWS)).mappings()
            count = delete_searches(connection, [dict(row) for row in rows])
            connection.execute(delete(TERM_TOTALS).where(TERM_TOTALS.c.searches <= 0))
        total += count
        if not count:
            return total


def _clean_file(database: Database) -> None:
    """Overwrite the removed rows in the files of SQLite, its log included. PostgreSQL does so by VACUUM."""
    if database.is_sqlite:
        database.execute_alone("VACUUM")
        database.execute_alone("PRAGMA wal_checkpoint(TRUNCATE)")
    else:
        for table in (SEARCH_QUERIES, TERM_TOTALS, PROBLEM_REPORTS, NOTIFICATIONS, TOOL_CALLS, SESSIONS):
            database.execute_alone(f"VACUUM {table.name}")
