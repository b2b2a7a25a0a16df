"""edit_document: edits sections, tasks, text and metadata, by one operation or a batch, in one commit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field, create_model

from tools.arguments import (
    HIDDEN,
    Boolean,
    Object,
    Objects,
    read_arguments,
    resolve_target,
    select_requested_fields,
)
from tools.documents import edit_operations
from tools.documents.edit_operations import PLACEHOLDERS, complete_fields, correct_operation_example
from tools.returned_diff import ReturnedDiff
from tools.task_progress import describe_progress
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import WriteFields, Writer, select_example_arguments
from workspace.document.section_text import read_full_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context, Data
    from workspace.edits.operation import Operation
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult

_DESCRIPTIONS = {
    "operation": "; ".join(
        f"{name}: {edit_operations.describe_fields(name).removeprefix('file, ')}"
        for name in edit_operations.EDIT_FIELDS
    ),
    "slug": "Section (endpoints/search; _preamble: intro) or task (tasks[0])",
    "content": "Markdown; deeper headings: subsections",
    "parent_slug": "Default: top level",
    "criteria": "Empty removes them",
    "old": "Exact text",
    "count": "Matches; default 1",
    "metadata": "null removes a key",
    "to_title": "New document",
}

# The descriptions and values of the fields that all writing tools share; their other schemas have types only.
_SHARED_FIELDS: dict[str, tuple[Any, str]] = {
    "operations": (
        Objects | None,
        "One commit: [{operation, …}]; other writing tools are operations too",
    ),
    "mode": (Literal["each", "all"] | None, "Default each; all: all or none"),
    "dry_run": (Boolean, "Diff only"),
    "base_commit": (str | None, "Commit read"),
    "proposal": (str | None, "Its id"),
    "new_proposal": (Object | None, "{title, description, submit (else draft)}"),
    "returned_diff": (ReturnedDiff | None, "Default: short diff"),
    "idempotency_key": (str | None, "For retries"),
}


def _make_field(name: str, annotation: Any) -> tuple[Any, Any]:
    """Return a field of the model; a field that only other tools list is accepted, but hidden."""
    is_hidden = name not in _LISTED_FIELDS
    return annotation, Field(
        None, description=_DESCRIPTIONS.get(name), json_schema_extra={HIDDEN: True} if is_hidden else None
    )


def _make_shared_field(name: str, annotation: Any, description: str) -> tuple[Any, Any]:
    field = WriteFields.model_fields[name]
    return annotation, Field(field.default, alias=field.alias, description=description)


_LISTED_FIELDS = {
    "operation",
    *(
        field.name
        for name in edit_operations.EDIT_FIELDS
        for field in edit_operations.get_operation_fields(name)
    ),
}

EditDocumentArguments = create_model(
    "EditDocumentArguments",
    __base__=WriteFields,
    **cast(
        "Any",
        {
            name: _make_field(name, annotation)
            for name, annotation in {"operation": str | None, **edit_operations.list_all_fields()}.items()
        }
        | {name: _make_shared_field(name, *field) for name, field in _SHARED_FIELDS.items()},
    ),
)


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    operation = edit_operations.guess_operation(arguments)
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


def _example(arguments: CallArguments) -> dict[str, Any]:
    operation = edit_operations.guess_operation(arguments) or "add_section"
    if (writing_tool := edit_operations.load_writing_tool(operation)) is not None:
        return {"operation": operation, **writing_tool.tool.example(arguments)}
    names = [field.name for field in edit_operations.get_operation_fields(operation)]
    return {"operation": operation, **complete_fields(operation, select_example_arguments(arguments, names))}


def _run(context: Context, arguments: CallArguments) -> Answer:
    fields = select_requested_fields(arguments)
    if not fields:
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
    if set(fields) == {"operation"}:
        operation = edit_operations.resolve_operation(fields)
        return Answer(
            {
                "operation": operation,
                "fields": edit_operations.SPECIFICATIONS[operation],
                "about": _describe_operation(operation),
                "commit": context.workspace.tip(),
                "next_step": NextStep("Call with these fields: ", call("edit_document", **_example(fields))),
            }
        )
    # Without mode "each", a commit is reverted completely or not at all.
    is_partial = fields.get("mode") == "each"
    return replace(WRITER, build=partial(_build_operation, is_partial=is_partial)).run(context, arguments)


def _describe_operation(operation: str) -> str:
    """Return one sentence about an operation."""
    if (writing_tool := edit_operations.load_writing_tool(operation)) is not None:
        return writing_tool.tool.description
    return (edit_operations.load_operation_classes()[operation].__doc__ or "").strip().split("\n")[0]


def _build_operation(context: Context, item: CallArguments, *, is_partial: bool = False) -> Operation:
    fields = read_arguments(EditDocumentArguments, item).model_dump(exclude_unset=True)
    operation = edit_operations.resolve_operation(fields)
    values = {name: value for name, value in fields.items() if name != "operation"}
    if (writing_tool := edit_operations.load_writing_tool(operation)) is not None:
        edit_operations.check_fields(operation, values)
        if operation == "restore_document":
            from tools.history.restore_document import build_restoration

            return build_restoration(context, values, is_partial=is_partial)
        return writing_tool.writer.build(context, values)
    field_names = {field.name for field in edit_operations.get_operation_fields(operation)}
    section = next((name for name in ("slug", "parent_slug") if name in field_names), None)
    if section and isinstance(file := values.get("file"), str) and "#" in file:
        path, slug = resolve_target(context.snapshot(), file, values.get(section))
        values["file"] = path
        if slug:
            values[section] = slug
    return edit_operations.build_operation(operation, values)


def _describe_task_progress(result: WriteResult, step: PlanStep) -> Data:
    """Return the progress of a section if the operation changed its tasks."""
    fields = step.outcome.result if step.outcome else {}
    if not {"task_index", "completed", "reopened"} & set(fields):
        return {}
    progress = describe_progress(result, step)
    return {"progress": progress["progress"]} if progress else {}


def _next_step(context: Context, result: WriteResult, done_steps: Sequence[PlanStep]) -> NextStep | None:
    """Return the next step after the last operation; None after a batch that needs none."""
    last_outcome = next((step.outcome for step in reversed(done_steps) if step.outcome), None)
    if last_outcome is None:
        return NextStep("Fix the failed operations and send them again")
    failed_count = len(result.steps) - len(done_steps)
    if failed_count:
        return NextStep(
            f"Fix the failed operations ({failed_count}) as their errors describe, and send only those again"
        )
    if len(result.steps) > 1 and "task" not in last_outcome.result:
        return None
    if last_outcome.result.get("removed") == "task":
        return NextStep(
            "See the remaining tasks with ",
            call("view_document", file=last_outcome.path, slug=last_outcome.result["slug"]),
        )
    if result.document(last_outcome.path) is None:
        return NextStep("See the remaining documents with ", call("list_documents"))
    task = last_outcome.result.get("task")
    if isinstance(task, str):
        if context.offers("complete_task"):
            return NextStep(
                "Use ", call("complete_task", file=last_outcome.path, slug=task), " when its criteria are met"
            )
        return NextStep("See the task with ", call("view_document", file=last_outcome.path, slug=task))
    slug = last_outcome.result.get("slug")
    document = result.document(last_outcome.path)
    section = next((item for item in document.sections if item.address == slug), None) if document else None
    if section and document and not read_full_text(document, section):
        edit = call(
            "edit_document", operation="update_content", file=last_outcome.path, slug=slug, content="…"
        )
        return NextStep("Write it with ", edit)
    target: dict[str, object] = {} if slug is None else {"slug": slug}
    return NextStep(
        "Read it with ", call("view_document", file=last_outcome.path, **target), ", or continue editing"
    )


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    """Return an example that appends to the existing section if the call would add it again."""
    slug = error.details.get("slug")
    if error.code != "SECTION_EXISTS" or not isinstance(slug, str):
        return correct_operation_example(example, error, snapshot)
    # Only the content of add_section is reused; in other operations the content may be the invalid field.
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
    description="Edit sections, tasks, text, metadata; move sections and documents (links follow). "
    "Read what you overwrite, remove or restore (view_document).",
    arguments=EditDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
    correct=_correct_example,
)

WRITER = Writer(
    tool=lambda: TOOL,
    build=_build_operation,
    success_fields={"updated": True},
    next_step=_next_step,
    build_extra_fields=_describe_task_progress,
)
