"""`docyard sources`: a group that imports the module of a command on demand.

list.py     `docyard sources list`: the sources of a file
plan.py     `docyard sources plan`: what a server would change when it reads the file again
status.py   `docyard sources status`: the state of each source
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = ("plan", "list", "status")
"""The commands in the order of the help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    command_names = COMMANDS


@click.group(cls=_Group, name="sources", short_help="Show the sources of `serve --sources`.")
def command() -> None:
    """Show the documentation sources of a file for `docyard serve --sources`.

    \b
    Example:
        docyard sources plan sources.toml
        docyard sources list sources.toml
        docyard sources status sources.toml
    """
