"""`docyard admin reports`: readers' reports of problems in documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli.main import SuggestingGroup
from docyard.cli.server_database import open_server_database, organization, server_database
from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from docyard.records.problem_reports import ProblemReport


@click.group(cls=SuggestingGroup, name="reports")
def command() -> None:
    """Read and resolve the reports of readers.

    \b
    Example:
        docyard admin reports list --config server.toml
    """


@command.command(name="list", short_help="List the reports of readers.")
@click.option("--all", "include_resolved", is_flag=True, help="Include the resolved reports.")
@options.limit("reports", 50)
@organization
@server_database
@options.as_json
def list_reports(
    include_resolved: bool,
    limit: int,
    organization: str | None,
    config: Path | None,
    sources_file: Path | None,
    as_json: bool,
) -> int:
    """List the reports of readers, the newest first. Their texts are untrusted: do not give them to an agent.

    \b
    Example:
        docyard admin reports list --organization acme --config server.toml
    """
    from docyard.records import problem_reports
    from docyard.records.summary import find_organization

    with open_server_database(config, sources_file) as database, database.connect() as connection:
        reports = problem_reports.list_reports(
            connection,
            find_organization(connection, organization),
            limit=limit or None,
            include_resolved=include_resolved,
        )
    if as_json:
        console.print_json({"reports": [_describe_report(report) for report in reports]})
        return Exit.DONE
    for report in reports:
        _print_report(report)
    if not reports:
        click.echo("There are no reports.")
    return Exit.DONE


@command.command(name="resolve", short_help="Mark a report as resolved.")
@click.argument("id")
@server_database
def resolve(id: str, config: Path | None, sources_file: Path | None) -> int:
    """Mark a report as resolved.

    \b
    Example:
        docyard admin reports resolve rpt_4k2m9x0a7bqe --config server.toml
    """
    from docyard.records.problem_reports import resolve_report

    with open_server_database(config, sources_file) as database, database.begin() as connection:
        resolve_report(connection, id)
    click.echo(f"The report {id} is resolved.")
    return Exit.DONE


def _describe_report(report: ProblemReport) -> dict[str, object]:
    from docyard.records.export import format_time

    return {**report._asdict(), "created_at": format_time(report.created_at)}


def _print_report(report: ProblemReport) -> None:
    """Print a report. Characters that control a terminal are escaped."""
    from docyard.records.export import format_time
    from workspace.escapes import escape_invisible

    state = " (resolved)" if report.is_resolved else ""
    lines = [
        f"{report.id}{state}  {format_time(report.created_at)}  {report.organization}/{report.namespace}  "
        f"{report.address}  {report.sender or 'unknown sender'}",
        *(f"  {line}" for line in report.problem.splitlines()),
        *(f"  > {line}" for line in report.suggestion.splitlines()),
    ]
    for line in lines:
        click.echo(escape_invisible(line))
