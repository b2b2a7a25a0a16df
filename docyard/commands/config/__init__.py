"""`docyard config`: a group that imports the module of a command on demand.

check.py   `docyard config check`: the mistakes of a configuration
show.py    `docyard config show`: each setting, its value, and where it comes from
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = ("show", "check")
"""The commands in the order of the help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    command_names = COMMANDS


@click.group(cls=_Group, name="config", short_help="Show and check the configuration of a server.")
def command() -> None:
    """Show and check the configuration of a server: a file, and variables of the environment.

    \b
    Example:
        docyard config check --config /etc/docyard/server.toml
        docyard config show --config /etc/docyard/server.toml
    """
