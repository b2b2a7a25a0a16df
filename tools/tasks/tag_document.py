"""tag_document: adds, removes or replaces a document's tags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.arguments import (
    Boolean,
    InvalidArguments,
    Strings,
    read_arguments,
    resolve_target,
    select_requested_fields,
)
from tools.examples import correct_document
from tools.next_steps import suggest_list_call
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import WriteFields, Writer, select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.edits.operation import Operation
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult


class TagDocumentArguments(WriteFields):
    """The input of tag_document."""

    file: str | None = None
    tags: Strings | None = None
    remove: Boolean | None = None
    replace: Boolean | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "add": "Call with {file, tags: [...]}",
        "remove": "Call with {file, tags: [...], remove: true}",
        "replace": "Call with {file, tags: [...], replace: true}",
        "batch": "Call with {operations: [{file, tags}, ...]}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    values = select_example_arguments(arguments, ("file", "tags"))
    tags = values.get("tags") or ["backend", "search"]
    return {"file": "search-api.md", **values, "tags": tags if isinstance(tags, list) else [tags]}


def _run(context: Context, arguments: CallArguments) -> Answer:
    if not select_requested_fields(arguments):
        listing = suggest_list_call(context)
        step = NextStep(
            *(("Find a document with ", listing) if listing else ("Call with a file and its tags",))
        )
        return Answer(
            {"usage": dict(_usage(arguments)), "commit": context.workspace.tip(), "next_step": step}
        )
    return WRITER.run(context, arguments)


def _build_operation(context: Context, item: CallArguments) -> Operation:
    from workspace.edits.metadata import TagDocument

    request = read_arguments(TagDocumentArguments, item)
    if not request.file:
        raise InvalidArguments("'file' is missing", fix="Give the path of the document.", field="file")
    if request.tags is None:
        raise InvalidArguments("'tags' is missing", fix='Give a list, such as ["backend"].', field="tags")
    file, _ = resolve_target(context.snapshot(), request.file, None)
    return TagDocument(
        file=file, tags=tuple(request.tags), remove=bool(request.remove), replace=bool(request.replace)
    )


def _next_step(context: Context, result: WriteResult, done_steps: Sequence[PlanStep]) -> NextStep:
    last_outcome = next((step.outcome for step in reversed(done_steps) if step.outcome), None)
    tags = last_outcome.result.get("tags") if last_outcome else None
    if isinstance(tags, list) and tags and context.offers("list_documents"):
        return NextStep("List the documents with this tag: ", call("list_documents", tag=tags[-1]))
    if listing := suggest_list_call(context):
        return NextStep("See other documents with ", listing)
    return NextStep("Tag another document with tag_document, or remove a tag with remove: true")


TOOL = Tool(
    name="tag_document",
    title="Tag a document",
    toolset="tasks",
    description="Add, remove or replace a document's tags.",
    arguments=TagDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    correct=correct_document,
    writes=True,
    destructive=True,
)

WRITER = Writer(tool=lambda: TOOL, build=_build_operation, success_fields={}, next_step=_next_step)
