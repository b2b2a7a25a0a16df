"""`docyard sources list`: the sources of a file, without opening them."""

from __future__ import annotations

from pathlib import Path

import click

from docyard.commands import options
from docyard.open_workspace import find_folder
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="list")
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
def command(file: Path, as_json: bool) -> int:
    """List the sources of a file: their names, what they serve, and their descriptions.

    \b
    Example:
        docyard sources list sources.toml --json
    """
    from index.sources.settings import read_sources_file

    content = read_sources_file(find_folder(file))
    if as_json:
        console.print_json(
            {name: settings.model_dump(exclude_defaults=True) for name, settings in content.sources.items()}
        )
        return Exit.DONE
    if content.sources:
        console.print_column_titles("name  location")
    for name, settings in content.sources.items():
        ref = f" at {settings.ref}" if settings.ref else ""
        folder = f", folder {settings.folder}" if settings.folder else ""
        click.echo(f"{name}  {settings.location}{ref}{folder}")
        if settings.description:
            click.echo(f"    {settings.description}")
    return Exit.DONE
