"""`docyard tasks list`: the open tasks of all documents."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from docyard.cli import completion
from docyard.commands import options
from docyard.commands.tasks.board import board_to_data, group_tasks, print_board
from docyard.open_workspace import open_workspace
from docyard.terminal import console
from docyard.terminal.exits import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workspace.task_graph import TaskEntry, TaskGraph

_MAX_SHOWN_REQUIREMENTS = 3


@click.command(name="list")
@click.argument("folder", metavar="[FOLDER]", default=".", shell_complete=completion.complete_addresses)
@click.option("--ready", is_flag=True, help="List only the tasks that can be done now.")
@click.option("--blocked", is_flag=True, help="List only the tasks that are blocked or wait for another one.")
@click.option(
    "--owner",
    metavar="NAME",
    shell_complete=completion.complete_owners,
    help="List only the tasks of this assignee, or claimed by this name.",
)
@click.option(
    "--type",
    "document_type",
    metavar="TYPE",
    shell_complete=completion.complete_types,
    help="List only tasks in documents of this type.",
)
@click.option("--board", is_flag=True, help="Show a column for each state, with the done tasks, too.")
@options.limit("tasks", 50)
@options.repository
@options.branch
@options.ref("The branch, tag, commit or @{date} to read. [default: the branch's tip]")
@options.as_json
def command(
    folder: str,
    ready: bool,
    blocked: bool,
    owner: str | None,
    document_type: str | None,
    board: bool,
    limit: int,
    repo: Path | None,
    branch: str | None,
    ref: str | None,
    as_json: bool,
) -> int:
    """List the open tasks of all documents. Tasks on which most other tasks depend come first.

    FOLDER is a folder or a document of the workspace. A task waits for its open sub-tasks, and for the open
    tasks that its field `Depends on` names. A limit of --board is that of each column.

    \b
    Example:
        docyard tasks list --ready
        docyard tasks list plans --owner ana --json
        docyard tasks list --board
    """
    from tools.planning.list_tasks import describe_task_entry
    from tools.read_context import list_paths, normalize_folder
    from workspace.task_graph import select_tasks

    if ready and blocked:
        raise click.UsageError("--ready and --blocked exclude each other")
    if board and (ready or blocked):
        raise click.UsageError("--board shows all states: omit --ready and --blocked")
    workspace = open_workspace(repo, branch)
    snapshot = workspace.at(ref)
    paths = frozenset(list_paths(snapshot, normalize_folder(folder)))
    with console.show_progress("Reading tasks") as progress:
        graph = workspace.task_graph(snapshot, progress)
    time = datetime.now(UTC)
    tasks = select_tasks(
        graph,
        time,
        paths=paths,
        document_type=document_type,
        owner=owner,
        ready=True if ready else None,
        blocked=True if blocked else None,
    )
    shown_tasks = tasks[: limit or None]
    for path in graph.unreadable_paths:
        click.echo(f"{path} is skipped: its tasks cannot be read", err=True)
    if board:
        columns = group_tasks(graph, tasks, time, paths=paths, document_type=document_type, owner=owner)
        if as_json:
            data = board_to_data(graph, columns, limit, time)
            console.print_json({"columns": data, "commit": snapshot.commit})
        else:
            print_board(columns, limit)
    elif as_json:
        console.print_json(
            {
                "tasks": [describe_task_entry(graph, task, time) for task in shown_tasks],
                "total": len(tasks),
                "complete": len(shown_tasks) == len(tasks),
                "circles": [[task.address for task in circle] for circle in graph.circles],
                "commit": snapshot.commit,
            }
        )
    else:
        _print_tasks(graph, shown_tasks, len(tasks), time)
    return Exit.PROBLEMS if graph.unreadable_paths else Exit.DONE


def _print_tasks(graph: TaskGraph, tasks: Sequence[TaskEntry], total: int, time: datetime) -> None:
    if tasks:
        console.print_column_titles(f"{'state':<8}address  task")
    for task in tasks:
        state, details = graph.get_state(task, time), _format_details(graph, task, time)
        click.echo(f"{state.value:<8}{task.address}  {task.title}{details}")
    if not total:
        click.echo("No open task matches." if graph.tasks else "There are no tasks.")
    elif len(tasks) < total:
        click.echo(f"{total - len(tasks):,} more: --limit 0 lists all.")
    for circle in graph.circles:
        click.echo(f"A circle of dependencies: {', '.join(task.address for task in circle)}")


def _format_details(graph: TaskGraph, task: TaskEntry, time: datetime) -> str:
    """Return the owner of a task, the reason why it cannot be done now, and how many tasks wait for it."""
    requirements = [item.address for item in graph.list_open_requirements(task)]
    requirements += [f"{name} (unknown)" for name in graph.list_missing_dependencies(task)]
    details = []
    if task.owner:
        details.append(f"for {task.owner}")
    if task.claim is not None and task.claim.is_valid_at(time):
        details.append(f"claimed by {task.claim}")
    if task.blocked:
        details.append(f"blocked: {task.blocked}")
    if requirements:
        rest = len(requirements) - _MAX_SHOWN_REQUIREMENTS
        more = f" and {rest} more" if rest > 0 else ""
        details.append(f"waits for {', '.join(requirements[:_MAX_SHOWN_REQUIREMENTS])}{more}")
    if count := graph.count_waiting(task):
        details.append(f"{count:,} {'waits' if count == 1 else 'wait'} for it")
    return f" ({'; '.join(details)})" if details else ""
