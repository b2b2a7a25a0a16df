"""reopen_task: unticks a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.arguments import read_arguments, select_requested_fields
from tools.examples import correct_task
from tools.task_progress import describe_progress, resolve_task_target, suggest_next_task
from tools.tool import Answer, NextStep, Tool
from tools.writer import WriteFields, Writer, select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.tool import CallArguments, Context
    from workspace.edits.operation import Operation


class ReopenTaskArguments(WriteFields):
    """The input of reopen_task."""

    file: str | None = None
    slug: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "single": "Call with {file, slug}; slug is a task: SECTION[N], counted from 0",
        "batch": "Call with {operations: [{file, slug}, ...]}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "file": "search-api.md",
        "slug": "tasks[0]",
        **select_example_arguments(arguments, ("file", "slug")),
    }


def _run(context: Context, arguments: CallArguments) -> Answer:
    if not select_requested_fields(arguments):
        step = "Call with the file and slug of a task"
        if context.offers("view_document"):
            step += "; view_document {file} shows a document's tasks"
        data = {"usage": dict(_usage(arguments)), "commit": context.workspace.tip()}
        return Answer({**data, "next_step": NextStep(step)})
    return WRITER.run(context, arguments)


def _build_operation(context: Context, item: CallArguments) -> Operation:
    from workspace.edits.tasks import ReopenTask

    request = read_arguments(ReopenTaskArguments, item)
    file, slug = resolve_task_target(context, request.file, request.slug)
    return ReopenTask(file=file, slug=slug)


TOOL = Tool(
    name="reopen_task",
    title="Reopen a task",
    toolset="tasks",
    description="Untick a task.",
    arguments=ReopenTaskArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_task,
    writes=True,
    destructive=True,
)

WRITER = Writer(
    tool=lambda: TOOL,
    build=_build_operation,
    success_fields={},
    next_step=suggest_next_task,
    build_extra_fields=describe_progress,
)
