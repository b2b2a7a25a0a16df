"""`docyard admin records`: the export and the digest of searches, and the callers that are not recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from docyard.cli.main import SuggestingGroup
from docyard.cli.server_database import (
    open_server_database,
    organization,
    parse_day,
    server_database,
)
from docyard.terminal.exits import Exit


@click.group(cls=SuggestingGroup, name="records")
def command() -> None:
    """Export and control the records of searches.

    \b
    Example:
        docyard admin records export --format csv --config server.toml > searches.csv
        docyard admin records opt-out client:my-editor --sources sources.toml
    """


@command.command(name="export", short_help="Write the recorded searches to standard output.")
@click.option("--format", type=click.Choice(("csv", "json", "parquet")), default="csv", show_default=True)
@click.option("--since", metavar="DAY", help="Only searches from this day (UTC) on, such as 2026-01-31.")
@organization
@server_database
def export(
    format: str,
    since: str | None,
    organization: str | None,
    config: Path | None,
    sources_file: Path | None,
) -> int:
    """Write the recorded searches to standard output, the oldest first.

    Parquet needs the extra `parquet`. In CSV, a text that a spreadsheet would evaluate gets an apostrophe.

    \b
    Example:
        docyard admin records export --format parquet --since 2026-01-31 > searches.parquet
    """
    from docyard.records.export import WRITERS, iterate_searches
    from docyard.records.summary import find_organization

    since_ms = 0 if since is None else parse_day(since)
    with open_server_database(config, sources_file) as database:
        with database.connect() as connection:
            organization_id = find_organization(connection, organization)
        count = WRITERS[format](iterate_searches(database, since_ms, organization_id), sys.stdout.buffer)
    click.echo(f"{count:,} {'search' if count == 1 else 'searches'}", err=True)
    return Exit.DONE


@command.command(name="digest", short_help="Print the digest of a day as Markdown.")
@click.option("--day", metavar="DAY", default="yesterday", show_default=True, help="The day, in UTC.")
@organization
@server_database
def digest(day: str, organization: str | None, config: Path | None, sources_file: Path | None) -> int:
    """Print the digest of a day as Markdown: numbers, questions that found nothing, new reports.

    \b
    Example:
        docyard admin records digest --organization acme | mail -s "Searches of yesterday" docs@example.org
    """
    from docyard.records.digest import write_digest
    from docyard.records.summary import find_organization, list_organizations

    day_ms = parse_day(day)
    with open_server_database(config, sources_file) as database, database.connect() as connection:
        id = find_organization(connection, organization)
        organizations = [item for item in list_organizations(connection) if id in (None, item.id)]
        texts = [write_digest(connection, item, day_ms) for item in organizations]
    click.echo("\n".join(texts), nl=False)
    return Exit.DONE


@command.command(name="opt-out", short_help="Stop recording a caller or a client.")
@click.argument("key")
@server_database
def opt_out(key: str, config: Path | None, sources_file: Path | None) -> int:
    """Stop recording a caller or a client. What is recorded already stays; `docyard admin erase` removes it.

    KEY is user:ISSUER#SUBJECT, token:ID, address:IP, or client:NAME with the name that an MCP client sends.

    \b
    Example:
        docyard admin records opt-out address:192.0.2.7
    """
    from docyard.records.opt_outs import add_opt_out

    with open_server_database(config, sources_file) as database, database.begin() as connection:
        is_new = add_opt_out(connection, key)
    click.echo(f"{key} is not recorded from now on." if is_new else f"{key} was not recorded already.")
    return Exit.DONE


@command.command(name="opt-in", short_help="Record a caller or a client again.")
@click.argument("key")
@server_database
def opt_in(key: str, config: Path | None, sources_file: Path | None) -> int:
    """Record a caller or a client again.

    \b
    Example:
        docyard admin records opt-in address:192.0.2.7
    """
    from docyard.records.opt_outs import remove_opt_out

    with open_server_database(config, sources_file) as database, database.begin() as connection:
        was_out = remove_opt_out(connection, key)
    click.echo(f"{key} is recorded again." if was_out else f"{key} was recorded already.")
    return Exit.DONE
