"""The database of a server at the command line: the options that name it, and days."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from docyard.open_workspace import find_folder
from docyard.terminal.exits import CommandError

if TYPE_CHECKING:
    from docyard.database.database import Database

F = TypeVar("F", bound=Callable[..., Any])

CONFIG_VARIABLE = "DOCYARD_CONFIG"


def server_database(command: F) -> F:
    """Add `--config FILE` and `--sources FILE`: the parameters `config` and `sources_file`."""
    command = click.option(
        "--sources",
        "sources_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The file of `docyard serve --sources`, with [analytics].",
    )(command)
    return click.option(
        "--config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        envvar=CONFIG_VARIABLE,
        show_envvar=True,
        help="The file of `docyard serve --config`.",
    )(command)


def organization(command: F) -> F:
    """Add `--organization NAME`: the parameter `organization`, None for all."""
    return click.option("--organization", metavar="NAME", help="Only this organization. [default: all]")(
        command
    )


class _DatabaseLocation(NamedTuple):
    url: str
    folder: Path


def _locate_database(config: Path | None, sources_file: Path | None) -> _DatabaseLocation:
    """Return the database that the options name. Raises CommandError, and the errors of invalid files."""
    if sources_file is not None:
        from index.sources.settings import read_sources_file

        file = find_folder(sources_file)
        analytics = read_sources_file(file).analytics
        if analytics is None:
            raise CommandError(
                f"{file.name} has no table [analytics], so its server records nothing",
                fix='Add [analytics] with database = "searches.sqlite".',
            )
        return _DatabaseLocation(analytics.database_url, file.parent)
    from docyard.environment import get_current_directory
    from docyard.settings.file import read_server_file

    file_or_none = None if config is None else find_folder(config)
    settings = read_server_file(file_or_none)
    folder = get_current_directory() if file_or_none is None else file_or_none.parent
    return _DatabaseLocation(settings.database.url, folder)


@contextmanager
def open_server_database(config: Path | None, sources_file: Path | None) -> Iterator[Database]:
    """Yield the database that the options name, after a check of its schema.

    Raises CommandError, DatabaseUnavailable, SchemaMismatch, and the errors of invalid files.
    """
    if config is not None and sources_file is not None:
        raise click.UsageError("--config and --sources exclude each other")
    from docyard.database.database import open_database
    from docyard.database.schema import check_schema

    location = _locate_database(config, sources_file)
    database = open_database(location.url, location.folder)
    try:
        check_schema(database)
        yield database
    finally:
        database.close()


def parse_day(text: str) -> int:
    """Return the begin of a day in milliseconds since 1970: a date, `today` or `yesterday` (UTC).

    Raises click.BadParameter.
    """
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    names = {"today": today, "yesterday": today - timedelta(days=1)}
    try:
        day = names[text] if text in names else datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        raise click.BadParameter(f"'{text[:50]}' must be a date such as 2026-01-31, or 'yesterday'") from None
    return int(day.timestamp() * 1_000)
