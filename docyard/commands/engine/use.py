"""`docyard engine use`: moves indexes to a database or to files, after a comparison of their lists."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from docyard import environment
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit
from docyard.wording import format_count
from workspace.escapes import escape_invisible

if TYPE_CHECKING:
    from docyard.hosting.organization_sources import OrganizationSources
    from docyard.settings.file import Configuration
    from index.comparison import Comparison, ListDifference, ScoredAddress
    from index.postgres.options import EngineOptions
    from index.service import SearchIndex
    from index.sources.source import Source

_FILES = "files"
_QUESTION_COUNT = 100
_MAX_PRINTED_DIFFERENCES = 3


class _Engine(NamedTuple):
    """The storage of indexes: the URL of a database, and that of its replica; None for files."""

    url: str | None
    read_url: str | None

    @property
    def name(self) -> str:
        return _FILES if self.url is None else "postgresql"

    def create_options(self) -> EngineOptions:
        """Return the options of an index. Raises InvalidEngine."""
        from index.postgres.options import create_engine_options

        return create_engine_options(self.url, self.read_url)


class _Indexes(NamedTuple):
    """An index in both storages. Their names are empty for a repository."""

    name: str
    before: AbstractContextManager[SearchIndex]
    after: AbstractContextManager[SearchIndex]


class _Result(NamedTuple):
    """The comparison of an index, or the reason why it was left out."""

    name: str
    comparison: Comparison | None
    reason: str = ""


@click.command(name="use")
@click.argument("target", metavar="URL|files")
@click.option("--read-url", metavar="URL", help="The URL of a streaming replica, from which nodes read.")
@options.repository
@options.branch
@click.option(
    "--sources",
    "sources_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Move the indexes of the sources in this file.",
)
@options.config
@click.option(
    "--questions",
    "question_count",
    type=click.IntRange(1, 10_000),
    default=_QUESTION_COUNT,
    show_default=True,
    metavar="N",
    help="The number of questions whose lists are compared, for each index.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done; build and change nothing.")
@options.as_json
@click.pass_context
def command(
    context: click.Context,
    target: str,
    read_url: str | None,
    repo: Path | None,
    branch: str | None,
    sources_file: Path | None,
    config: Path | None,
    question_count: int,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Move the search index to a database of PostgreSQL, or back to files.

    The index is built from Git in the new place, unless it is there. Then questions from its headings and
    texts are searched in both, and addresses and scores are compared. If all lists are equal, `engine.url` is
    written to the file of --config, and its comments stay. Without a file, or if a variable sets the engine,
    the command prints how to set the variable. The old index stays, so the way back is short.

    With --config and without -C and --sources, the indexes of all organizations are moved. Exits with 1 if
    lists differ; nothing is switched then.

    \b
    Example:
        docyard engine use postgresql://docyard@db.example.org/docyard -C ~/specs
        docyard engine use postgresql://docyard@db.example.org/docyard --config server.toml
        docyard engine use files --config server.toml
    """
    after = _read_target(target, read_url)
    if sources_file is not None and (repo is not None or _is_given(context, "config")):
        raise click.UsageError("--sources excludes -C and --config: a variable sets the engine of sources")
    if sources_file is not None:
        config = None
    configuration = _read_configuration(config)
    before = _read_engine(configuration)
    if before == after:
        return _report_unchanged(after, as_json)
    new_text = _plan_edit(configuration, after)
    with ExitStack() as stack:
        indexes = stack.enter_context(
            _open_indexes(repo, branch, sources_file, configuration, (before, after))
        )
        if dry_run:
            states = [_describe_indexes(item) for item in indexes]
            return _report_plan(
                before, after, states, configuration if new_text is not None else None, as_json
            )
        with console.show_progress("Indexing") as progress:
            results = [_compare(item, question_count, progress) for item in indexes]
    if results and all(result.comparison is None for result in results):
        raise CommandError(
            f"no index can be compared, so nothing was switched: {results[0].reason}",
            fix="Correct it (`docyard doctor` and `docyard sources status` show more), and run the command "
            "again.",
        )
    are_equal = not any(result.comparison.differences for result in results if result.comparison)
    file = None
    if are_equal and new_text is not None and configuration is not None and configuration.file is not None:
        from docyard.settings.edit import write_settings

        write_settings(configuration.file, configuration.text, new_text)
        file = configuration.file
    _report(before, after, results, file, config, are_equal=are_equal, as_json=as_json)
    node_url = None if configuration is None else configuration.settings.engine.node_url
    if file is not None and after.url is None and node_url is not None and not as_json:
        click.echo(f"node_url was removed, which needs the database. After the way back, set it: {node_url}")
    return Exit.DONE if are_equal else Exit.PROBLEMS


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def _read_target(target: str, read_url: str | None) -> _Engine:
    """Return the engine that the arguments name. Raises UsageError, and CommandError for a password."""
    if target == _FILES:
        if read_url is not None:
            raise click.UsageError("--read-url needs the URL of a database: files have no replica")
        return _Engine(None, None)
    for url in (target, read_url):
        if url is None:
            continue
        if not url.startswith(("postgresql://", "postgres://")):
            raise click.UsageError("name files, or a URL: postgresql://USER@HOST/NAME")
        from docyard.settings.fields import mask_password

        if mask_password(url) != url:
            raise CommandError(
                "the URL contains a password, which other users of this machine could read",
                fix="Remove it from the URL, and put it into ~/.pgpass or the file that PGPASSFILE names. Or "
                f"set the variable {environment.ENGINE_URL} to the whole URL yourself.",
            )
    return _Engine(target, read_url)


