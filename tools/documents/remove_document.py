"""remove_document: removes a document, or a section with its subsections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tools.arguments import InvalidArguments, read_arguments, resolve_target, select_requested_fields
from tools.examples import correct_removal_target
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import WriteFields, Writer, select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.edits.operation import Operation
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult


class RemoveDocumentArguments(WriteFields):
    """The input of remove_document."""

    path: str | None = None
    file: str | None = None
    slug: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "document": "Call with {path}",
        "section": "Call with {file, slug}",
        "batch": "Call with {operations: [{path}, {file, slug}, ...]}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    if "slug" in arguments or "file" in arguments:
        return {
            "file": "api.md",
            "slug": "deprecated",
            **select_example_arguments(arguments, ("file", "slug")),
        }
    return {"path": "old-spec.md", **select_example_arguments(arguments, ("path",))}


def _run(context: Context, arguments: CallArguments) -> Answer:
    if not select_requested_fields(arguments):
        return Answer(
            {
                "usage": dict(_usage(arguments)),
                "commit": context.workspace.tip(),
                "next_step": NextStep("Call with {path}, or with {file, slug}; dry_run shows the diff"),
            }
        )
    answer = WRITER.run(context, arguments)
    if "removed" in answer.data:
        # The contract requires `true` for a single removal; in a batch the field is "document" or "section".
        answer.data["removed_what"] = answer.data["removed"]
        answer.data["removed"] = True
    return answer


def _build_operation(context: Context, item: CallArguments) -> Operation:
    from workspace.edits.documents import RemoveDocument
    from workspace.edits.sections import RemoveSection

    request = read_arguments(RemoveDocumentArguments, item)
    if request.path and (request.file or request.slug):
        raise InvalidArguments(
            "both 'path' (for a document) and 'file' with 'slug' (for a section) are given",
            fix="Give only 'path', or only 'file' and 'slug'.",
            field="path",
        )
    if request.path:
        path, slug = resolve_target(context.snapshot(), request.path, None)
        if slug:
            return RemoveSection(file=path, slug=slug)
        return RemoveDocument(path=path)
    if not request.file:
        raise InvalidArguments("'path' is missing", fix="Give 'path', or 'file' and 'slug'.", field="path")
    file, slug = resolve_target(context.snapshot(), request.file, request.slug)
    if not slug:
        raise InvalidArguments(
            "'slug' is missing",
            fix='Give the section\'s slug, or {"path": "…"} to remove the document.',
            field="slug",
        )
    return RemoveSection(file=file, slug=slug)


def _next_step(context: Context, result: WriteResult, done_steps: Sequence[PlanStep]) -> NextStep:
    last_outcome = next((step.outcome for step in reversed(done_steps) if step.outcome), None)
    if last_outcome is None:
        return NextStep("Fix the failed operations and send them again")
    if (broken_links := last_outcome.result.get("broken_links")) and isinstance(broken_links, list):
        view = call("view_document", file=broken_links[0]["file"], slug=broken_links[0]["slug"])
        return NextStep("Fix the broken links (broken_links); view the first with ", view)
    if last_outcome.result.get("removed") == "section":
        return NextStep("See the remaining sections with ", call("view_document", file=last_outcome.path))
    listing = call("list_documents")
    return NextStep("See the remaining documents with ", listing)


TOOL = Tool(
    name="remove_document",
    title="Remove a document",
    toolset="documents",
    description="Remove a document ({path}) or a section with its subsections ({file, slug}). Read it first.",
    arguments=RemoveDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
    correct=correct_removal_target,
)

WRITER = Writer(tool=lambda: TOOL, build=_build_operation, success_fields={}, next_step=_next_step)
