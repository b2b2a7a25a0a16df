"""`docyard admin plan`: what a file of organizations would change."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli.server_database import server_config
from docyard.commands import options
from docyard.commands.admin.access import open_administration, print_plan
from docyard.open_workspace import find_folder
from docyard.terminal.exits import Exit


@click.command(name="plan")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--prune", is_flag=True, help="Plan to remove what the file does not name.")
@server_config
@options.as_json
def command(file: Path, prune: bool, config: Path | None, as_json: bool) -> int:
    """Compare a file of organizations with the database, and show what `apply` would change.

    The digest of the plan is in the data of --json.

    \b
    Example:
        docyard admin plan organizations.toml --config server.toml
        docyard admin plan organizations.toml --prune --json | jq -r .digest
    """
    with open_administration(config) as administration:
        from docyard.organizations.file import read_organizations_file

        print_plan(
            administration.plan(read_organizations_file(find_folder(file)), prune=prune), as_json=as_json
        )
    return Exit.DONE
