"""`docyard sources status`: the state of each source of a file."""

from __future__ import annotations

from pathlib import Path

import click

from docyard import environment
from docyard.commands import options
from docyard.open_workspace import find_folder
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="status")
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
def command(file: Path, as_json: bool) -> int:
    """Open each source of a file, and show its documents, its commit, or why it cannot be served.

    The exit code is 1 if a source cannot be served. A source of a URL is read from its last fetch.

    \b
    Example:
        docyard sources status sources.toml
    """
    from docyard.sources.report import describe_sources, format_sources
    from docyard.sources.service import create_sources

    sources = create_sources(find_folder(file), engine=environment.read_engine_options())
    try:
        entries = describe_sources(sources, include_stats=True)
    finally:
        sources.close()
    if as_json:
        console.print_json({"sources": entries})
    else:
        for line in format_sources(entries):
            click.echo(line)
    return Exit.DONE if all(entry["available"] for entry in entries) else Exit.PROBLEMS
