"""remove_document: a document, or a section with its subsections, taken out; Git keeps the history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import InvalidArguments, read, requested_fields, resolve_target
from tools.examples import with_dry_run_removal
from tools.tool import Answer, NextStep, Tool, call
from tools.writer import WriteFields, Writer, arguments_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import Context, Given
    from workspace.edits import Operation
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult


class RemoveDocumentArguments(WriteFields):
    """The input of remove_document."""

    path: str | None = Field(None, description="Document")
    file: str | None = Field(None, description="Or: of the section")
    slug: str | None = Field(None, description="Section")


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "document": "Call with {path}",
        "section": "Call with {file, slug}",
        "batch": "Call with {operations: [{path}, {file, slug}, ...]}",
    }


def _example(given: Given) -> dict[str, Any]:
    if "slug" in given or "file" in given:
        return {"file": "api.md", "slug": "deprecated", **arguments_of(given, ("file", "slug"))}
    return {"path": "old-spec.md", **arguments_of(given, ("path",))}


def _run(context: Context, given: Given) -> Answer:
    if not requested_fields(given):
        return Answer(
            {
                "usage": dict(_usage(given)),
                "commit": context.workspace.tip(),
                "next_step": NextStep("Call with {path}, or with {file, slug}; dry_run shows what would go"),
            }
        )
    answer = WRITER.run(context, given)
    if "removed" in answer.data:
        # Alone the seed's answer is `true`; in a batch it says what was removed.
        answer.data["removed_what"] = answer.data["removed"]
        answer.data["removed"] = True
    return answer


def _build(context: Context, item: Given) -> Operation:
    from workspace.edits import RemoveDocument, RemoveSection

    asked = read(RemoveDocumentArguments, item)
    if asked.path and (asked.file or asked.slug):
        raise InvalidArguments(
            "'path' removes a whole document, and 'file' with 'slug' a section: both are given",
            fix="Give 'path' alone, or 'file' and 'slug'.",
            field="path",
        )
    if asked.path:
        path, slug = resolve_target(context.snapshot(), asked.path, None)
        if slug:
            return RemoveSection(file=path, slug=slug)
        return RemoveDocument(path=path)
    if not asked.file:
        raise InvalidArguments("'path' is missing", fix="Give 'path', or 'file' and 'slug'.", field="path")
    file, slug = resolve_target(context.snapshot(), asked.file, asked.slug)
    if not slug:
        raise InvalidArguments(
            "'slug' is missing",
            fix='Give the section\'s slug, or {"path": "…"} for the whole document.',
            field="slug",
        )
    return RemoveSection(file=file, slug=slug)


def _next_step(context: Context, written: WriteResult, done: Sequence[PlanStep]) -> NextStep:
    last = next((step.outcome for step in reversed(done) if step.outcome), None)
    if last is None:
        return NextStep("Mend the operations that failed and send them again")
    if (broken := last.answer.get("broken_links")) and isinstance(broken, list):
        first = call("view_document", file=broken[0]["file"], slug=broken[0]["slug"])
        return NextStep("Mend the links that lead nowhere now (broken_links), the first with ", first)
    if last.answer.get("removed") == "section":
        return NextStep("See what is left with ", call("view_document", file=last.path))
    listing = call("list_documents")
    return NextStep("See what is left with ", listing, "; git revert brings the document back")


TOOL = Tool(
    name="remove_document",
    title="Remove a document or section",
    toolset="documents",
    description="Remove a document ({path}) or a section with its subsections ({file, slug}).",
    arguments=RemoveDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
    correct=with_dry_run_removal,
)

WRITER = Writer(tool=lambda: TOOL, build=_build, single={}, next_step=_next_step)
