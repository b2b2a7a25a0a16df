"""The numbers of the recorded searches of one organization in a period. All are read from counts.

The lists of the most frequent terms are exact. For a long period the sum of each term's days would take
seconds, so candidates come from the totals of all days, which are at least the counts of a period.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, ClassVar, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, func, select

from docyard.database.tables import (
    NAMESPACES,
    ORGANIZATIONS,
    SEARCH_COUNTS,
    SERVERS,
    TERM_COUNTS,
    TERM_TOTALS,
)
from docyard.records.counts import (
    ALL_NAMESPACES_ID,
    DAY_MS,
    HOUR_MS,
    MISSING,
    NO_BOUND_MS,
    QUESTION,
    UNANSWERED,
)
from workspace.errors import WorkspaceError
from workspace.nearest import find_nearest

TOP_TERMS = 20
"""The length of a list of terms."""

_SHORT_PERIOD_DAYS = 1  # whose terms are summed directly
_FIRST_CANDIDATES = 40  # each further part has twice as many
_MAX_CANDIDATES = 5_000


class Period(NamedTuple):
    """Whole hours or days (UTC) from `start_ms` up to but without `end_ms`."""

    name: str
    unit: str
    unit_ms: int
    start_ms: int
    end_ms: int

    @property
    def starts(self) -> range:
        """The starts of the hours or days."""
        return range(self.start_ms, self.end_ms, self.unit_ms)


PERIODS = {"day": 1, "week": 7, "month": 30, "quarter": 90}
"""The number of days of each period; the last of them is today."""


def build_period(name: str, now_ms: int) -> Period:
    """Return the period of a name that ends with the current day."""
    end_ms = now_ms // DAY_MS * DAY_MS + DAY_MS
    start_ms = end_ms - PERIODS[name] * DAY_MS
    is_short = name == "day"
    return Period(name, *(("hour", HOUR_MS) if is_short else ("day", DAY_MS)), start_ms, end_ms)


def build_day_period(start_ms: int) -> Period:
    """Return the period of one day."""
    return Period("day", "hour", HOUR_MS, start_ms, start_ms + DAY_MS)


class Point(NamedTuple):
    """The searches of an hour or a day."""

    start_ms: int
    searches: int
    empty_searches: int


class Percentiles(NamedTuple):
    """The times below which 50, 95 and 99 % of the searches took; None without searches.

    A time is the bound of a bucket. `NO_BOUND_MS` means that it is above the largest bound.
    """

    p50: int | None
    p95: int | None
    p99: int | None


class Share(NamedTuple):
    """The searches of a namespace, a server, or all. `name` is None for questions in several namespaces."""

    id: str
    name: str | None
    searches: int
    empty_searches: int
    latency: Percentiles


class TermCount(NamedTuple):
    """A question or a word, its namespace (None for several), and its searches in the period."""

    namespace_id: str
    namespace: str | None
    digest: str
    text: str
    searches: int


class Summary(NamedTuple):
    """The numbers of an organization in a period.

    `latencies` are the bounds of the buckets of times, and the searches in each.
    """

    period: Period
    total: Share
    latencies: Sequence[tuple[int, int]]
    points: Sequence[Point]
    namespaces: Sequence[Share]
    servers: Sequence[Share]
    questions: Sequence[TermCount]
    unanswered: Sequence[TermCount]
    missing_words: Sequence[TermCount]


class OrganizationName(NamedTuple):
    """An organization."""

    id: str
    slug: str
    name: str


def list_organizations(connection: Connection) -> list[OrganizationName]:
    """Return all organizations, by slug."""
    rows = connection.execute(select(ORGANIZATIONS).order_by(ORGANIZATIONS.c.slug))
    return [OrganizationName(row.id, row.slug, row.name) for row in rows]


class OrganizationNotFound(WorkspaceError):
    """The database has no organization of this name."""

    code: ClassVar[str] = "ORGANIZATION_NOT_FOUND"


def find_organization(connection: Connection, slug: str | None) -> str | None:
    """Return the id of an organization; None for None. Raises OrganizationNotFound."""
    if slug is None:
        return None
    ids = {item.slug: item.id for item in list_organizations(connection)}
    if slug not in ids:
        nearest = find_nearest(slug, ids)
        raise OrganizationNotFound(
            f"there is no organization '{slug[:100]}'",
            fix=f"Did you mean '{nearest[0]}'?" if nearest else "Leave out --organization for all.",
        )
    return ids[slug]


def read_summary(
    connection: Connection, organization_id: str, period: Period, namespace_id: str | None = None
) -> Summary:
    """Return the numbers of an organization; with `namespace_id`, those of one namespace alone."""
    condition = and_(
        SEARCH_COUNTS.c.organization_id == organization_id,
        SEARCH_COUNTS.c.unit == period.unit,
        SEARCH_COUNTS.c.start >= period.start_ms,
        SEARCH_COUNTS.c.start < period.end_ms,
        *([SEARCH_COUNTS.c.namespace_id == namespace_id] if namespace_id is not None else ()),
    )
    namespace_names = _read_names(connection, NAMESPACES.c.name, organization_id)
    server_names = _read_names(connection, SERVERS.c.slug, organization_id)
    buckets = [tuple(row) for row in connection.execute(_sum_buckets(condition))]
    terms = {
        kind: read_top_terms(connection, organization_id, kind, period, namespace_id, namespace_names)
        for kind in (QUESTION, UNANSWERED, MISSING)
    }
    return Summary(
        period,
        _build_share("", None, buckets),
        sorted((int(bound), int(searches)) for bound, searches, _ in buckets),
        _read_points(connection, condition, period),
        _read_shares(connection, condition, "namespace_id", namespace_names),
        _read_shares(connection, condition, "mcp_server_id", server_names),
        terms[QUESTION],
        terms[UNANSWERED],
        terms[MISSING],
    )


def _read_names(connection: Connection, name: Any, organization_id: str) -> dict[str, str]:
    table = name.table
    rows = connection.execute(select(table.c.id, name).where(table.c.organization_id == organization_id))
    return {row[0]: row[1] for row in rows}


def _read_points(connection: Connection, condition: ColumnElement[bool], period: Period) -> list[Point]:
    points = {point.start_ms: point for point in _sum_points(connection, condition)}
    return [points.get(start, Point(start, 0, 0)) for start in period.starts]


def read_daily_searches(
    connection: Connection, organization_id: str | None, first_day: date, last_day: date
) -> dict[date, tuple[int, int]]:
    """Return the searches of each day (UTC) that has some, and those that found nothing.

    None is all organizations.
    """
    first_ms, last_ms = (
        int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1_000
        for day in (first_day, last_day)
    )
    condition = and_(
        SEARCH_COUNTS.c.unit == "day",
        SEARCH_COUNTS.c.start >= first_ms,
        SEARCH_COUNTS.c.start <= last_ms,
        *([SEARCH_COUNTS.c.organization_id == organization_id] if organization_id is not None else ()),
    )
    return {
        datetime.fromtimestamp(point.start_ms / 1_000, UTC).date(): (point.searches, point.empty_searches)
        for point in _sum_points(connection, condition)
    }


def _sum_points(connection: Connection, condition: ColumnElement[bool]) -> list[Point]:
    rows = connection.execute(
        select(
            SEARCH_COUNTS.c.start,
            func.sum(SEARCH_COUNTS.c.searches),
            func.sum(SEARCH_COUNTS.c.empty_searches),
        )
        .where(condition)
        .group_by(SEARCH_COUNTS.c.start)
    )
    return [Point(row[0], int(row[1]), int(row[2])) for row in rows]


def _read_shares(
    connection: Connection, condition: ColumnElement[bool], column: str, names: Mapping[str, str]
) -> list[Share]:
    rows = connection.execute(_sum_buckets(condition, SEARCH_COUNTS.c[column]))
    buckets: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for bound, searches, empty_searches, id in rows:
        buckets[id].append((bound, searches, empty_searches))
    shares = [
        _build_share(id, names.get(id), items)
        for id, items in buckets.items()
        if id in names or id == ALL_NAMESPACES_ID
    ]
    return sorted(shares, key=lambda share: (-share.searches, share.name or ""))


def _sum_buckets(condition: ColumnElement[bool], *columns: Any) -> Any:
    return (
        select(
            SEARCH_COUNTS.c.latency_below_ms,
            func.sum(SEARCH_COUNTS.c.searches),
            func.sum(SEARCH_COUNTS.c.empty_searches),
            *columns,
        )
        .where(condition)
        .group_by(SEARCH_COUNTS.c.latency_below_ms, *columns)
    )


def _build_share(id: str, name: str | None, buckets: Sequence[Any]) -> Share:
    counts = {int(bound): int(searches) for bound, searches, _ in buckets}
    return Share(
        id,
        name,
        sum(counts.values()),
        sum(int(empty) for _, _, empty in buckets),
        Percentiles(*(find_percentile(counts, share) for share in (0.5, 0.95, 0.99))),
    )


def find_percentile(counts: Mapping[int, int], share: float) -> int | None:
    """Return the least bound below which a share of the searches took; None without searches."""
    needed, found = share * sum(counts.values()), 0
    for bound, count in sorted(counts.items()):
        found += count
        if found >= needed and found:
            return bound
    return None


def format_latency(bound_ms: int | None) -> str:
    """Return a bound as text: "< 20 ms", or "10 s or more"."""
    if bound_ms is None:
        return "none"
    return "10 s or more" if bound_ms == NO_BOUND_MS else f"< {bound_ms:,} ms"


def read_top_terms(
    connection: Connection,
    organization_id: str,
    kind: str,
    period: Period,
    namespace_id: str | None,
    namespace_names: Mapping[str, str],
    limit: int = TOP_TERMS,
) -> list[TermCount]:
    """Return the most frequent terms of a kind in a period."""
    condition = and_(
        TERM_COUNTS.c.organization_id == organization_id,
        TERM_COUNTS.c.kind == kind,
        *([TERM_COUNTS.c.namespace_id == namespace_id] if namespace_id is not None else ()),
    )
    counts = None
    days = range(period.start_ms, period.end_ms, DAY_MS)
    if len(days) > _SHORT_PERIOD_DAYS:
        total_condition = and_(
            TERM_TOTALS.c.organization_id == organization_id,
            TERM_TOTALS.c.kind == kind,
            *([TERM_TOTALS.c.namespace_id == namespace_id] if namespace_id is not None else ()),
        )
        counts = _count_candidates(
            connection, and_(condition, TERM_COUNTS.c.day.in_(days)), total_condition, limit
        )
    if counts is None:
        count = func.sum(TERM_COUNTS.c.searches)
        rows = connection.execute(
            select(TERM_COUNTS.c.namespace_id, TERM_COUNTS.c.digest, count)
            .where(condition, TERM_COUNTS.c.day >= period.start_ms, TERM_COUNTS.c.day < period.end_ms)
            .group_by(TERM_COUNTS.c.namespace_id, TERM_COUNTS.c.digest)
            .order_by(count.desc(), TERM_COUNTS.c.digest, TERM_COUNTS.c.namespace_id)
            .limit(limit)
        )
        counts = {(row[0], row[1]): int(row[2]) for row in rows}
    texts = _read_texts(connection, organization_id, kind, counts)
    return [
        TermCount(namespace, namespace_names.get(namespace), digest, texts[namespace, digest], searches)
        for (namespace, digest), searches in counts.items()
        if (namespace, digest) in texts
    ]


def _count_candidates(
    connection: Connection,
    condition: ColumnElement[bool],
    total_condition: ColumnElement[bool],
    limit: int,
) -> dict[tuple[str, str], int] | None:
    """Return the counts of the most frequent terms; None if too many candidates would have to be read.

    The days of the period are listed, so that the key of the table finds a candidate on each day.
    """
    counts: dict[tuple[str, str], int] = {}
    offset, part_size = 0, _FIRST_CANDIDATES
    while offset < _MAX_CANDIDATES:
        candidates = connection.execute(
            select(TERM_TOTALS.c.digest, TERM_TOTALS.c.searches)
            .where(total_condition)
            .order_by(TERM_TOTALS.c.searches.desc(), TERM_TOTALS.c.digest.desc())
            .offset(offset)
            .limit(part_size)
        ).all()
        rows = connection.execute(
            select(TERM_COUNTS.c.namespace_id, TERM_COUNTS.c.digest, func.sum(TERM_COUNTS.c.searches))
            .where(condition, TERM_COUNTS.c.digest.in_({row.digest for row in candidates}))
            .group_by(TERM_COUNTS.c.namespace_id, TERM_COUNTS.c.digest)
        )
        counts |= {(row[0], row[1]): int(row[2]) for row in rows}
        counts = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0][1], item[0][0]))[:limit])
        is_last = len(candidates) < part_size
        # No further candidate occurs more often in total than the last one.
        if is_last or (len(counts) == limit and min(counts.values()) >= candidates[-1].searches):
            return counts
        offset, part_size = offset + part_size, part_size * 2
    return None


def find_unanswered_question(
    connection: Connection, organization_id: str, namespace_id: str, digest: str
) -> TermCount | None:
    """Return a question without results, with the number of its searches; None if it is not recorded."""
    row = connection.execute(
        select(TERM_TOTALS.c.text, TERM_TOTALS.c.searches).where(
            TERM_TOTALS.c.organization_id == organization_id,
            TERM_TOTALS.c.kind == UNANSWERED,
            TERM_TOTALS.c.namespace_id == namespace_id,
            TERM_TOTALS.c.digest == digest,
        )
    ).one_or_none()
    if row is None:
        return None
    names = _read_names(connection, NAMESPACES.c.name, organization_id)
    return TermCount(namespace_id, names.get(namespace_id), digest, row.text, row.searches)


def read_namespace_settings(
    connection: Connection, organization_id: str, namespace_id: str
) -> Mapping[str, Any]:
    """Return the settings of a namespace; none if it does not exist."""
    row = connection.execute(
        select(NAMESPACES.c.settings).where(
            NAMESPACES.c.organization_id == organization_id, NAMESPACES.c.id == namespace_id
        )
    ).scalar_one_or_none()
    return row or {}


def read_all_namespace_settings(connection: Connection) -> dict[str, Mapping[str, Any]]:
    """Return the settings of the namespaces of all organizations, by `organization/namespace`."""
    rows = connection.execute(
        select(ORGANIZATIONS.c.slug, NAMESPACES.c.name, NAMESPACES.c.settings).join(
            ORGANIZATIONS, ORGANIZATIONS.c.id == NAMESPACES.c.organization_id
        )
    )
    return {f"{row[0]}/{row[1]}": row[2] for row in rows}


def _read_texts(
    connection: Connection, organization_id: str, kind: str, keys: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    rows = connection.execute(
        select(TERM_TOTALS.c.namespace_id, TERM_TOTALS.c.digest, TERM_TOTALS.c.text).where(
            TERM_TOTALS.c.organization_id == organization_id,
            TERM_TOTALS.c.kind == kind,
            TERM_TOTALS.c.digest.in_({digest for _, digest in keys}),
        )
    )
    return {(row[0], row[1]): row[2] for row in rows}
