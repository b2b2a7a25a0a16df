"""`docyard trace`: where identifiers are required, designed, tasked, done and tested."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.commands import options
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.config.tables import TraceSettings
    from workspace.trace import Trace, TraceMatrix

_STAGES = ("required", "designed", "tasked", "done", "tested")
_MAX_TITLE_CHARACTERS = 60


@click.command(name="trace")
@click.argument("id", metavar="[ID]", required=False)
@click.option("--missing", type=click.Choice(_STAGES), help="List only the identifiers that lack this stage.")
@click.option("--markdown", is_flag=True, help="Print the matrix as a Markdown table.")
@options.repository
@options.branch
@options.ref("The branch, tag, commit or @{date} to read. [default: the branch's tip]")
@options.as_json
def command(
    id: str | None,
    missing: str | None,
    markdown: bool,
    repo: Path | None,
    branch: str | None,
    ref: str | None,
    as_json: bool,
) -> int:
    """Show where identifiers such as REQ-12 are required, designed, tasked, done and tested.

    A heading or list item that begins with an identifier requires it. Other mentions are its design, its
    tasks, and its tests. `[trace]` in docyard.toml sets the prefixes of identifiers and the paths of stages.

    With ID, all places of one identifier are shown.

    \b
    Example:
        docyard trace
        docyard trace REQ-12
        docyard trace --missing tested --markdown
    """
    if id is not None and (missing or markdown):
        raise click.UsageError("ID excludes --missing and --markdown")
    if markdown and as_json:
        raise click.UsageError("--markdown and --json exclude each other: choose one")
    from tools.planning.view_trace import describe_row, describe_trace, find_trace, select_traces
    from workspace.trace import Stage

    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    with console.show_progress("Reading documents") as progress:
        matrix = workspace.trace_finder().find(snapshot, progress)
    for path in matrix.unreadable_paths:
        click.echo(f"{path} is skipped: it cannot be read", err=True)
    if id is not None:
        trace = find_trace(matrix, id, snapshot.config.trace)
        if as_json:
            console.print_json({**describe_trace(trace), "commit": snapshot.commit})
        else:
            _print_trace(trace)
        return Exit.DONE
    traces = select_traces(matrix, Stage(missing) if missing else None)
    if as_json:
        console.print_json({"traces": [describe_row(trace) for trace in traces], "commit": snapshot.commit})
    elif markdown:
        from docyard.cli.trace_report import format_matrix

        click.echo(format_matrix(traces), nl=False)
    else:
        _print_matrix(traces, matrix, snapshot.config.trace)
    return Exit.PROBLEMS if matrix.unreadable_paths else Exit.DONE


def _print_trace(trace: Trace) -> None:
    from workspace.escapes import escape_invisible
    from workspace.trace import Stage

    click.echo(escape_invisible(f"{trace.id}  {trace.title}".rstrip()))
    for stage in Stage:
        places = trace.places[stage]
        if not places and stage is not Stage.DONE:
            click.echo(f"  {stage.value:<9} -")
        for place in places:
            line = f"  {stage.value:<9} {place.address}:{place.line}  {place.title}"
            click.echo(escape_invisible(line.rstrip()))


def _print_matrix(traces: Sequence[Trace], matrix: TraceMatrix, settings: TraceSettings) -> None:
    from tools.planning.view_trace import explain_empty_matrix
    from workspace.trace import Stage

    if not traces:
        text = "No identifier lacks this stage" if matrix.traces else explain_empty_matrix(settings)
        click.echo(f"{text}.")
        return
    rows = [
        (
            trace.id,
            trace.title[:_MAX_TITLE_CHARACTERS],
            *(str(len(trace.places[stage])) for stage in Stage),
            ", ".join(stage.value for stage in trace.missing_stages),
        )
        for trace in traces
    ]
    console.print_table(("id", "title", *_STAGES, "missing"), rows)
