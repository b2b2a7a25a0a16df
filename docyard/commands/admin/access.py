"""The database of the configuration, opened for the operator."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard import environment
from docyard.cli.server_database import open_server_database, read_server_config
from docyard.terminal import console
from docyard.terminal.exits import CommandError

if TYPE_CHECKING:
    from docyard.organizations.administration import Administration
    from docyard.organizations.plan import Plan


@contextmanager
def open_administration(config: Path | None) -> Iterator[Administration]:
    """Yield the administration of the operator."""
    settings, folder = read_server_config(config)
    with open_server_database(config) as database:
        from docyard.organizations.administration import Administration
        from docyard.organizations.authority import OPERATOR, Places

        places = Places(folder, settings.operator.roots, settings.operator.url_hosts)
        yield Administration(database, OPERATOR, places)


def confirm(question: str, *, is_confirmed: bool) -> None:
    """Ask the user in the terminal, unless `--yes` is given. Raises CommandError without a terminal."""
    if is_confirmed:
        return
    if not environment.is_terminal(sys.stdin):
        raise CommandError("the command needs a confirmation", fix="Add --yes.")
    click.confirm(question, abort=True, err=True)


def print_plan(plan: Plan, *, as_json: bool) -> None:
    """Print the changes of a plan."""
    from docyard.organizations.plan import describe_plan, format_plan

    if as_json:
        console.print_json(describe_plan(plan))
    else:
        print_lines(format_plan(plan))


def print_lines(lines: Iterator[str]) -> None:
    """Print lines with escaped control characters."""
    from workspace.escapes import escape_invisible

    for line in lines:
        click.echo(escape_invisible(line))
