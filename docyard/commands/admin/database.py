"""`docyard admin database`: the check and the upgrade of the schema, and the backup of SQLite."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.cli.main import SuggestingGroup
from docyard.cli.server_database import open_server_database, server_config
from docyard.commands import options
from docyard.open_workspace import find_folder
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.group(cls=SuggestingGroup, name="database")
def command() -> None:
    """Check, upgrade or back up the database of a server.

    \b
    Example:
        docyard admin database check --config server.toml
        docyard admin database upgrade --config server.toml
        docyard admin database backup /var/backups/server.sqlite --config server.toml
    """


@command.command(name="check", short_help="Show the version of the schema.")
@server_config
@options.as_json
def check(config: Path | None, as_json: bool) -> int:
    """Show the version of the schema, and the version that this Docyard needs. Nothing is changed.

    The exit code is 1 if the database must be upgraded, or is of a newer version.

    \b
    Example:
        docyard admin database check --config server.toml
    """
    with open_server_database(config, check=False) as database:
        from docyard.database.schema import UPGRADE_COMMAND, read_schema_state

        state = read_schema_state(database)
    if as_json:
        console.print_json({**state._asdict(), "is_current": state.is_current})
    elif state.is_current:
        click.echo(f"the database has the schema {state.current}, as needed")
    else:
        click.echo(f"the database has the schema {state.current or '(none)'}, needed is {state.needed}")
        if state.current is None or state.is_known:
            click.echo(f"  next: make a backup, then run {UPGRADE_COMMAND}")
    return Exit.DONE if state.is_current else Exit.PROBLEMS


@command.command(name="upgrade", short_help="Upgrade the schema.")
@server_config
@options.as_json
def upgrade(config: Path | None, as_json: bool) -> int:
    """Upgrade the schema in one transaction. Make a backup first: there is no way back.

    \b
    Example:
        docyard admin database upgrade --config server.toml
    """
    with open_server_database(config, check=False) as database:
        from docyard.database.schema import upgrade_schema

        state = upgrade_schema(database)
    if as_json:
        console.print_json({"from": state.current, "to": state.needed})
    elif state.is_current:
        click.echo(f"the database has the schema {state.current} already")
    else:
        click.echo(f"upgraded the database from {state.current or '(none)'} to {state.needed}")
    return Exit.DONE


@command.command(name="backup", short_help="Write a consistent copy of the database.")
@click.argument("file", type=click.Path(path_type=Path))
@server_config
def backup(file: Path, config: Path | None) -> int:
    """Write a consistent copy of a database of SQLite to a new file. Servers can use the database meanwhile.

    For PostgreSQL, `pg_dump` makes backups. To restore a copy, stop the server and replace the database.

    \b
    Example:
        docyard admin database backup /var/backups/server.sqlite --config server.toml
    """
    target = find_folder(file)
    with open_server_database(config, check=False) as database:
        database.copy_to(target)
    click.echo(f"wrote {target.name} ({target.stat().st_size:,} bytes)")
    return Exit.DONE
