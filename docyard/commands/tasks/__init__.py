"""`docyard tasks`: a group that imports the module of a command on demand.

board.py  the board of `docyard tasks list --board`: a column of tasks for each state
list.py   `docyard tasks list`: the open tasks of all documents
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from docyard.cli.main import LazyGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "list": "List the open tasks of all documents.",
}
"""The commands in the order of the help, each with its short help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    short_helps = COMMANDS

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; options with `--board` among them are those of `docyard tasks list`."""
        is_board = "--board" in args and args[0].startswith("-")
        return super().parse_args(ctx, ["list", *args] if is_board else args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Return the names of commands and options that begin with a text, and `--board`."""
        from click.shell_completion import CompletionItem

        items = super().shell_complete(ctx, incomplete)
        is_board = bool(incomplete) and "--board".startswith(incomplete)
        return (
            [CompletionItem("--board", help="Show a column for each state."), *items] if is_board else items
        )


@click.group(cls=_Group, name="tasks")
def command() -> None:
    """Show the tasks of all documents, and what they wait for.

    \b
    Example:
        docyard tasks list --ready
        docyard tasks list plans --owner ana
        docyard tasks --board
    """
