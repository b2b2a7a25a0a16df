"""`docyard sources plan`: what a server would change when it reads the file again."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.open_workspace import find_folder
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="plan")
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
def command(file: Path, as_json: bool) -> int:
    """Compare a file with the version that a server has read last, and show what would change.

    A server reads its file again on SIGHUP. Without a server, each source is new.

    \b
    Example:
        docyard sources plan sources.toml && kill -HUP "$(pgrep -f 'serve --sources')"
    """
    from docyard.sources.record import read_applied
    from docyard.sources.report import format_plan
    from index.sources.settings import read_sources_file
    from index.sources.sources import diff_sources_files

    path = find_folder(file)
    plan = diff_sources_files(read_applied(path), read_sources_file(path))
    if as_json:
        console.print_json(plan._asdict())
    else:
        for line in format_plan(plan):
            click.echo(line)
    return Exit.DONE
