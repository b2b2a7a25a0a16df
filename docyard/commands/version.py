"""`docyard version`: the versions of Docyard and of Python, and the platform, for a report of a problem."""

from __future__ import annotations

import platform

import click

from docyard import __version__
from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="version")
@options.as_json
def command(as_json: bool) -> int:
    """Print the version. With --json, also print the version of Python and the platform.

    \b
    Example:
        docyard version
        docyard version --json
    """
    if as_json:
        console.print_json(
            {
                "version": __version__,
                "python": platform.python_version(),
                "platform": f"{platform.system()} {platform.machine()}",
            }
        )
    else:
        click.echo(f"docyard {__version__}")
    return Exit.DONE
