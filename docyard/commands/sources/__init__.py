"""`docyard sources`: a group that imports the module of a command on demand.

list.py     `docyard sources list`: the sources of a file
plan.py     `docyard sources plan`: what a server would change when it reads the file again
status.py   `docyard sources status`: the state of each source
"""

from __future__ import annotations

from importlib import import_module

import click

from docyard.cli.main import SuggestingGroup

COMMANDS = ("plan", "list", "status")
"""The commands in the order of the help; this package has a module for each."""


class _LazyGroup(SuggestingGroup):
    """A group that imports the module of a command on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # after its import, the module of the command list hides the builtin `list`

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"docyard.commands.sources.{cmd_name}").command
        return command


@click.group(cls=_LazyGroup, name="sources", short_help="Show the sources of `serve --sources`.")
def command() -> None:
    """Show the documentation sources of a file for `docyard serve --sources`.

    \b
    Example:
        docyard sources plan sources.toml
        docyard sources list sources.toml
        docyard sources status sources.toml
    """
