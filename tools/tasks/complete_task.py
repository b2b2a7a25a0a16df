"""complete_task: ticks a task, with the date and a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import read_arguments, select_requested_fields
from tools.examples import correct_task
from tools.next_steps import suggest_list_call
from tools.task_progress import describe_progress, resolve_task_target, suggest_next_task
from tools.tool import Answer, NextStep, Tool
from tools.writer import WriteFields, Writer, select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context
    from workspace.edits.operation import Operation


class CompleteTaskArguments(WriteFields):
    """The input of complete_task."""

    file: str | None = None
    slug: str | None = Field(None, description="tasks[0], sub-task tasks[0.1]")
    note: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "single": "Call with {file, slug, note?}; slug is a task: SECTION[N], counted from 0",
        "batch": "Call with {operations: [{file, slug, note?}, ...]}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "file": "search-api.md",
        "slug": "tasks[0]",
        **select_example_arguments(arguments, ("file", "slug", "note")),
    }


def _run(context: Context, arguments: CallArguments) -> Answer:
    if not select_requested_fields(arguments):
        listing = suggest_list_call(context, has_open_tasks=True)
        step = (
            NextStep("See documents with open tasks with ", listing)
            if listing
            else NextStep("Call with the file and slug of a task")
        )
        return Answer(
            {"usage": dict(_usage(arguments)), "commit": context.workspace.tip(), "next_step": step}
        )
    return WRITER.run(context, arguments)


def _build_operation(context: Context, item: CallArguments) -> Operation:
    from workspace.edits.tasks import CompleteTask

    request = read_arguments(CompleteTaskArguments, item)
    file, slug = resolve_task_target(context, request.file, request.slug)
    return CompleteTask(file=file, slug=slug, note=request.note)


TOOL = Tool(
    name="complete_task",
    title="Complete a task",
    toolset="tasks",
    description="Tick a task and date it.",
    arguments=CompleteTaskArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_task,
    writes=True,
)

WRITER = Writer(
    tool=lambda: TOOL,
    build=_build_operation,
    success_fields={},
    next_step=suggest_next_task,
    build_extra_fields=describe_progress,
)
