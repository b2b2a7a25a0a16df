"""The progress of a section's tasks, for the task tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.arguments import InvalidArguments, resolve_target
from tools.next_steps import suggest_view_call
from tools.outline import count_progress, describe_task
from tools.tool import NextStep
from workspace.document.addresses import read_fragment, resolve_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.tool import Context, Data
    from workspace.document.document import Document
    from workspace.document.sections import Section
    from workspace.document.tasks import Task
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult


def resolve_task_target(context: Context, file: str | None, slug: str | None) -> tuple[str, str]:
    """Return the path and slug of a task. Raises InvalidArguments if the path or the slug is missing."""
    if not file:
        raise InvalidArguments("'file' is missing", fix="Give the path of the document.", field="file")
    path, fragment = resolve_target(context.snapshot(), file, slug)
    if not fragment:
        raise InvalidArguments("'slug' is missing", fix="Name a task, such as tasks[0].", field="slug")
    return path, fragment


def describe_progress(result: WriteResult, step: PlanStep) -> Data:
    """Return the progress of the changed section, and its next open task; empty without such a section."""
    location = _find_section(result, step)
    if location is None:
        return {}
    document, section = location
    tasks = document.tasks(section)
    next_task = find_next_open_task(document, section)
    return {
        "progress": count_progress(tasks),
        "next_task": describe_task(section, next_task) if next_task else None,
    }


def find_next_open_task(document: Document, section: Section) -> Task | None:
    """Return the first open task without open sub-tasks in a section, or None if there is none."""
    open_tasks = [task for task in document.tasks(section) if not task.is_done]
    return next(
        (
            task
            for task in open_tasks
            if not any(other_task.index.startswith(f"{task.index}.") for other_task in open_tasks)
        ),
        None,
    )


def suggest_next_task(context: Context, result: WriteResult, steps: Sequence[PlanStep]) -> NextStep:
    """Return a next step: to complete the next open task, else to view the progress.

    If no operation succeeded, the step is to correct the failed operations.
    """
    for step in reversed(steps):
        location = _find_section(result, step)
        if location is None or step.outcome is None:
            continue
        document, section = location
        next_task = find_next_open_task(document, section)
        if next_task:
            hint = " or view_document for progress" if context.offers("view_document") else ""
            return NextStep(f"Complete {section.key}[{next_task.index}]{hint}")
        view = suggest_view_call(context, document.path)
        step_parts = ("View progress with ", view, ": all") if view else ("All",)
        return NextStep(*step_parts, f" tasks of {section.key} are done")
    return NextStep("Fix the failed operations and send them again")


def _find_section(result: WriteResult, step: PlanStep) -> tuple[Document, Section] | None:
    if step.outcome is None:
        return None
    document = result.document(step.outcome.path)
    slug = step.outcome.result.get("slug")
    if document is None or not isinstance(slug, str):
        return None
    return document, resolve_section(document, read_fragment(slug).section)
