"""`docyard engine rotate-key`: replaces the key that signs what clients keep, on all nodes."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from docyard.cli.server_database import read_engine_options, server_config
from docyard.commands import options
from docyard.environment import ENGINE_URL
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit


@click.command(name="rotate-key")
@server_config
@options.as_json
def command(config: Path | None, as_json: bool) -> int:
    """Replace the key that nodes share, which signs cursors, handles and claims of tasks.

    What the key before has signed stays valid until the next rotation. A server that runs reads the new key
    when a client sends something that it has signed, and at its next start. If the key has leaked, rotate it
    twice, and restart all servers.

    \b
    Example:
        docyard engine rotate-key --config server.toml
    """
    database = read_engine_options(config).database
    if database is None:
        raise CommandError(
            "no database of indexes is configured, so the key is in a file of this user",
            fix=f"Name a file with [engine] in --config, or set {ENGINE_URL}. To rotate the key of the file, "
            "rename `key` to `old-key` in the folder of Docyard's state.",
        )
    from index.postgres.shared_keys import rotate_signing_key

    with closing(database):
        rotate_signing_key(database)
    if as_json:
        console.print_json({"rotated": True})
    else:
        click.echo("The key was replaced. What the key before has signed is valid until the next rotation.")
    return Exit.DONE
