"""list_tasks: lists the open tasks of the workspace. Those on which most tasks depend come first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import WITHOUT_DEFAULT, Boolean, Integer, ReadingArguments, read_arguments
from tools.examples import correct_path
from tools.pages import build_list_page
from tools.read_context import ReadContext, list_paths, normalize_folder
from tools.tool import Answer, Data, NextStep, Tool, call
from tools.writer import select_example_arguments
from workspace.document.tasks import CLAIM_TIME_FORMAT
from workspace.task_graph import TaskState, select_tasks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.task_graph import TaskEntry, TaskGraph

DEFAULT_LIMIT = 50
MAX_LIMIT = 200
_MAX_WAITED_TASKS = 10
_MAX_CIRCLES = 5


class ListTasksArguments(ReadingArguments):
    """The input of list_tasks."""

    path: str = Field(".", json_schema_extra=WITHOUT_DEFAULT)
    type: str | None = Field(None, description="Of the documents")
    owner: str | None = Field(None, description="Assignee, or who claims it")
    ready: Boolean | None = Field(None, description="Can be done now")
    blocked: Boolean | None = Field(None, description="Blocked, or waiting for a task")
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, json_schema_extra=WITHOUT_DEFAULT)
    cursor: str | None = None
    ref: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "ready": "Call with {ready: true} for tasks that can be done now",
        "blocked": "Call with {blocked: true} for tasks that wait, and what they wait for",
        "filters": "Add path (a folder or a document), type or owner",
        "ref": "Add ref to list a branch, tag, commit or @{date} instead of the tip",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"ready": True, **select_example_arguments(arguments, ("path", "type", "owner", "ref"))}


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(ListTasksArguments, arguments)
    read_context = ReadContext.at(context, request.ref)
    snapshot = read_context.snapshot
    folder = normalize_folder(request.path)
    paths = frozenset(list_paths(snapshot, folder))
    graph = context.workspace.task_graph(snapshot, context.progress)
    time = datetime.now(UTC)
    tasks = select_tasks(
        graph,
        time,
        paths=paths,
        document_type=request.type,
        owner=request.owner,
        ready=request.ready,
        blocked=request.blocked,
    )
    criteria = [folder, request.type, request.owner, request.ready, request.blocked]
    page = build_list_page(
        tasks,
        lambda task: describe_task_entry(graph, task, time),
        cursor=request.cursor,
        version=snapshot.tree,
        criteria=criteria,
        limit=request.limit,
        keys=context.signing_keys,
        tokens=context.text_tokens,
    )
    data: Data = {"tasks": page.entries, "total": len(tasks), "commit": snapshot.commit}
    if page.next_cursor:
        data["next_cursor"] = page.next_cursor
    if graph.circles and not request.ready:
        data["circles"] = [[task.address for task in circle] for circle in graph.circles[:_MAX_CIRCLES]]
    if graph.unreadable_paths:
        data["hints"] = [f"documents whose tasks cannot be read: {', '.join(graph.unreadable_paths[:3])}"]
    data["next_step"] = _suggest_next_step(read_context, graph, tasks, time)
    return Answer(data)


def describe_task_entry(graph: TaskGraph, task: TaskEntry, time: datetime) -> Data:
    """Return a task with its state, what it waits for, and how many tasks wait for it."""
    state = graph.get_state(task, time)
    data: Data = {
        "file": task.path,
        "slug": task.slug,
        "title": task.title,
        "state": state.value,
    }
    if task.id is not None:
        data["id"] = task.id
    if task.owner:
        data["assignee"] = task.owner
    if task.claim is not None and task.claim.is_valid_at(time):
        data["claimed_by"] = str(task.claim)
    if task.blocked:
        data["blocked"] = task.blocked
    if requirements := graph.list_open_requirements(task):
        data["waits_for"] = [item.address for item in requirements[:_MAX_WAITED_TASKS]]
        if len(requirements) > _MAX_WAITED_TASKS:
            data["waits_for_total"] = len(requirements)
    if missing := graph.list_missing_dependencies(task):
        data["unknown_dependencies"] = list(missing[:_MAX_WAITED_TASKS])
    if count := graph.count_waiting(task):
        data["waiting_tasks"] = count
    return data


def _suggest_next_step(
    read_context: ReadContext, graph: TaskGraph, tasks: Sequence[TaskEntry], time: datetime
) -> NextStep:
    ready_task = next((task for task in tasks if graph.get_state(task, time) is TaskState.READY), None)
    if ready_task is not None:
        if not read_context.context.offers("view_document"):
            return NextStep(f"Begin with the first task that can be done now: {ready_task.address}")
        return NextStep(
            "Read the first task that can be done now: ",
            read_context.call("view_document", file=ready_task.path, slug=ready_task.slug),
        )
    claims = [task.claim for task in tasks if graph.get_state(task, time) is TaskState.CLAIMED]
    if tasks and len(claims) == len(tasks):
        end = min((claim.until for claim in claims if claim and claim.until), default=None)
        first_end = f"; the first claim ends at {end:{CLAIM_TIME_FORMAT}}" if end else ""
        return NextStep(f"All tasks of this list are claimed{first_end}")
    if tasks:
        return NextStep("No task of this list can be done now: see what they wait for, and do that first")
    if any(not task.is_done for task in graph.tasks):
        return NextStep("No open task matches: ", call("list_tasks"), " lists all")
    return NextStep("There are no open tasks")


TOOL = Tool(
    name="list_tasks",
    title="List tasks",
    toolset="planning",
    description="List the open tasks of all documents. Tasks on which most other tasks depend come first.",
    arguments=ListTasksArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_path,
)
