"""`docyard admin export`: the file of the current state."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli.server_database import server_config
from docyard.commands import options
from docyard.commands.admin.access import open_administration
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="export")
@server_config
@options.as_json
def command(config: Path | None, as_json: bool) -> int:
    """Print the organizations of the database as a file for `docyard admin apply`.

    \b
    Example:
        docyard admin export --config server.toml > organizations.toml
    """
    with open_administration(config) as administration:
        from docyard.organizations.file import format_organizations_file
        from docyard.organizations.objects import build_tables

        state = administration.read_state()
        if as_json:
            console.print_json(build_tables(state))
        else:
            click.echo(format_organizations_file(state), nl=False)
    return Exit.DONE
