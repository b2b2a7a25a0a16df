"""The digest of a day as Markdown: the numbers, questions without results, missing words, new reports.

Texts of callers are code spans on one line, so that no renderer reads them as markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection

from docyard.records.problem_reports import count_open_reports, list_reports
from docyard.records.questions import HASH_PREFIX
from docyard.records.summary import (
    OrganizationName,
    Share,
    TermCount,
    build_day_period,
    format_latency,
    read_summary,
)
from workspace.diff.formats import format_code_span
from workspace.escapes import escape_invisible

_LISTED_TERMS = 10
_LISTED_REPORTS = 10
_MAX_SHOWN_CHARACTERS = 300


def write_digest(connection: Connection, organization: OrganizationName, day_ms: int) -> str:
    """Return the digest of an organization for the day that begins at a time (UTC)."""
    return "\n".join(_write_lines(connection, organization, day_ms)) + "\n"


def _write_lines(connection: Connection, organization: OrganizationName, day_ms: int) -> Iterator[str]:
    period = build_day_period(day_ms)
    numbers = read_summary(connection, organization.id, period)
    day = datetime.fromtimestamp(day_ms / 1_000, UTC)
    yield f"# Searches of {_show_text(organization.name or organization.slug)} on {day:%Y-%m-%d}"
    yield ""
    total = numbers.total
    if not total.searches:
        yield "Nothing was searched on this day (UTC)."
    else:
        yield (
            f"{total.searches:,} searches, of which {total.empty_searches:,} found nothing. "
            f"p50 {_format_bound(total.latency.p50)}, p95 {_format_bound(total.latency.p95)}, "
            f"p99 {_format_bound(total.latency.p99)}."
        )
        yield from _list_shares(numbers.namespaces)
        yield from _list_terms("Questions that found nothing", numbers.unanswered)
        yield from _list_terms("Words that occur nowhere", numbers.missing_words)
        yield from _list_terms("Top questions", numbers.questions)
    yield from _list_new_reports(connection, organization, day_ms, period.end_ms)


def _list_shares(shares: Sequence[Share]) -> Iterator[str]:
    yield from ("", "## By namespace", "")
    for share in shares:
        name = _show_text(share.name) if share.name else "all namespaces"
        yield f"- {name}: {share.searches:,} searches, {share.empty_searches:,} found nothing"


def _list_terms(title: str, terms: Sequence[TermCount]) -> Iterator[str]:
    if not terms:
        return
    yield from ("", f"## {title}", "")
    for number, term in enumerate(terms[:_LISTED_TERMS], 1):
        text = term.text[: len(HASH_PREFIX) + 12] if term.text.startswith(HASH_PREFIX) else term.text
        place = _show_text(term.namespace) if term.namespace else "all namespaces"
        yield f"{number}. {_show_text(text)} ({term.searches:,}, {place})"


def _list_new_reports(
    connection: Connection, organization: OrganizationName, start_ms: int, end_ms: int
) -> Iterator[str]:
    open_count = count_open_reports(connection, organization.id)
    if not open_count:
        return
    yield from ("", "## Reports of readers", "", f"{open_count:,} open in total. New on this day:", "")
    reports = [
        report
        for report in list_reports(connection, organization.id)
        if start_ms <= report.created_at < end_ms
    ]
    for report in reports[:_LISTED_REPORTS]:
        address = _show_text(f"{report.namespace} {report.address}")
        yield f"- {address}: {_show_text(report.problem)}"
    if not reports:
        yield "- none"


def _format_bound(bound_ms: int | None) -> str:
    return format_latency(bound_ms).replace("<", "below")


def _show_text(text: str) -> str:
    """Return a text of a caller as a code span on one line, cut to 300 characters."""
    line = escape_invisible(" ".join(text.split()))
    return format_code_span(
        line if len(line) <= _MAX_SHOWN_CHARACTERS else line[:_MAX_SHOWN_CHARACTERS] + "…"
    )
