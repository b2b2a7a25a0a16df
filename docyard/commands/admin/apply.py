"""`docyard admin apply`: the changes of a file of organizations, in one transaction."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli.server_database import server_config
from docyard.commands import options
from docyard.commands.admin.access import confirm, open_administration, print_plan
from docyard.open_workspace import find_folder
from docyard.terminal.exits import Exit


@click.command(name="apply")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--prune", is_flag=True, help="Remove what the file does not name, with its records.")
@click.option("--yes", is_flag=True, help="Do not ask for a confirmation.")
@click.option("--plan", "digest", metavar="DIGEST", help="The digest of the plan that you have read.")
@server_config
@options.as_json
def command(
    file: Path, prune: bool, yes: bool, digest: str | None, config: Path | None, as_json: bool
) -> int:
    """Show the plan of a file, ask for a confirmation, and make the changes in one transaction.

    If the database has changed since the plan was made, nothing is changed. A second run changes nothing.

    \b
    Example:
        docyard admin apply organizations.toml --config server.toml
        docyard admin apply organizations.toml --prune --yes
    """
    with open_administration(config) as administration:
        from docyard.organizations.file import read_organizations_file

        content = read_organizations_file(find_folder(file))
        if not yes:
            plan = administration.plan(content, prune=prune)
            print_plan(plan, as_json=as_json)
            if not plan.changes:
                return Exit.DONE
            confirm("Make these changes?", is_confirmed=False)
            administration.apply(content, prune=prune, digest=digest or plan.digest)
            return Exit.DONE
        print_plan(administration.apply(content, prune=prune, digest=digest), as_json=as_json)
    return Exit.DONE
