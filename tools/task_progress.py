"""What the task tools share: how a task is named, and how far its section is after a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.arguments import InvalidArguments, resolve_target
from tools.next_steps import view_call
from tools.outline import count_progress, task_data
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


def resolve_task(context: Context, file: str | None, slug: str | None) -> tuple[str, str]:
    """Return the path and slug of a task. Raises InvalidArguments where one is missing."""
    if not file:
        raise InvalidArguments("'file' is missing", fix="Give the path of the document.", field="file")
    path, fragment = resolve_target(context.snapshot(), file, slug)
    if not fragment:
        raise InvalidArguments("'slug' is missing", fix="Name a task, such as tasks[0].", field="slug")
    return path, fragment


def progress_after(written: WriteResult, step: PlanStep) -> Data:
    """Return the section's progress, and its next open task."""
    found = _section(written, step)
    if found is None:
        return {}
    document, section = found
    tasks = document.tasks(section)
    following = next_open(document, section)
    return {
        "progress": count_progress(tasks),
        "next_task": task_data(section, following) if following else None,
    }


def next_open(document: Document, section: Section) -> Task | None:
    """Return the first open task of a section that has no open task below it."""
    waiting = [task for task in document.tasks(section) if not task.is_done]
    return next(
        (task for task in waiting if not any(other.index.startswith(f"{task.index}.") for other in waiting)),
        None,
    )


def next_step_after(context: Context, written: WriteResult, done: Sequence[PlanStep]) -> NextStep:
    """Return the next open task, else a look at the whole."""
    for step in reversed(done):
        found = _section(written, step)
        if found is None or step.outcome is None:
            continue
        document, section = found
        following = next_open(document, section)
        if following:
            view = " or view_document for progress" if context.offers("view_document") else ""
            return NextStep(f"Complete {section.key}[{following.index}]{view}")
        look = view_call(context, document.path)
        parts = ("View progress with ", look, ": all") if look else ("All",)
        return NextStep(*parts, f" of {section.key} is done")
    return NextStep("Mend the operations that failed and send them again")


def _section(written: WriteResult, step: PlanStep) -> tuple[Document, Section] | None:
    if step.outcome is None:
        return None
    document = written.document(step.outcome.path)
    slug = step.outcome.answer.get("slug")
    if document is None or not isinstance(slug, str):
        return None
    return document, resolve_section(document, read_fragment(slug).section)
