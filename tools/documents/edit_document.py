"""edit_document: sections and tasks added, rewritten, renamed; one operation or a batch, one commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pydantic import Field, create_model

from tools.arguments import read, requested_fields, resolve_target
from tools.documents import edit_operations
from tools.documents.edit_operations import PLACEHOLDERS, complete_fields, with_existing_text
from tools.task_progress import progress_after
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import WriteFields, Writer, arguments_of
from workspace.document.section_text import read_whole_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import Context, Data, Given
    from workspace.edits import Operation
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult

_DESCRIPTIONS = {
    "operation": "; ".join(
        f"{name}: {edit_operations.describe_fields(name).removeprefix('file, ')}"
        for name in edit_operations.SPECIFICATIONS
    ),
    "file": "Path",
    "slug": "Section (endpoints/search; _preamble: introduction) or task (tasks[0])",
    "content": "Markdown; deeper headings become subsections",
    "parent_slug": "Parent; default: top level",
    "before": "Sibling it precedes",
    "after": "Sibling it follows",
    "criteria": "Done when; empty removes",
    "include_subsections": "Replace them too",
    "old": "Exact text",
    "new": "Replacement",
    "count": "Matches; default 1",
    "metadata": "null removes a key",
    "to_slug": "New parent",
}


def _describe_field(name: str, kind: Any) -> tuple[Any, Any]:
    return kind, Field(None, description=_DESCRIPTIONS.get(name))


EditDocumentArguments = create_model(
    "EditDocumentArguments",
    __base__=WriteFields,
    **cast(
        "Any",
        {
            name: _describe_field(name, kind)
            for name, kind in {"operation": str | None, **edit_operations.all_fields()}.items()
        },
    ),
)


def _usage(given: Given) -> Mapping[str, object]:
    operation = edit_operations.guess_operation(given)
    if operation is not None:
        return {"operation": operation, **edit_operations.SPECIFICATIONS[operation]}
    return {
        "discovery": "Call with {} to list operations and their fields",
        "single": "Call with {operation, file, ...fields}",
        "batch": "Call with {operations: [{operation, file, ...fields}, ...]}",
        "operations": {
            name: edit_operations.describe_fields(name) for name in edit_operations.SPECIFICATIONS
        },
    }


def _example(given: Given) -> dict[str, Any]:
    operation = edit_operations.guess_operation(given) or "add_section"
    names = [field.name for field in edit_operations.fields_of(operation)]
    return {"operation": operation, **complete_fields(operation, arguments_of(given, names))}


def _run(context: Context, given: Given) -> Answer:
    asked = requested_fields(given)
    if not asked:
        return Answer(
            {
                "operations": edit_operations.SPECIFICATIONS,
                "supports_batch": True,
                "commit": context.workspace.tip(),
                "next_step": NextStep(
                    "Call with an operation and its fields, or with several as operations: [...]"
                ),
            }
        )
    if set(asked) == {"operation"}:
        operation = edit_operations.resolve_operation(asked)
        return Answer(
            {
                "operation": operation,
                "fields": edit_operations.SPECIFICATIONS[operation],
                "about": (edit_operations.classes()[operation].__doc__ or "").strip().split("\n")[0],
                "commit": context.workspace.tip(),
                "next_step": NextStep("Call with these fields: ", call("edit_document", **_example(asked))),
            }
        )
    return WRITER.run(context, given)


def _build(context: Context, item: Given) -> Operation:
    checked = read(EditDocumentArguments, item).model_dump(exclude_unset=True)
    operation = edit_operations.resolve_operation(checked)
    values = {name: value for name, value in checked.items() if name != "operation"}
    fields = {field.name for field in edit_operations.fields_of(operation)}
    section = next((name for name in ("slug", "parent_slug") if name in fields), None)
    if section and isinstance(file := values.get("file"), str) and "#" in file:
        path, slug = resolve_target(context.snapshot(), file, values.get(section))
        values["file"] = path
        if slug:
            values[section] = slug
    return edit_operations.build(operation, values)


def _enrich(written: WriteResult, step: PlanStep) -> Data:
    """Return how far a section is after its tasks changed."""
    return progress_after(written, step) if step.outcome and "task_index" in step.outcome.answer else {}


def _next_step(context: Context, written: WriteResult, done: Sequence[PlanStep]) -> NextStep:
    last = next((step.outcome for step in reversed(done) if step.outcome), None)
    if last is None:
        return NextStep("Mend the operations that failed and send them again")
    failed = len(written.steps) - len(done)
    if failed:
        return NextStep(f"Mend the {failed} that failed, as each one's error says, and send only them again")
    if last.answer.get("removed") == "task":
        return NextStep(
            "See what is left with ", call("view_document", file=last.path, slug=last.answer["slug"])
        )
    task = last.answer.get("task")
    if isinstance(task, str):
        if context.offers("complete_task"):
            return NextStep(
                "Use ", call("complete_task", file=last.path, slug=task), " when its criteria are met"
            )
        return NextStep("See it with ", call("view_document", file=last.path, slug=task))
    slug = last.answer.get("slug")
    document = written.document(last.path)
    section = next((item for item in document.sections if item.address == slug), None) if document else None
    if section and document and not read_whole_text(document, section):
        edit = call("edit_document", operation="update_content", file=last.path, slug=slug, content="…")
        return NextStep("Write it with ", edit)
    named: dict[str, object] = {} if slug is None else {"slug": slug}
    return NextStep("Read it with ", call("view_document", file=last.path, **named), ", or go on editing")


def _correct(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    """Return an example that appends to a section that exists already, which removes nothing."""
    slug = error.details.get("slug")
    if error.code != "SECTION_EXISTS" or not isinstance(slug, str):
        return with_existing_text(example, error, snapshot)
    # Only add_section brings content that is not itself what was wrong.
    content = example.get("content") if example["operation"] == "add_section" else None
    return {
        "operation": "append_content",
        "file": example["file"],
        "slug": slug,
        "content": content or PLACEHOLDERS["content"],
    }


TOOL = Tool(
    name="edit_document",
    title="Edit documents",
    toolset="documents",
    description="Edit sections, tasks, text and metadata; move sections and documents (links follow). "
    "{} lists the operations. Read before you overwrite.",
    arguments=EditDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
    correct=_correct,
)

WRITER = Writer(
    tool=lambda: TOOL, build=_build, single={"updated": True}, next_step=_next_step, enrich=_enrich
)
