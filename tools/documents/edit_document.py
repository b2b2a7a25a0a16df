"""edit_document: sections and tasks added, rewritten, renamed; one operation or a batch, one commit."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import Field, create_model

from tools.answers import Answer
from tools.arguments import read, without_nulls
from tools.documents import operations
from tools.targets import target
from tools.tool import Tool
from tools.writing import WriteFields, Writer, arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.context import Context
    from tools.tool import Given
    from workspace.edits import Operation
    from workspace.plan import Step
    from workspace.workspace import Written

_DESCRIPTIONS = {
    "operation": " | ".join(operations.by_name()),
    "file": "Document path",
    "slug": "Section address, such as endpoints/search; _preamble is the introduction",
    "title": "Of the new section or task",
    "content": "Markdown; deeper headings become subsections",
    "parent_slug": "Section to add to; default: top level",
    "before": "Sibling to stand before",
    "after": "Sibling to stand after",
    "criteria": "When the task counts as done",
}
_PLACEHOLDERS = {
    "file": "api.md",
    "slug": "endpoints",
    "title": "Authentication",
    "content": "Text in Markdown.",
    "new_title": "API endpoints",
}
_TASK_PLACEHOLDERS = {**_PLACEHOLDERS, "slug": "tasks", "title": "Document the error codes"}


def _described(name: str, kind: Any) -> tuple[Any, Any]:
    return kind, Field(None, description=_DESCRIPTIONS.get(name))


# The fields come from the operations themselves, so that a new operation is one file and no more.
EditDocumentArguments = create_model(
    "EditDocumentArguments",
    __base__=WriteFields,
    **{
        name: _described(name, kind)
        for name, kind in {"operation": str | None, **operations.all_fields()}.items()
    },
)


def _usage(given: Given) -> Mapping[str, object]:
    name = given.get("operation")
    known = operations.by_name()
    if isinstance(name, str) and name in known:
        return {"operation": name, **operations.specification(known[name])}
    return {
        "discovery": "Call with {} to list operations and their fields",
        "single": "Call with {operation, file, ...fields}",
        "batch": "Call with {operations: [{operation, file, ...fields}, ...]}",
        "operations": _specifications(),
    }


@cache
def _specifications() -> dict[str, dict[str, str]]:
    return {name: operations.specification(operation) for name, operation in operations.by_name().items()}


def _example(given: Given) -> dict[str, Any]:
    known = operations.by_name()
    name = given.get("operation")
    operation = known.get(name) if isinstance(name, str) else None
    if operation is None:
        operation = known[
            "update_content" if "content" in given else "add_task" if "criteria" in given else "add_section"
        ]
    placeholders = _TASK_PLACEHOLDERS if operation.name == "add_task" else _PLACEHOLDERS
    required = [field.name for field in operations.fields_of(operation) if not field.is_optional]
    optional = [field.name for field in operations.fields_of(operation) if field.is_optional]
    values = {
        **{field: placeholders[field] for field in required},
        **arguments_of(given, (*required, *optional)),
    }
    return {"operation": operation.name, **values}


def _run(context: Context, given: Given) -> Answer:
    asked = without_nulls(given)
    if not asked:
        return Answer(
            {
                "operations": _specifications(),
                "supports_batch": True,
                "commit": context.workspace.tip(),
                "next_step": "Call with an operation and its fields, or with several as operations: [...]",
            }
        )
    if set(asked) == {"operation"}:
        operation = operations.meant(asked)
        return Answer(
            {
                "operation": operation.name,
                "fields": operations.specification(operation),
                "about": (operation.__doc__ or "").strip().split("\n")[0],
                "commit": context.workspace.tip(),
                "next_step": f"Call with these fields, such as {_example(asked)}",
            }
        )
    return WRITER.run(context, given)


def _build(context: Context, item: Given) -> Operation:
    checked = read(EditDocumentArguments, item).model_dump(exclude_unset=True)
    operation = operations.meant(checked)
    values = {name: value for name, value in checked.items() if name != "operation"}
    if isinstance(file := values.get("file"), str) and "#" in file:
        section = next(
            (name for name in ("slug", "parent_slug") if name in operations.specification(operation)), "slug"
        )
        path, slug = target(context.snapshot(), file, values.get(section))
        values |= {"file": path, **({section: slug} if slug else {})}
    return operations.build(operation, values)


def _next_step(written: Written, done: Sequence[Step]) -> str:
    last = next((step.outcome for step in reversed(done) if step.outcome), None)
    if last is None:
        return "Mend the operations that failed and send them again"
    failed = len(written.steps) - len(done)
    if failed:
        return f"Mend the {failed} that failed, as each one's error says, and send only them again"
    task = last.answer.get("task")
    if isinstance(task, str):
        return f'Use complete_task {{"file": "{last.path}", "slug": "{task}"}} when its criteria are met'
    slug = last.answer.get("slug")
    document = written.document(last.path)
    section = next((item for item in document.sections if item.address == slug), None) if document else None
    if section and document and not document.data[section.body : section.tree_end].strip():
        return (
            f'Write it with edit_document {{"operation": "update_content", "file": "{last.path}", "slug": "{slug}", '
            '"content": "…"}'
        )
    return f'Read it with view_document {{"file": "{last.path}", "slug": "{slug}"}}, or go on editing'


TOOL = Tool(
    name="edit_document",
    title="Edit documents",
    toolset="documents",
    description="Add sections and tasks, write or rename sections. {} lists the operations and their fields. A call "
    "is one commit; several operations go into operations: [...].",
    arguments=EditDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
)

WRITER = Writer(tool=lambda: TOOL, build=_build, single={"updated": True}, next_step=_next_step)
