"""`docyard config show`: each setting of a server, its value, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from docyard.commands import options
from docyard.terminal import console
from docyard.terminal.exits import Exit


@click.command(name="show")
@options.config
@options.as_json
def command(config: Path | None, as_json: bool) -> int:
    """Show each setting of a server, its value, and where it comes from.

    The origin is a line of the file, a variable of the environment, or the default. Secrets are masked.

    \b
    Example:
        docyard config show --config server.toml
        docyard config show --config server.toml --json
    """
    from docyard.settings.file import read_configuration
    from docyard.settings.origins import list_values

    values = list(list_values(read_configuration(config)))
    if as_json:
        console.print_json({"settings": [item._asdict() for item in values]})
        return Exit.DONE
    rows = [(item.name, _format_value(item.value), item.origin) for item in values]
    console.print_table(("setting", "value", "origin"), rows)
    return Exit.DONE


def _format_value(value: Any) -> str:
    """Return a value as in the file; a setting that is not set has a dash."""
    return "-" if value is None else json.dumps(value, ensure_ascii=False)
