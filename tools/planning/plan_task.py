"""plan_task: writes what a task waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import Strings, read_arguments, select_requested_fields
from tools.examples import correct_task
from tools.task_progress import resolve_task_target
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import WriteFields, Writer, select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.edits.operation import Operation
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult


class PlanTaskArguments(WriteFields):
    """The input of plan_task."""

    file: str | None = None
    slug: str | None = None
    depends_on: Strings | None = Field(None, description="Tasks to do first: file#id, or file#tasks[0]")
    remove: Strings | None = Field(None, description="Dependencies to remove")
    blocked: str | None = Field(None, description="Reason to wait; empty: none")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "dependencies": "Call with {file, slug, depends_on: [...]}; a task without an id gets one",
        "remove": "Call with {file, slug, remove: [...]}",
        "blocked": "Call with {file, slug, blocked}; an empty text removes the reason",
        "batch": "Call with {operations: [{file, slug, depends_on?, remove?, blocked?}, ...]}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    values = select_example_arguments(arguments, ("file", "slug", "blocked"))
    return {"file": "search-api.md", "slug": "tasks[1]", "depends_on": ["#tasks[0]"], **values}


def _run(context: Context, arguments: CallArguments) -> Answer:
    if not select_requested_fields(arguments):
        data = {"usage": dict(_usage(arguments)), "commit": context.workspace.tip()}
        return Answer({**data, "next_step": NextStep("Find a task with ", call("list_tasks"))})
    return WRITER.run(context, arguments)


def _build_operation(context: Context, item: CallArguments) -> Operation:
    from workspace.edits.task_plan import PlanTask

    request = read_arguments(PlanTaskArguments, item)
    file, slug = resolve_task_target(context, request.file, request.slug)
    return PlanTask(
        file=file,
        slug=slug,
        depends_on=tuple(request.depends_on or ()),
        remove=tuple(request.remove or ()),
        blocked=request.blocked,
    )


def _suggest_next_step(context: Context, result: WriteResult, steps: Sequence[PlanStep]) -> NextStep:
    if any(step.outcome for step in steps):
        return NextStep("See which tasks can be done now: ", call("list_tasks", ready=True))
    return NextStep("Fix the failed operations and send them again")


TOOL = Tool(
    name="plan_task",
    title="Plan a task",
    toolset="planning",
    description="Write what a task waits for: other tasks, or a reason.",
    arguments=PlanTaskArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_task,
    writes=True,
    destructive=True,
)

WRITER = Writer(tool=lambda: TOOL, build=_build_operation, success_fields={}, next_step=_suggest_next_step)
