"""The configuration and the database of a server at the command line: the options that name them, and days.

The extra `server` need not be installed: then an error says how to install it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from docyard import environment
from docyard.open_workspace import find_folder
from docyard.terminal.exits import CommandError

if TYPE_CHECKING:
    from docyard.database.database import Database
    from docyard.settings.file import ServerSettings
    from index.postgres.options import EngineOptions

F = TypeVar("F", bound=Callable[..., Any])


def server_config(command: F) -> F:
    """Add `--config FILE`: the parameter `config`, None if variables of the environment set everything."""
    return click.option(
        "--config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        envvar=environment.CONFIG,
        show_envvar=True,
        help="The file of `docyard serve --config`.",
    )(command)


def server_database(command: F) -> F:
    """Add `--config FILE` and `--sources FILE`: the parameters `config` and `sources_file`."""
    command = click.option(
        "--sources",
        "sources_file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The file of `docyard serve --sources`, with [analytics].",
    )(command)
    return server_config(command)


def organization(command: F) -> F:
    """Add `--organization NAME`: the parameter `organization`, None for all."""
    return click.option("--organization", metavar="NAME", help="Only this organization. [default: all]")(
        command
    )


class ServerConfig(NamedTuple):
    """The settings of a server, and the folder to which their paths are relative."""

    settings: ServerSettings
    folder: Path


def read_server_config(config: Path | None) -> ServerConfig:
    """Return the settings of a file and of the environment.

    Without a file, paths are relative to the current directory. Raises InvalidServerFile, and CommandError
    if the extra `server` is not installed.
    """
    from docyard.settings.file import read_server_file

    if config is None:
        return ServerConfig(read_server_file(None), environment.get_current_directory())
    file = find_folder(config)
    return ServerConfig(read_server_file(file), file.parent)


class _DatabaseLocation(NamedTuple):
    url: str
    folder: Path


def _locate_database(config: Path | None, sources_file: Path | None) -> _DatabaseLocation:
    """Return the database that the options name. Raises CommandError, and the errors of invalid files.

    A command must not create a database by accident, so the file or a variable must name it.
    """
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
    settings, folder = read_server_config(config)
    if config is None and "database" not in settings.model_fields_set:
        raise CommandError(
            "no configuration names the database",
            fix=f"Name a file with --config or {environment.CONFIG}.",
        )
    return _DatabaseLocation(settings.database.url, folder)


def read_engine_options(config: Path | None) -> EngineOptions:
    """Return the storage of indexes of a configuration file; without one, that of the variables.

    Raises InvalidEngine, and the errors of an invalid file.
    """
    if config is None:
        return environment.read_engine_options()
    settings, _ = read_server_config(config)
    return settings.engine.create_options()


@contextmanager
def open_server_database(
    config: Path | None, sources_file: Path | None = None, *, check: bool = True
) -> Iterator[Database]:
    """Yield the database that the options name, after a check of its schema unless `check` is False.

    Raises CommandError, DatabaseUnavailable, SchemaMismatch, and the errors of invalid files.
    """
    if config is not None and sources_file is not None:
        raise click.UsageError("--config and --sources exclude each other")
    location = _locate_database(config, sources_file)
    from docyard.database.database import open_database
    from docyard.database.schema import check_schema

    database = open_database(location.url, location.folder)
    try:
        if check:
            check_schema(database)
        yield database
    finally:
        database.close()


def list_server_repositories(config: Path | None, sources_file: Path | None) -> tuple[list[Path], list[str]]:
    """Return the local repositories of a server's namespaces, and the namespaces that are elsewhere.

    Raises the errors of `open_server_database`.
    """
    folder, settings_by_name = _read_namespaces(config, sources_file)
    repositories: list[Path] = []
    others: list[str] = []
    for name, settings in sorted(settings_by_name.items()):
        if repo := settings.get("repo"):
            repository = folder / Path(str(repo)).expanduser()
            if repository not in repositories:
                repositories.append(repository)
        else:
            others.append(f"{name} ({settings.get('url') or settings.get('artifact') or 'no repository'})")
    return repositories, others


def _read_namespaces(
    config: Path | None, sources_file: Path | None
) -> tuple[Path, dict[str, Mapping[str, Any]]]:
    """Return the folder of relative paths, and the settings of the namespaces."""
    if sources_file is not None:
        from index.sources.settings import read_sources_file

        file = find_folder(sources_file)
        sources = read_sources_file(file).sources
        return file.parent, {name: source.model_dump() for name, source in sources.items()}
    from docyard.records.summary import read_all_namespace_settings

    with open_server_database(config, None) as database, database.connect() as connection:
        settings = read_all_namespace_settings(connection)
    return _locate_database(config, None).folder, settings


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
