"""Counts of searches, questions and words. They are always sums of the recorded searches.

A page with a million recorded searches reads these counts alone. Code that adds or deletes recorded searches
changes the counts in the same transaction.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, and_, bindparam, delete
from sqlalchemy.dialects import postgresql, sqlite

from docyard.database.tables import SEARCH_COUNTS, TERM_COUNTS, TERM_TOTALS
from docyard.records.questions import normalize_question

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
UNITS = {"hour": HOUR_MS, "day": DAY_MS}

QUESTION, UNANSWERED, MISSING = "question", "unanswered", "missing"
"""The kinds of terms: questions, questions without results, and words that occur nowhere."""

ALL_NAMESPACES_ID = ""
"""The namespace of the counts of questions in several namespaces."""

LATENCY_BOUNDS_MS = (1, 2, 3, 5, 8, 12, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1_000, 2_000, 5_000, 10_000)
NO_BOUND_MS = 2_000_000_000
"""The bound of the bucket of the slowest searches."""


class _SearchKey(NamedTuple):
    organization_id: str
    mcp_server_id: str
    namespace_id: str
    unit: str
    start: int
    latency_below_ms: int


class _TermKey(NamedTuple):
    organization_id: str
    kind: str
    namespace_id: str
    digest: str


def add_searches(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add recorded searches to the counts."""
    _change(connection, rows, 1)


def subtract_searches(connection: Connection, rows: Iterable[Mapping[str, Any]]) -> None:
    """Subtract recorded searches, which are deleted in the same transaction, from the counts."""
    _change(connection, rows, -1)


def select_bucket(response_time_ms: int) -> int:
    """Return the bound of the bucket of a time."""
    index = bisect_right(LATENCY_BOUNDS_MS, response_time_ms)
    return LATENCY_BOUNDS_MS[index] if index < len(LATENCY_BOUNDS_MS) else NO_BOUND_MS


def list_terms(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the kinds and texts of the terms of a recorded search."""
    question = normalize_question(row["query_text"])
    terms = [(QUESTION, question)]
    if not row["result_count"]:
        terms.append((UNANSWERED, question))
    terms += [(MISSING, normalize_question(word)) for word in row["missing_words"] or ()]
    return terms


def compute_digest(text: str) -> str:
    """Return the digest of a term."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _change(connection: Connection, rows: Iterable[Mapping[str, Any]], sign: int) -> None:
    searches: Counter[_SearchKey] = Counter()
    empty_searches: Counter[_SearchKey] = Counter()
    day_counts: Counter[tuple[_TermKey, int]] = Counter()
    totals: Counter[_TermKey] = Counter()
    texts: dict[str, str] = {}
    for row in rows:
        organization, time = row["organization_id"], row["created_at"]
        namespace = row["namespace_id"] if row["namespace_count"] == 1 else ALL_NAMESPACES_ID
        bucket = select_bucket(row["response_time_ms"] or 0)
        for unit, length in UNITS.items():
            start = time // length * length
            key = _SearchKey(organization, row["mcp_server_id"], namespace, unit, start, bucket)
            searches[key] += sign
            empty_searches[key] += 0 if row["result_count"] else sign
        for kind, text in list_terms(row):
            digest = compute_digest(text)
            texts[digest] = text
            term_key = _TermKey(organization, kind, namespace, digest)
            day_counts[term_key, time // DAY_MS * DAY_MS] += sign
            totals[term_key] += sign
    # In one order for all writers, so that two never wait for each other.
    search_values = [
        {**key._asdict(), "searches": count, "empty_searches": empty_searches[key]}
        for key, count in sorted(searches.items())
    ]
    day_values = [
        {**key._asdict(), "day": day, "searches": count} for (key, day), count in sorted(day_counts.items())
    ]
    total_values = [
        {**key._asdict(), "text": texts[key.digest], "searches": count}
        for key, count in sorted(totals.items())
    ]
    for table, values in (
        (SEARCH_COUNTS, search_values),
        (TERM_COUNTS, day_values),
        (TERM_TOTALS, total_values),
    ):
        _add_values(connection, table, values)
        if sign < 0:
            _delete_empty(connection, table, values)


def _add_values(connection: Connection, table: Table, values: Sequence[Mapping[str, Any]]) -> None:
    """Add numbers to rows, which are created if they are missing."""
    if not values:
        return
    connection.execute(_build_addition(table, connection.dialect.name), [dict(item) for item in values])


@cache
def _build_addition(table: Table, dialect_name: str) -> Any:
    """Return the statement that adds numbers to a row, or creates the row."""
    dialect = sqlite if dialect_name == "sqlite" else postgresql
    statement = dialect.insert(table)
    numbers = {
        name: table.c[name] + statement.excluded[name]
        for name in ("searches", "empty_searches")
        if name in table.c
    }
    keys = [column.name for column in table.primary_key]
    return statement.on_conflict_do_update(index_elements=keys, set_=numbers)


def _delete_empty(connection: Connection, table: Table, values: Sequence[Mapping[str, Any]]) -> None:
    if not values:
        return
    keys = [column.name for column in table.primary_key]
    condition = and_(*(table.c[name] == bindparam(f"key_{name}") for name in keys), table.c.searches <= 0)
    connection.execute(
        delete(table).where(condition), [{f"key_{name}": item[name] for name in keys} for item in values]
    )
