"""`docyard sources`: a group that imports the module of a command on demand.

list.py     `docyard sources list`: the sources of a file
plan.py     `docyard sources plan`: what a server would change when it reads the file again
status.py   `docyard sources status`: the state of each source
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = {
    "plan": "Show what a server would change when it reads a file again.",
    "list": "List the sources of a file.",
    "status": "Open each source of a file, and show its state.",
}
"""The commands in the order of the help, each with its short help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    short_helps = COMMANDS


@click.group(cls=_Group, name="sources")
def command() -> None:
    """Show the documentation sources of a file for `docyard serve --sources`.

    \b
    Example:
        docyard sources plan sources.toml
        docyard sources list sources.toml
        docyard sources status sources.toml
    """
