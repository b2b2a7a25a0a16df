"""`docyard admin erase`: the removal of a leaked secret, or of a person, from records and indexes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from docyard import environment
from docyard.cli.server_database import (
    list_server_repositories,
    open_server_database,
    read_engine_options,
    server_database,
)
from docyard.commands import options
from docyard.open_workspace import find_folder, open_workspace
from docyard.terminal import console
from docyard.terminal.exits import CommandError, Exit
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.records.erasure import ErasedRecords
    from workspace.history.occurrences import Occurrences

_MAX_LISTED = 200
_MIN_CHARACTERS = 4


class _RepositoryReport(NamedTuple):
    """The result for a repository: its finds and its rebuilt index, or the reason why it cannot be read."""

    folder: Path
    occurrences: Occurrences | None
    is_index_rebuilt: bool
    reason: str | None


@click.command(name="erase")
@click.option("--text", metavar="TEXT", help="The text to remove; - reads it from standard input.")
@click.option(
    "--person", metavar="KEY", help="The principal to remove, such as user:ISSUER#SUBJECT or address:IP."
)
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option(
    "-C",
    "--repo",
    "repositories",
    metavar="PATH",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A repository to search, too. Can be repeated.",
)
@server_database
@options.as_json
def command(
    text: str | None,
    person: str | None,
    dry_run: bool,
    repositories: tuple[Path, ...],
    config: Path | None,
    sources_file: Path | None,
    as_json: bool,
) -> int:
    """Remove a leaked secret or a person from the records, reports, notifications, indexes and vectors.

    For a text, the repositories of the namespaces and of -C are searched, too. A namespace with a URL or an
    artifact is not, and is listed: name a clone of its repository with -C. The command lists the commits that
    contain the text: only a rewrite of the history removes it from them. It never rewrites a history.
    Exits with 1 if the text remains somewhere.

    \b
    Example:
        docyard admin erase --text - --config server.toml < secret.txt
        docyard admin erase --person "user:https://login.example.org#248289" --dry-run
    """
    if (text is None) == (person is None):
        raise click.UsageError("give either --text or --person")
    if text == "-":
        text = sys.stdin.read().strip("\r\n")
    if text is not None and len(text.strip()) < _MIN_CHARACTERS:
        raise CommandError(
            f"the text has fewer than {_MIN_CHARACTERS} characters, and would match too much",
            fix="Name a longer text.",
        )
    has_database = config is not None or sources_file is not None or person is not None or not repositories
    records = _erase_records(text, person, config, sources_file, dry_run) if has_database else None
    folders = [find_folder(folder) for folder in repositories]
    unread_places: list[str] = []
    if text is not None and has_database:
        server_folders, unread_places = list_server_repositories(config, sources_file)
        folders += [folder for folder in server_folders if folder not in folders]
    reports = [_erase_from_repository(folder, text, dry_run) for folder in folders] if text else []
    remains = any(report.occurrences and report.occurrences.commits for report in reports)
    if as_json:
        console.print_json(_build_data(records, reports, unread_places, dry_run))
    else:
        for line in _format_lines(records, reports, unread_places, dry_run):
            click.echo(line)
    has_failed = any(report.reason for report in reports) or bool(unread_places)
    return Exit.PROBLEMS if remains or has_failed else Exit.DONE


def _erase_records(
    text: str | None, person: str | None, config: Path | None, sources_file: Path | None, dry_run: bool
) -> ErasedRecords:
    from docyard.records.erasure import count_person, count_text, erase_person, erase_text
    from docyard.records.questions import HashKeys

    with open_server_database(config, sources_file) as database:
        if text is not None:
            keys = HashKeys(read_engine_options(config if sources_file is None else None))
            return count_text(database, text, keys) if dry_run else erase_text(database, text, keys)
        assert person is not None
        return count_person(database, person) if dry_run else erase_person(database, person)


def _erase_from_repository(folder: Path, text: str, dry_run: bool) -> _RepositoryReport:
    """Search the history of a repository, and rebuild its index and vectors."""
    from index.service import SearchIndex
    from workspace.history.occurrences import find_occurrences

    try:
        workspace = open_workspace(folder, None, read_only=True, checks_settings=False)
        occurrences = find_occurrences(workspace.git, text)
        if dry_run:
            return _RepositoryReport(folder, occurrences, False, None)
        index = SearchIndex(workspace, engine=environment.read_engine_options())
        try:
            index.erase()
        finally:
            index.close()
    except WorkspaceError as error:
        return _RepositoryReport(folder, None, False, error.message)
    return _RepositoryReport(folder, occurrences, True, None)


def _build_data(
    records: ErasedRecords | None,
    reports: Sequence[_RepositoryReport],
    unread_places: Sequence[str],
    dry_run: bool,
) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "records": None if records is None else records._asdict(),
        "repositories": [
            {
                "repository": str(report.folder),
                "index_rebuilt": report.is_index_rebuilt,
                "error": report.reason,
                **(
                    {
                        "commits": [item._asdict() for item in report.occurrences.commits],
                        "refs": [{"ref": ref, "path": path} for ref, path in report.occurrences.refs],
                        "unreadable": report.occurrences.unreadable_count,
                    }
                    if report.occurrences is not None
                    else {}
                ),
            }
            for report in reports
        ],
        "not_searched": list(unread_places),
    }


def _format_lines(
    records: ErasedRecords | None,
    reports: Sequence[_RepositoryReport],
    unread_places: Sequence[str],
    dry_run: bool,
) -> Iterator[str]:
    from workspace.escapes import escape_invisible

    verb = "Would remove" if dry_run else "Removed"
    if records is not None:
        counts = f"{records.searches:,} searches, {records.calls:,} calls, {records.reports:,} reports"
        yield f"{verb} {counts} and {records.notifications:,} notifications."
        if records.audit_entries:
            yield f"{records.audit_entries:,} entries of the audit log stay, because they are chained."
        yield "Backups of the database still contain them."
    for report in reports:
        if report.occurrences is None:
            yield f"{report.folder}: not searched: {report.reason}"
            continue
        index_state = "index and vectors are rebuilt" if report.is_index_rebuilt else "index is unchanged"
        yield f"{report.folder}: {index_state}"
        for ref, path in report.occurrences.refs[:_MAX_LISTED]:
            yield escape_invisible(f"  still in {ref}: {path}")
        if report.occurrences.commits:
            yield "  only a rewrite of the history removes it from these commits:"
        for item in report.occurrences.commits[:_MAX_LISTED]:
            yield escape_invisible(f"    {item.commit} {item.path or '(the message or the author)'}")
        if (rest := len(report.occurrences.commits) - _MAX_LISTED) > 0:
            yield f"    and {rest:,} more: --json lists all"
        if report.occurrences.unreadable_count:
            yield f"  {report.occurrences.unreadable_count:,} objects could not be read"
    for place in unread_places:
        yield f"not searched: {place}; name a clone of its repository with -C"
