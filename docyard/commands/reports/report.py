"""`docyard report`: documents, open tasks, review times and searches over time, as tables and SVG charts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from docyard.cli.server_database import open_server_database, organization, server_database
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from docyard.web.statistics.statistics import SearchCounts, Statistic
    from workspace.workspace import Workspace

_KINDS = ("documents", "tasks", "reviews", "merges", "searches")
_DEFAULT_DAYS = 365
_FIRST_DAY = date(1970, 1, 1)
_SUFFIX = ".svg"


def _parse_since(context: click.Context, parameter: click.Parameter, text: str | None) -> date | None:
    """Return the day, by default a year ago; None for `all`. Raises click.BadParameter."""
    today = datetime.now(UTC).date()
    if text is None:
        return today - timedelta(_DEFAULT_DAYS)
    if text == "all":
        return None
    try:
        day = datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise click.BadParameter(f"'{text[:50]}' must be a date such as 2026-01-31, or 'all'") from None
    if day > today:
        raise click.BadParameter(f"{text} is later than today, {today}")
    return day


@click.command(name="report")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(_KINDS),
    multiple=True,
    help="Only this kind; can be repeated. [default: all, searches only with a database]",
)
@click.option(
    "--since",
    metavar="DATE",
    callback=_parse_since,
    help="The first day (UTC), such as 2026-01-31, or `all`. [default: a year ago]",
)
@click.option(
    "--output",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="Write charts: to this file of one kind if PATH ends with .svg, else to this folder.",
)
@organization
@server_database
@options.ref("The branch, tag, commit or @{date} whose history is counted. [default: the branch's tip]")
@options.repository
@options.branch
@options.pager
@options.as_json
def command(
    kinds: tuple[str, ...],
    since: date | None,
    output: Path | None,
    organization: str | None,
    config: Path | None,
    sources_file: Path | None,
    ref: str | None,
    repo: Path | None,
    branch: str | None,
    as_json: bool,
) -> int:
    """Print the numbers of documents, tasks, review times and searches over time, and write charts of them.

    A table has a row for each day, week or longer period. Documents and open tasks are those at its end, by
    the first-parent history. Review times begin with the first submission of a proposal, and end with the
    first review of another person, or with the merge. Searches need the database of a server.

    A chart is an SVG file without scripts, whose colours follow a light or dark theme.

    \b
    Example:
        docyard report
        docyard report --kind tasks --since 2026-01-01 --output tasks.svg
        docyard report --output charts --config server.toml --json
    """
    selected = tuple(kind for kind in _KINDS if kind in kinds) or _KINDS
    has_database = config is not None or sources_file is not None
    if "searches" in kinds and not has_database:
        raise click.UsageError("--kind searches needs a server's database: add --config or --sources")
    if organization is not None and not has_database:
        raise click.UsageError("--organization needs --config or --sources")
    if not has_database:
        selected = tuple(kind for kind in selected if kind != "searches")
    if output is not None and output.suffix == _SUFFIX and len(selected) > 1:
        raise click.UsageError(
            f"{output.name[:200]} is one file for {len(selected)} charts: name one with --kind, or a folder"
        )
    today = datetime.now(UTC).date()
    searches: SearchCounts = {}
    if "searches" in selected:
        searches = _read_searches(config, sources_file, organization, since or _FIRST_DAY, today)
    workspace = None if selected == ("searches",) else open_workspace(repo, branch)
    report = _build_report(workspace, ref, selected, since, today, searches)
    files = [] if output is None else _write_charts(find_folder(output), report.items)
    if as_json:
        _print_json(report, files)
        return Exit.DONE
    for file in files:
        # The path is printed as the user gave it.
        name = output if output is None or output.suffix == _SUFFIX else output / file.name
        click.echo(f"Wrote {name}.", err=True)
    _print_tables(report)
    return Exit.DONE


class _Report(NamedTuple):
    """The statistics of the selected kinds.

    `commit` is the counted commit, and `is_complete` is False if the time before the first period is unknown;
    they are None and True if neither documents nor tasks are selected.
    """

    items: Sequence[Statistic]
    commit: str | None
    is_complete: bool


def _build_report(
    workspace: Workspace | None,
    ref: str | None,
    kinds: Collection[str],
    since: date | None,
    today: date,
    searches: SearchCounts,
) -> _Report:
    """Return the statistics. `workspace` is None if only searches are selected."""
    from docyard.web.growth import count_growth
    from docyard.web.statistics import statistics

    items: list[Statistic] = []
    commit, is_complete = None, True
    first_day = since or _FIRST_DAY
    if workspace is not None and not {"documents", "tasks"}.isdisjoint(kinds):
        snapshot = workspace.at(ref)
        with console.show_progress("Counting") as progress:
            growth = count_growth(workspace, snapshot, since, progress)
        commit, is_complete = snapshot.commit, growth.is_complete
        if "documents" in kinds:
            items.append(statistics.build_documents(growth))
        if "tasks" in kinds:
            items.append(statistics.build_tasks(growth))
    if workspace is not None and not {"reviews", "merges"}.isdisjoint(kinds):
        times = workspace.review_times(workspace.proposal_actions().list_all())
        if "reviews" in kinds:
            items.append(statistics.build_review_times(times, first_day, today))
        if "merges" in kinds:
            items.append(statistics.build_merge_times(times, first_day, today))
    if "searches" in kinds:
        items.append(statistics.build_searches(searches, first_day, today))
    return _Report(items, commit, is_complete)


def _read_searches(
    config: Path | None, sources_file: Path | None, organization: str | None, first_day: date, today: date
) -> SearchCounts:
    """Return the recorded searches of each day. Raises the errors of `open_server_database`."""
    with open_server_database(config, sources_file) as database, database.connect() as connection:
        from docyard.records.summary import find_organization, read_daily_searches

        organization_id = find_organization(connection, organization)
        return read_daily_searches(connection, organization_id, first_day, today)


def _write_charts(output: Path, items: Sequence[Statistic]) -> list[Path]:
    """Write a chart of each statistic, and return the files. Raises CommandError."""
    from docyard.web.charts import render_svg_file
    from index.storage.files import write_atomically

    files: list[Path] = []
    try:
        if output.suffix != _SUFFIX:
            output.mkdir(parents=True, exist_ok=True)
        for item in items:
            file = output if output.suffix == _SUFFIX else output / f"{item.kind.value}{_SUFFIX}"
            write_atomically(file, render_svg_file(item.chart))
            files.append(file)
    except OSError as error:
        raise CommandError(
            f"the chart cannot be written: {error.strerror or type(error).__name__}",
            fix="Name a folder that you may write with --output, or a file in one.",
        ) from error
    return files


def _print_json(report: _Report, files: Sequence[Path]) -> None:
    console.print_json(
        {
            "commit": report.commit,
            "complete": report.is_complete,
            "statistics": [
                {
                    "kind": item.kind.value,
                    "unit": item.unit.value,
                    "title": item.chart.title,
                    "description": item.chart.description,
                    "values": item.data,
                }
                for item in report.items
            ],
            "files": [str(file) for file in files],
        }
    )


def _print_tables(report: _Report) -> None:
    if not report.is_complete:
        click.echo(
            "The earlier history is unknown: this clone is shallow, or has more than 100,000 commits.",
            err=True,
        )
    for number, item in enumerate(report.items):
        if number:
            click.echo()
        click.echo(f"{item.chart.title}: {item.chart.description}")
        if item.rows:
            unit = "week of" if item.unit == "week" else item.unit.value
            console.print_table((unit, *(column.lower() for column in item.columns)), item.rows)
