"""Drifts at the command line: as text, and as Markdown for a pull request."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from docyard.wording import format_count, shorten_id
from workspace.diff.formats import escape_markdown, format_code_span
from workspace.escapes import escape_invisible
from workspace.history.commits import describe_commit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.git.reader import GitReader
    from workspace.history.drift import Drift, DriftFinder, DriftReport

_MAX_LISTED_FILES = 3
_MAX_READ_CHANGES = 100
_MAX_MARKDOWN_SECTIONS = 50


def print_drifts(
    finder: DriftFinder,
    git: GitReader,
    drifts: Sequence[Drift],
    report: DriftReport,
    max_commits: int,
    *,
    is_range: bool,
) -> None:
    """Print the selected drifts of a report: with the later commits, or with `is_range` with the files."""
    for drift in drifts:
        click.echo(escape_invisible(f"{drift.address}  {drift.title}"))
        if is_range:
            click.echo(f"  {escape_invisible(_format_files(finder, drift))}")
            continue
        for change in drift.changes[:max_commits]:
            info = describe_commit(git.commit(change.commit))
            line = f"{shorten_id(change.commit)}  {info.time:%Y-%m-%d}  {info.author_name}  {info.subject}"
            click.echo(escape_invisible(f"  {line}"))
        if len(drift.changes) > max_commits:
            click.echo(f"  and {format_count(len(drift.changes) - max_commits, 'earlier commit')}")
    if not report.covered_count:
        click.echo("No section names its code: write a list item `- Covers: src/**` in one.")
    elif not drifts:
        kind = "" if report.is_complete else "known "
        click.echo(f"No {kind}drift in {format_count(report.covered_count, 'covered section')}.")


def format_markdown(finder: DriftFinder, drifts: Sequence[Drift], *, since: str | None) -> str:
    """Return a list of sections and their changed code since a ref; an empty text without a drift.

    If `since` is None, the code changed after the text of each section.
    """
    if not drifts:
        return ""
    reason = (
        "This change changes the code that these sections describe, and leaves their text as it was:"
        if since is not None
        else "The code that these sections describe changed after their text:"
    )
    lines = ["### Sections that describe changed code", "", reason, ""]
    for drift in drifts[:_MAX_MARKDOWN_SECTIONS]:
        heading = f"{escape_markdown(drift.title)} ({format_code_span(drift.address)})"
        lines.append(f"- {heading}: {_format_files(finder, drift, as_markdown=True)}")
    if len(drifts) > _MAX_MARKDOWN_SECTIONS:
        command = "docyard drift" if since is None else f"docyard drift --since {since}"
        more_count = len(drifts) - _MAX_MARKDOWN_SECTIONS
        lines += ["", f"And {more_count:,} more: {format_code_span(command)}."]
    return escape_invisible("\n".join(lines) + "\n")


def _format_files(finder: DriftFinder, drift: Drift, *, as_markdown: bool = False) -> str:
    """Return the files that changed since the text, some of them by name."""
    files = _list_files(finder, drift)
    names = [format_code_span(file) if as_markdown else file for file in islice(files, _MAX_LISTED_FILES)]
    more = f" and {format_count(len(files) - len(names), 'more file')}" if len(files) > len(names) else ""
    return f"{', '.join(names)}{more}"


def _list_files(finder: DriftFinder, drift: Drift) -> Sequence[str]:
    """Return the covered files of the newest 100 changes, each once, the last changed first."""
    return list(
        dict.fromkeys(
            file
            for change in drift.changes[:_MAX_READ_CHANGES]
            for file in finder.list_changed_files(drift, change)
        )
    )
