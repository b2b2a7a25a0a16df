"""`docyard proposals`: a group whose commands are imported when they are called, a module each.

approve.py          `docyard proposals approve`: a person says that a proposal may be merged as it is
close.py            `docyard proposals close`: a proposal is given up
comment.py          `docyard proposals comment`: a remark on a proposal, or on a place in it
conflicts.py        `docyard proposals conflicts`
create.py           `docyard proposals create`: a proposal begins, from the tip of the served branch
diff.py             `docyard proposals diff`
edit.py             `docyard proposals edit`: another title or description
list.py             `docyard proposals list`: the proposals of a repository, the newest first
merge.py            `docyard proposals merge`: a proposal comes into its target
parameters.py       arguments and options that several of the commands share
refresh.py          `docyard proposals refresh`: what the target has by now comes into a proposal
reopen.py           `docyard proposals reopen`: a closed proposal is taken up again
request_changes.py  `docyard proposals request-changes`: a reviewer says what has to change first
show.py             `docyard proposals show`: a proposal as it stands, for who is to review it
submit.py           `docyard proposals submit`: the author asks for a review
"""

from __future__ import annotations

from importlib import import_module

import click

from docyard.cli.main import SuggestingGroup
from docyard.commit_errors import run_to_commit

COMMANDS = (
    "list",
    "show",
    "diff",
    "create",
    "edit",
    "submit",
    "comment",
    "approve",
    "request-changes",
    "conflicts",
    "refresh",
    "merge",
    "close",
    "reopen",
)
"""In the order of the help; this package has a module of each name."""


class _LazyGroup(SuggestingGroup):
    """Imports the module of a command when the command is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # `list` is the module of a command here, once that is imported

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"docyard.commands.proposals.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def invoke(self, ctx: click.Context) -> object:
        return run_to_commit(lambda: super(_LazyGroup, self).invoke(ctx))


@click.group(cls=_LazyGroup, name="proposals", short_help="Look at proposals, review them, and merge them.")
def command() -> None:
    """Look at proposals, review them, and merge them.

    A proposal is a branch that asks to be merged. What is said of it is kept in Git beside it, so that an
    ordinary clone has all of it.

    \b
    Example:
        docyard proposals list
        docyard proposals show k7m2q9xa
        docyard proposals approve k7m2q9xa
        docyard proposals merge k7m2q9xa
    """