def _read_configuration(file: Path | None) -> Configuration | None:
    if file is None:
        return None
    from docyard.settings.file import read_configuration

    return read_configuration(file)


def _read_engine(configuration: Configuration | None) -> _Engine:
    """Return the engine in use."""
    if configuration is None:
        return _Engine(*environment.read_engine_urls())
    section = configuration.settings.engine
    return _Engine(section.url, section.read_url)


def _plan_edit(configuration: Configuration | None, after: _Engine) -> str | None:
    """Return the new text of the file; None if variables set the engine. Raises UneditableFile."""
    if configuration is None or configuration.file is None or any(environment.read_engine_urls()):
        return None
    from docyard.settings.edit import edit_settings

    # Without a database, nodes cannot agree who writes.
    node_settings = {"node_url": None} if after.url is None else {}
    return edit_settings(
        configuration.file, configuration.text, "engine", {**after._asdict(), **node_settings}
    )


@contextmanager
def _open_indexes(
    repo: Path | None,
    branch: str | None,
    sources_file: Path | None,
    configuration: Configuration | None,
    engines: tuple[_Engine, _Engine],
) -> Iterator[list[_Indexes]]:
    """Yield the indexes that the options name. Raises WorkspaceError."""
    before, after = (engine.create_options() for engine in engines)
    with ExitStack() as stack:
        for database in (*before[:2], *after[:2]):
            if database is not None:
                stack.callback(database.close)
        if sources_file is not None:
            from docyard.sources.service import create_sources

            file = find_folder(sources_file)
            pairs = [
                stack.enter_context(closing(create_sources(file, engine=engine)))
                for engine in (before, after)
            ]
            yield [_pair(old, new) for old, new in zip(*pairs, strict=True) if not old.settings.artifact]
        elif configuration is not None and configuration.file is not None and repo is None:
            from docyard.hosting.service import OrganizationsService
            from docyard.settings.settings import EngineSection

            services = []
            for engine in engines:
                section = EngineSection(url=engine.url, read_url=engine.read_url)
                settings = configuration.settings.model_copy(update={"engine": section})
                services.append(OrganizationsService(settings, configuration.folder))
                stack.callback(services[-1].close)
                services[-1].read()
            yield list(_pair_namespaces(*(service.hosting for service in services)))
        else:
            from index.service import SearchIndex

            workspace = open_workspace(repo, branch)
            old_index, new_index = (SearchIndex(workspace, engine=engine) for engine in (before, after))
            yield [_Indexes("", closing(old_index), closing(new_index))]


def _pair(before: Source, after: Source, organization: str = "") -> _Indexes:
    name = f"{organization}/{before.name}" if organization else before.name
    return _Indexes(name, before.open(), after.open())


def _pair_namespaces(before: OrganizationSources, after: OrganizationSources) -> Iterator[_Indexes]:
    """Yield the indexes of all namespaces, except those that changed between the two readings."""
    slugs = {entry.id: entry.slug for entry in before.directory.organizations.values()}
    new_sources = {(source.organization, source.name): source for source in after}
    for source in before:
        new_source = new_sources.get((source.organization, source.name))
        if new_source is not None and not source.settings.artifact:
            yield _pair(source, new_source, slugs[source.organization])


def _compare(indexes: _Indexes, question_count: int, progress: Any) -> _Result:
    """Compare both indexes. One that cannot be opened in its old place is left out."""
    from index.sources.source import SourceUnavailable

    with ExitStack() as stack:
        try:
            before = stack.enter_context(indexes.before)
        except SourceUnavailable as error:
            return _Result(indexes.name, None, error.reason)
        after = stack.enter_context(indexes.after)
        return _Result(indexes.name, before.compare(after, question_count, progress))


def _describe_indexes(indexes: _Indexes) -> dict[str, Any]:
    """Return the state of an index in both places, without a change. Raises EngineUnavailable."""
    from index.sources.source import SourceUnavailable

    with ExitStack() as stack:
        try:
            before = stack.enter_context(indexes.before).status()
        except SourceUnavailable as error:
            return {"name": indexes.name, "reason": error.reason}
        after = stack.enter_context(indexes.after).status()
        return {
            "name": indexes.name,
            "commit": before.tip,
            "sections": before.state.chunks if before.state else None,
            "is_built": after.is_current,
        }


