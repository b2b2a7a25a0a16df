"""Readers' reports of problems in documents: for the owners, as untrusted text, never for agents."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from docyard.database.database import Database
from docyard.database.ids import read_clock_ms
from docyard.database.tables import NAMESPACES, ORGANIZATIONS, PROBLEM_REPORTS
from docyard.records.retention import lock_for_writing
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.records.rows import RecordTarget
    from tools.records.problem_reports import ReaderReport, ReceiveReport

REPORTS_PER_HOUR = 10
"""The number of reports that one principal or address can send to an organization in an hour."""

_HOUR_MS = 3_600_000


class TooManyReports(WorkspaceError):
    """A principal has sent too many reports; `retry_after` are the seconds to wait."""

    code: ClassVar[str] = "RATE_LIMITED"


class ReportNotFound(WorkspaceError):
    """There is no report with this id."""

    code: ClassVar[str] = "REPORT_NOT_FOUND"


class ProblemReport(NamedTuple):
    """A report. All texts are those of its sender."""

    id: str
    organization: str
    namespace: str
    address: str
    problem: str
    suggestion: str
    sender: str | None
    created_at: int
    is_resolved: bool


def add_report(
    connection: Connection,
    *,
    organization_id: str,
    namespace_id: str,
    sender: str | None,
    address: str,
    problem: str,
    suggestion: str,
) -> str:
    """Store a report and return its id. Raises TooManyReports."""
    table = PROBLEM_REPORTS
    now = read_clock_ms()
    recent_times = (
        connection.execute(
            select(table.c.created_at)
            .where(
                table.c.organization_id == organization_id,
                table.c.mcp_server_user_id == sender
                if sender is not None
                else table.c.mcp_server_user_id.is_(None),
                table.c.created_at > now - _HOUR_MS,
            )
            .order_by(table.c.created_at.desc())
            .limit(REPORTS_PER_HOUR)
        )
        .scalars()
        .all()
    )
    if len(recent_times) >= REPORTS_PER_HOUR:
        wait_s = max(1, -(-(recent_times[-1] + _HOUR_MS - now) // 1_000))
        raise TooManyReports(
            f"at most {REPORTS_PER_HOUR} reports are accepted in an hour",
            fix=f"Try again in {wait_s:,} seconds.",
            retry_after=wait_s,
        )
    statement = (
        insert(table)
        .values(
            organization_id=organization_id,
            namespace_id=namespace_id,
            mcp_server_user_id=sender,
            address=_clean(address),
            problem=_clean(problem),
            suggestion=_clean(suggestion),
            created_at=now,
        )
        .returning(table.c.id)
    )
    return str(connection.execute(statement).scalar_one())


def build_report_receiver(database: Database, get_target: Callable[[], RecordTarget]) -> ReceiveReport:
    """Return the function that stores reports for the owners of a server's namespaces.

    It raises TooManyReports and DatabaseUnavailable.
    """

    def receive(report: ReaderReport) -> str:
        target = get_target()
        with database.begin() as connection:
            lock_for_writing(connection)
            return add_report(
                connection,
                organization_id=target.organization_id,
                namespace_id=target.namespace_ids[report.namespace],
                sender=report.sender,
                address=report.address,
                problem=report.problem,
                suggestion=report.suggestion,
            )

    return receive


def _clean(text: str) -> str:
    """Return a text that both databases can store."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def list_reports(
    connection: Connection,
    organization_id: str | None = None,
    *,
    limit: int | None = 100,
    include_resolved: bool = False,
) -> list[ProblemReport]:
    """Return the newest reports of an organization, or of all; those that are not resolved by default."""
    table = PROBLEM_REPORTS
    statement = (
        select(table, ORGANIZATIONS.c.slug, NAMESPACES.c.name)
        .join(ORGANIZATIONS, ORGANIZATIONS.c.id == table.c.organization_id)
        .join(NAMESPACES, NAMESPACES.c.id == table.c.namespace_id)
        .order_by(table.c.created_at.desc(), table.c.id)
        .limit(limit)
    )
    if organization_id is not None:
        statement = statement.where(table.c.organization_id == organization_id)
    if not include_resolved:
        statement = statement.where(table.c.is_resolved.is_(False))
    return [
        ProblemReport(
            row.id,
            row.slug,
            row.name,
            row.address,
            row.problem,
            row.suggestion,
            row.mcp_server_user_id,
            row.created_at,
            row.is_resolved,
        )
        for row in connection.execute(statement)
    ]


def count_open_reports(connection: Connection, organization_id: str) -> int:
    """Return the number of reports of an organization that are not resolved."""
    return connection.execute(
        select(func.count())
        .select_from(PROBLEM_REPORTS)
        .where(PROBLEM_REPORTS.c.organization_id == organization_id, PROBLEM_REPORTS.c.is_resolved.is_(False))
    ).scalar_one()


def resolve_report(connection: Connection, id: str, organization_id: str | None = None) -> None:
    """Mark a report as resolved. Raises ReportNotFound, also for a report of another organization."""
    statement = update(PROBLEM_REPORTS).where(PROBLEM_REPORTS.c.id == id).values(is_resolved=True)
    if organization_id is not None:
        statement = statement.where(PROBLEM_REPORTS.c.organization_id == organization_id)
    if not connection.execute(statement).rowcount:
        raise ReportNotFound(
            f"there is no report '{id[:50]}'", fix="`docyard admin reports list` lists the reports."
        )
