"""The page of tasks: a board with a column for each state, or a list with filters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from docyard.web.documents.task_boxes import build_task_form
from tools.read_context import list_paths, normalize_folder
from workspace.document.addresses import read_fragment
from workspace.task_graph import TaskState, select_tasks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.task_graph import TaskEntry, TaskGraph

CARDS_PER_COLUMN = 30
"""The maximum number of tasks in a column of the board."""

TASKS_PER_PAGE = 50
"""The number of tasks on a page of the list."""

STATE_LABELS = {
    TaskState.READY: "Ready",
    TaskState.CLAIMED: "In work",
    TaskState.WAITING: "Waiting",
    TaskState.BLOCKED: "Blocked",
    TaskState.DONE: "Done",
}
_STATE_TAGS = {TaskState.READY: "good", TaskState.WAITING: "", TaskState.BLOCKED: "warn"}
_MAX_REQUIREMENTS = 3
_MAX_CIRCLES = 5


class TaskCard(NamedTuple):
    """A task on the page. `requirements` are the first open tasks for which it waits.

    `section` is the address of its section. `waiting_count` is the number of open tasks that wait for it.
    """

    task: TaskEntry
    state: TaskState
    section: str
    requirements: Sequence[tuple[TaskEntry, str]]
    more_requirements: int
    unknown_dependencies: Sequence[str]
    waiting_count: int

    @property
    def label(self) -> str:
        """The name of the state."""
        return STATE_LABELS[self.state]

    @property
    def tag(self) -> str:
        """The class of the state's tag."""
        return _STATE_TAGS.get(self.state, "")


class TaskColumn(NamedTuple):
    """A column of the board: its first tasks, and the number of all."""

    state: TaskState
    label: str
    cards: Sequence[TaskCard]
    total: int


def render_tasks_page(request: PageRequest) -> Response:
    """Return the board, or the list with `view=list`.

    `owner` and `path` select tasks, and `state` those of the list. Raises DocumentNotFound for a folder
    without documents.
    """
    query, snapshot = request.query, request.snapshot
    folder = normalize_folder(query.get("path", ""))
    paths = frozenset(list_paths(snapshot, folder)) if folder else None
    owner = query.get("owner", "").strip() or None
    graph = request.workspace.task_graph(snapshot)
    time = datetime.now(UTC)
    tasks = select_tasks(graph, time, paths=paths, owner=owner)
    done_tasks = [
        task
        for task in graph.tasks
        if task.is_done
        and (paths is None or task.path in paths)
        and (owner is None or task.is_owned_by(owner, time))
    ]
    tasks_by_state: dict[TaskState, list[TaskEntry]] = {state: [] for state in STATE_LABELS}
    for task in tasks:
        tasks_by_state[graph.get_state(task, time)].append(task)
    tasks_by_state[TaskState.DONE] = done_tasks
    is_list = query.get("view") == "list"
    state = query.get("state") if is_list and query.get("state") in set(TaskState) else None
    listed_tasks = tasks_by_state[TaskState(state)] if state else tasks
    filters = {"owner": owner, "path": folder or None}
    shown_state = state if is_list else None
    return_query = urlencode(
        {
            name: value
            for name, value in {"view": "list" if is_list else None, "state": shown_state, **filters}.items()
            if value
        }
    )
    values: dict[str, Any] = {
        "task_form": build_task_form(request, return_query=return_query),
        "filters": filters,
        "labels": {state.value: label for state, label in STATE_LABELS.items()},
        "total": len(tasks),
        "done_total": len(done_tasks),
        "has_tasks": bool(graph.tasks),
        "circles": _select_circles(graph, listed_tasks)[:_MAX_CIRCLES],
        "unreadable_paths": graph.unreadable_paths,
    }
    if not is_list:
        columns = [
            TaskColumn(
                state,
                STATE_LABELS[state],
                [_build_card(graph, task, time) for task in items[:CARDS_PER_COLUMN]],
                len(items),
            )
            for state, items in tasks_by_state.items()
        ]
        return request.page("tasks.html", view="board", columns=columns, state=None, **values)
    page = request.select_page(listed_tasks, TASKS_PER_PAGE)
    cards = [_build_card(graph, task, time) for task in page.items]
    return request.page("tasks.html", view="list", cards=cards, state=state, page=page, **values)


def _select_circles(graph: TaskGraph, tasks: Sequence[TaskEntry]) -> list[Sequence[TaskEntry]]:
    """Return the circles of dependencies that contain one of the tasks."""
    addresses = {task.address for task in tasks}
    return [circle for circle in graph.circles if not addresses.isdisjoint(task.address for task in circle)]


def _build_card(graph: TaskGraph, task: TaskEntry, time: datetime) -> TaskCard:
    requirements = graph.list_open_requirements(task)
    return TaskCard(
        task,
        graph.get_state(task, time),
        read_section_key(task.slug),
        [(item, read_section_key(item.slug)) for item in requirements[:_MAX_REQUIREMENTS]],
        max(0, len(requirements) - _MAX_REQUIREMENTS),
        () if task.is_done else graph.list_missing_dependencies(task)[:_MAX_REQUIREMENTS],
        graph.count_waiting(task),
    )


def read_section_key(slug: str) -> str:
    """Return the section of a task's address."""
    return read_fragment(slug).section
