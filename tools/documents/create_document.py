"""create_document: lists types, explains a type, and creates a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import InvalidArguments, read_arguments, select_requested_fields
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import WriteFields, Writer, select_example_arguments
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.edits.operation import Operation
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult

_PLACEHOLDERS = {"doc_type": "api_spec", "title": "Search API"}


class CreateDocumentArguments(WriteFields):
    """The input of create_document."""

    doc_type: str | None = None
    title: str | None = None
    initial_content: str | None = Field(
        None,
        description="Text, then ## sections (fill the type's); tasks: - [ ] title, indented - Criteria: x",
    )
    folder: str | None = None
    path: str | None = Field(None, description="Default: folder/title.md")


def _add_types(context: Context, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with the names of the document types; without them if the tip cannot be read."""
    from workspace.snapshot.type_names import list_type_names

    try:
        names = list_type_names(context.snapshot())
    except WorkspaceError:  # a call reports the error
        return schema
    properties = {**schema["properties"], "doc_type": {"type": "string", "enum": names}}
    return {**schema, "properties": properties}


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "discovery": "Call with {} to list types",
        "instructions": "Call with {doc_type} for instructions",
        "creation": "Call with {doc_type, title, initial_content?, folder? or path?}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        **_PLACEHOLDERS,
        **select_example_arguments(arguments, ("doc_type", "title", "initial_content", "folder", "path")),
    }


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    """Return an example whose path is free; a number is added to the title if its file exists."""
    example = {field: value for field, value in example.items() if field != "path"}
    from workspace.markdown.slugs import make_file_slug

    folder = example.get("folder") or snapshot.config.root
    title, suffix = example["title"], 1
    while snapshot.entry("/".join(part for part in (folder, f"{make_file_slug(title)}.md") if part)):
        suffix += 1
        title = f"{example['title']} {suffix}"
    return {**example, "title": title}


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = select_requested_fields(arguments)
    if not request:
        return _list_types(context)
    if set(request) == {"doc_type"}:
        return _explain_type(context, read_arguments(CreateDocumentArguments, request).doc_type or "")
    return WRITER.run(context, arguments)


def _list_types(context: Context) -> Answer:
    from templates import DocumentType
    from workspace.snapshot.document_types import read_document_types

    snapshot = context.snapshot()
    types = read_document_types(snapshot)
    valid_types = {
        name: document_type
        for name, document_type in types.items()
        if isinstance(document_type, DocumentType)
    }
    data: dict[str, Any] = {
        "doc_types": list(valid_types),
        "summaries": {name: document_type.summary for name, document_type in valid_types.items()},
        "commit": snapshot.commit,
        "next_step": NextStep(
            "Call with doc_type for instructions: ", call("create_document", doc_type="api_spec")
        ),
    }
    error_messages = [
        document_type.message
        for document_type in types.values()
        if not isinstance(document_type, DocumentType)
    ]
    if error_messages:
        data["hints"] = error_messages
    return Answer(data)


def _explain_type(context: Context, name: str) -> Answer:
    from workspace.snapshot.document_types import read_document_type

    snapshot = context.snapshot()
    document_type = read_document_type(snapshot, name)
    return Answer(
        {
            "instructions": document_type.guidance,
            "structure": document_type.structure,
            "best_practices": list(document_type.best_practices),
            "commit": snapshot.commit,
            "next_step": NextStep(
                "Call with doc_type, title, and initial_content: ",
                call("create_document", doc_type=name, title="…", initial_content="…"),
            ),
        }
    )


def _build_operation(context: Context, item: CallArguments) -> Operation:
    from workspace.edits.documents import CreateDocument
    from workspace.snapshot.document_types import read_document_type
    from workspace.snapshot.type_names import list_type_names

    request = read_arguments(CreateDocumentArguments, item)
    if request.doc_type is None:
        raise InvalidArguments(
            "'doc_type' is missing",
            fix=f"Give one of: {', '.join(list_type_names(context.snapshot()))}.",
            field="doc_type",
        )
    document_type = read_document_type(context.snapshot(), request.doc_type)
    if request.title is None:
        raise InvalidArguments("'title' is missing", fix="Give the document a title.", field="title")
    if request.path and request.folder:
        raise InvalidArguments(
            "both 'folder' and 'path' are given",
            fix="Give the whole path in 'path', or leave it out: the title names the file in 'folder'.",
            field="path",
        )
    return CreateDocument(
        type=document_type,
        title=request.title,
        content=request.initial_content or "",
        folder=request.folder or "",
        path=request.path or "",
    )


def _next_step(context: Context, result: WriteResult, done_steps: Sequence[PlanStep]) -> NextStep:
    outcome = done_steps[-1].outcome if done_steps else None
    if outcome is None:
        return NextStep("Call with {} to list types")
    empty_addresses = outcome.result.get("empty_sections")
    if isinstance(empty_addresses, list):
        edit = call(
            "edit_document",
            operation="update_content",
            file=outcome.path,
            slug=empty_addresses[0],
            content="…",
        )
        return NextStep("Add content with ", edit, ", or add_section and add_task")
    edit = call("edit_document", operation="add_section", file=outcome.path, title="…", content="…")
    return NextStep("Add content with ", edit, ", or tasks with add_task")


TOOL = Tool(
    name="create_document",
    title="Create a document",
    toolset="documents",
    description="Create a document. {} describes the types, {doc_type} alone gives advice.",
    arguments=CreateDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    idempotent=False,
    correct=_correct_example,
    schema=_add_types,
)

WRITER = Writer(tool=lambda: TOOL, build=_build_operation, success_fields={}, next_step=_next_step)
