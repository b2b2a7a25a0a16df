"""`docyard engine`: a group that imports the module of a command on demand.

rotate_key.py    `docyard engine rotate-key`: replaces the key that nodes share
use.py           `docyard engine use`: moves indexes to a database or to files, and compares both
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = {
    "use": "Move the search index to a database, or back to files.",
    "rotate-key": "Replace the key that signs cursors, handles and claims on all nodes.",
}
"""The commands in the order of the help, each with its short help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    short_helps = COMMANDS


@click.group(cls=_Group, name="engine")
def command() -> None:
    """Move the search index to a database that several nodes share, or back to files.

    `docyard index status` shows where the index is.

    \b
    Example:
        docyard engine use postgresql://docyard@db.example.org/docyard
        docyard engine use files
    """
