"""`docyard config check`: the mistakes of the configuration of a server."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="check")
@options.config
@options.as_json
def command(config: Path | None, as_json: bool) -> int:
    """Check the configuration of a server, and list all mistakes, each with its line or variable.

    FILE is the file of `docyard serve --config`; `docyard doctor` checks docyard.toml.
    The exit code is 1 if there are mistakes. Nothing is connected or started.

    \b
    Example:
        docyard config check --config server.toml
    """
    if config is None:  # before the imports, which need the extra `server`
        click.echo(
            "No --config FILE: only variables that begin with DOCYARD_SERVER__ are checked. "
            "`docyard doctor` checks docyard.toml.",
            err=True,
        )
    from docyard.http.configuration import check_configuration
    from docyard.settings.file import InvalidServerFile, format_mistake, read_configuration

    mistakes = []
    try:
        mistakes = list(check_configuration(read_configuration(config)))
    except InvalidServerFile as error:
        mistakes = list(error.mistakes)
    if as_json:
        console.print_json({"mistakes": [item._asdict() for item in mistakes]})
    else:
        for mistake in mistakes:
            click.echo(format_mistake(config, mistake))
            click.echo(f"  fix: {mistake.fix}")
        if not mistakes:
            click.echo("The configuration has no mistakes.")
    return Exit.PROBLEMS if mistakes else Exit.DONE
