"""`docyard tasks`: a group that imports the module of a command on demand.

list.py  `docyard tasks list`: the open tasks of all documents
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = ("list",)
"""The commands in the order of the help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    command_names = COMMANDS


@click.group(cls=_Group, name="tasks", short_help="Show the tasks of all documents.")
def command() -> None:
    """Show the tasks of all documents, and what they wait for.

    \b
    Example:
        docyard tasks list --ready
        docyard tasks list plans --owner ana
    """
