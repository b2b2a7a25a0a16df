"""The board of `docyard tasks list --board`: a column of tasks for each state."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from docyard.environment import is_terminal
from docyard.terminal import console, styles

if TYPE_CHECKING:
    from collections.abc import Container
    from datetime import datetime

    from rich.text import Text

    from workspace.task_graph import TaskEntry, TaskGraph, TaskState

_MIN_COLUMN_WIDTH = 18
_STYLES = {
    "ready": styles.PASSED,
    "claimed": styles.NOTE,
    "waiting": styles.WARNING,
    "blocked": styles.FAILED,
    "done": styles.MUTED,
}


def group_tasks(
    graph: TaskGraph,
    open_tasks: Sequence[TaskEntry],
    time: datetime,
    *,
    paths: Container[str],
    document_type: str | None,
    owner: str | None,
) -> Mapping[TaskState, Sequence[TaskEntry]]:
    """Return the open tasks, and the done tasks that match, by state in the order of the columns."""
    from docyard.web.planning.tasks import STATE_LABELS
    from workspace.task_graph import TaskState

    columns: dict[TaskState, list[TaskEntry]] = {state: [] for state in STATE_LABELS}
    for task in open_tasks:
        columns[graph.get_state(task, time)].append(task)
    columns[TaskState.DONE] += (
        task
        for task in graph.tasks
        if task.is_done
        and task.path in paths
        and document_type in (None, task.document_type)
        and (owner is None or task.is_owned_by(owner, time))
    )
    return columns


def board_to_data(
    graph: TaskGraph, columns: Mapping[TaskState, Sequence[TaskEntry]], limit: int, time: datetime
) -> list[dict[str, Any]]:
    """Return the columns, each with at most `limit` tasks; 0 is no limit."""
    from tools.planning.list_tasks import describe_task_entry

    return [
        {
            "state": state.value,
            "tasks": [describe_task_entry(graph, task, time) for task in tasks[: limit or None]],
            "total": len(tasks),
        }
        for state, tasks in columns.items()
    ]


def print_board(columns: Mapping[TaskState, Sequence[TaskEntry]], limit: int) -> None:
    """Print the columns that have tasks, with at most `limit` tasks in each; 0 is no limit.

    If the terminal is too narrow for them, they are printed below each other. In a pipe, each task is a row
    of tab-separated cells.
    """
    shown_columns = {state: tasks for state, tasks in columns.items() if tasks}
    if not is_terminal(sys.stdout):
        rows = [
            (state.value, task.address, task.title)
            for state, tasks in shown_columns.items()
            for task in tasks[: limit or None]
        ]
        console.print_table((), rows)
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    screen = console.create_console()
    if not shown_columns:
        screen.print("There are no tasks.")
        return
    is_narrow = screen.width < _MIN_COLUMN_WIDTH * len(shown_columns)
    tables = [[state] for state in shown_columns] if is_narrow else [list(shown_columns)]
    for states in tables:
        table = Table(box=SIMPLE_HEAD, expand=True, padding=(0, 1))
        for state in states:
            table.add_column(_format_label(state, len(shown_columns[state])), ratio=1, overflow="fold")
        cards = ([*_format_cards(shown_columns[state], limit)] for state in states)
        for row in zip_longest(*cards, fillvalue=Text()):
            table.add_row(*row)
        screen.print(table)


def _format_label(state: TaskState, count: int) -> Text:
    from rich.text import Text

    from docyard.web.planning.tasks import STATE_LABELS

    return Text(f"{STATE_LABELS[state]} {count:,}", f"bold {_STYLES[state.value]}")


def _format_cards(tasks: Sequence[TaskEntry], limit: int) -> list[Text]:
    """Return a text for each task, and one for the number of omitted tasks."""
    from rich.text import Text

    from workspace.escapes import escape_invisible

    cards = []
    for task in tasks[: limit or None]:
        card = Text(escape_invisible(task.title), styles.MUTED if task.is_done else "")
        if task.owner:
            card.append(f" @{escape_invisible(task.owner)}", styles.ADDRESS)
        cards.append(card.append(f"\n{escape_invisible(task.address)}\n", styles.MUTED))
    if limit and len(tasks) > limit:
        cards.append(Text(f"and {len(tasks) - limit:,} more: --limit 0 shows all", styles.MUTED))
    return cards
