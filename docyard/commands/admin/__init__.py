"""`docyard admin`: a group that imports the module of a command on demand.

records.py  `docyard admin records`: the export of recorded searches, the callers that are not recorded
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = ("records",)
"""The commands in the order of the help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    command_names = COMMANDS


@click.group(cls=_Group, name="admin", short_help="Administer a server and its records.")
def command() -> None:
    """Administer a server and its records.

    \b
    Example:
        docyard admin records export --format csv --config server.toml > searches.csv
    """
