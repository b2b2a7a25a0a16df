"""`docyard config`: a group that imports the module of a command on demand.

check.py    `docyard config check`: the mistakes of a configuration
notify.py   `docyard config notify`: how people are notified, and a test of the delivery
show.py     `docyard config show`: each setting, its value, and where it comes from
"""

from __future__ import annotations

import click

from docyard.cli.main import LazyGroup

COMMANDS = {
    "show": "Show each setting, its value, and where it comes from.",
    "check": "Check a configuration, and list its mistakes.",
    "notify": "Show how people are notified, and test the delivery.",
}
"""The commands in the order of the help, each with its short help; this package has a module for each."""


class _Group(LazyGroup):
    package = __name__
    short_helps = COMMANDS


@click.group(cls=_Group, name="config")
def command() -> None:
    """Show and check the configuration of a server: a file, and variables of the environment.

    \b
    Example:
        docyard config check --config /etc/docyard/server.toml
        docyard config show --config /etc/docyard/server.toml
    """
