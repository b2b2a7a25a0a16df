"""`docyard admin audit`: the audit log, and the check of its chain of hashes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from docyard.cli.server_database import open_server_database, server_config
from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="audit")
@click.option("--organization", metavar="ORG", help="Only the entries of one organization.")
@click.option("--verify", is_flag=True, help="Check that no entry was changed or removed.")
@options.limit("entries", 50)
@server_config
@options.as_json
def command(organization: str | None, verify: bool, limit: int, config: Path | None, as_json: bool) -> int:
    """Show the audit log, the newest entry first. It names principals and objects, and has no content.

    --verify computes the hash of each entry again, and exits with 1 if one is wrong. The removal of the last
    entries shows only in the last hash, so keep a copy of that hash elsewhere.

    \b
    Example:
        docyard admin audit --organization acme --config server.toml
        docyard admin audit --verify --json
    """
    with (
        open_server_database(config) as database,
        database.connect() as connection,
    ):
        from docyard.organizations.audit import list_audit_entries, verify_audit_log

        if verify:
            check = verify_audit_log(connection)
            if as_json:
                console.print_json(check._asdict())
            elif check.first_wrong_number is None:
                click.echo(f"{check.entry_count:,} entries are right; the last hash is {check.last_hash}")
            else:
                click.echo(f"the entry {check.first_wrong_number:,} is wrong or missing")
            return Exit.DONE if check.first_wrong_number is None else Exit.PROBLEMS
        entries = list_audit_entries(connection, organization=organization, limit=limit)
    if as_json:
        console.print_json({"entries": [entry._asdict() for entry in entries]})
    else:
        rows = [
            (
                str(entry.number),
                f"{datetime.fromtimestamp(entry.created_at / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}",
                entry.principal,
                entry.action,
                entry.object,
                entry.outcome,
            )
            for entry in entries
        ]
        console.print_table(("number", "time", "principal", "action", "object", "outcome"), rows)
    return Exit.DONE