def _report_unchanged(engine: _Engine, as_json: bool) -> int:
    if as_json:
        console.print_json({"before": engine.name, "after": engine.name, "switched": False, "indexes": []})
    else:
        click.echo("The index is there already. `docyard index status` shows it.")
    return Exit.DONE


def _report_plan(
    before: _Engine,
    after: _Engine,
    states: Sequence[dict[str, Any]],
    configuration: Configuration | None,
    as_json: bool,
) -> int:
    file = configuration.file if configuration is not None else None
    if as_json:
        data = {"before": before.name, "after": after.name, "switched": False, "indexes": list(states)}
        console.print_json({**data, "file": str(file) if file else None, "commands": _list_commands(after)})
        return Exit.DONE
    for state in states:
        if "reason" in state:
            click.echo(f"{_format_name(state['name'])}would be left out: {state['reason']}")
        else:
            work = "is there already" if state["is_built"] else "would be built"
            click.echo(f"{_format_name(state['name'])}the index {work} ({after.name}), and compared.")
    if file is not None:
        click.echo(f"Then [engine] of {file.name} would be changed.")
    else:
        _print_commands("Then set the variables of each node:", _list_commands(after))
    return Exit.DONE


def _report(
    before: _Engine,
    after: _Engine,
    results: Sequence[_Result],
    file: Path | None,
    config: Path | None,
    *,
    are_equal: bool,
    as_json: bool,
) -> None:
    commands = _list_commands(after) if are_equal and file is None else []
    if as_json:
        console.print_json(
            {
                "before": before.name,
                "after": after.name,
                "switched": file is not None,
                "indexes": [_build_data(result) for result in results],
                "file": str(file) if file else None,
                "commands": commands,
            }
        )
        return
    for result in results:
        for line in _format_result(result):
            click.echo(escape_invisible(line))
    if not are_equal:
        click.echo("Nothing was switched, because lists differ.")
        click.echo(
            "  fix: Run `docyard index rebuild`, and this command again. If they still differ, report it."
        )
    elif file is not None:
        click.echo(f"Switched from {before.name} to {after.name} in {file.name}. Restart the server.")
        click.echo(f"To go back: {_format_way_back(before, config)}")
    else:
        _print_commands(
            "The index is ready. Set the variables of each node, and restart its server:", commands
        )


def _list_commands(engine: _Engine) -> list[str]:
    """Return the commands of a shell that set the engine by variables."""
    names = (environment.ENGINE_URL, environment.ENGINE_READ_URL)
    used_names = [name for name, url in zip(names, environment.read_engine_urls(), strict=True) if url]
    return [
        f"export {name}={shlex.quote(url)}" if url is not None else f"unset {name}"
        for name, url in zip(names, engine, strict=True)
        if url is not None or name in used_names
    ]


def _print_commands(title: str, commands: Sequence[str]) -> None:
    click.echo(title)
    for line in commands:
        click.echo(f"    {line}")


def _format_way_back(engine: _Engine, config: Path | None) -> str:
    replica = "" if engine.read_url is None else f" --read-url {shlex.quote(engine.read_url)}"
    target = _FILES if engine.url is None else shlex.quote(engine.url)
    return f"docyard engine use {target}{replica} --config {shlex.quote(str(config))}"


def _build_data(result: _Result) -> dict[str, Any]:
    if result.comparison is None:
        return {"name": result.name, "reason": result.reason}
    comparison = result.comparison
    return {
        "name": result.name,
        "commit": comparison.commit,
        "documents": comparison.document_count,
        "sections": comparison.section_count,
        "questions": comparison.question_count,
        "differences": [difference._asdict() for difference in comparison.differences],
    }


def _format_result(result: _Result) -> Iterator[str]:
    name = _format_name(result.name)
    if result.comparison is None:
        yield f"{name}left out: {result.reason}"
        return
    comparison = result.comparison
    equal_count = comparison.question_count - len(comparison.differences)
    yield (
        f"{name}{format_count(comparison.section_count, 'section')} at "
        f"{(comparison.commit or 'no commit')[:12]}, {equal_count:,} of "
        f"{format_count(comparison.question_count, 'list')} equal."
    )
    for difference in comparison.differences[:_MAX_PRINTED_DIFFERENCES]:
        yield from _format_difference(difference)


def _format_difference(difference: ListDifference) -> Iterator[str]:
    yield f"  {difference.question}"
    yield f"    {difference.rank}. before: {_format_entry(difference.before)}"
    yield f"    {difference.rank}. after:  {_format_entry(difference.after)}"


def _format_entry(entry: ScoredAddress | None) -> str:
    return "none" if entry is None else f"{entry[0]} ({entry[1]!r})"


def _format_name(name: str) -> str:
    return f"{name}: " if name else ""
