"""restore_document: restores a document or section, or reverts a commit, with a new commit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import (
    InvalidArguments,
    read_arguments,
    remove_nulls,
    resolve_target,
    select_requested_fields,
)
from tools.examples import correct_sections
from tools.next_steps import suggest_list_call, suggest_view_call
from tools.tool import Answer, Call, NextStep, Tool, call
from tools.writer import WriteFields, Writer, select_example_arguments
from workspace.errors import ConcurrentChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.edits.operation import Operation
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult

_EXAMPLE_REF = "HEAD~1"


class RestoreDocumentArguments(WriteFields):
    """The input of restore_document."""

    file: str | None = Field(None, description="Document")
    slug: str | None = Field(None, description="Section, with its subsections; else the whole document")
    ref: str | None = Field(None, description="Commit (also COMMIT~1), tag, branch or @{date}")
    undo: str | None = Field(None, description="Or: commit to revert")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "document": "Call with {file, ref} to restore a document, also a removed one, as it was at ref",
        "section": "Call with {file, slug, ref} to restore a section with its subsections as it was at ref",
        "undo": "Call with {undo: COMMIT} to revert all changes of that commit; a part that was changed "
        'since is a conflict, and then nothing is reverted unless mode is "each"',
        "batch": "Call with {operations: [{file, slug, ref}, ...]}",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    if "undo" in arguments:
        return {"undo": _EXAMPLE_REF, **select_example_arguments(arguments, ("undo",))}
    example = {"file": "api.md", "ref": _EXAMPLE_REF, **select_example_arguments(arguments, ("file", "ref"))}
    return {**example, **select_example_arguments(arguments, ("slug",))}


def _correct_example(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    """Return an example whose commit, document and section exist; a dry run if it differs from the call."""
    refs = error.details.get("refs")
    nearest = str(refs[0]) if isinstance(refs, list) and refs else str(snapshot.commit)
    corrected_example = example
    if error.code in _REF_ERRORS:
        corrected_example = {**corrected_example, ("undo" if "undo" in corrected_example else "ref"): nearest}
    if "undo" not in corrected_example:
        corrected_example = correct_sections(corrected_example, error, snapshot)
    elif error.code == ConcurrentChange.code:
        corrected_example = {**corrected_example, "mode": "each"}
    return corrected_example if corrected_example == example else {**corrected_example, "dry_run": True}


_REF_ERRORS = frozenset(
    ("REF_NOT_FOUND", "NOT_A_COMMIT", "BEFORE_HISTORY", "NOT_IN_HISTORY", "AMBIGUOUS_ID", "NOT_AT_REF")
)


def _run(context: Context, arguments: CallArguments) -> Answer:
    fields = remove_nulls(arguments)
    if not select_requested_fields(arguments):
        history = call("view_history", file="FILE") if context.offers("view_history") else "git log"
        dry_run_hint = ", then call with dry_run to see the diff"
        return Answer(
            {
                "usage": dict(_usage(arguments)),
                "commit": context.workspace.tip(),
                "next_step": NextStep("Find the commit with ", history, dry_run_hint),
            }
        )
    # Without mode "each", a commit is reverted completely or not at all.
    is_partial = fields.get("mode") == "each"
    return replace(WRITER, build=partial(build_restoration, is_partial=is_partial)).run(context, arguments)


def build_restoration(context: Context, item: CallArguments, *, is_partial: bool = False) -> Operation:
    """Return the operation of a call; `is_partial` permits an undo that leaves conflicting parts unchanged.

    Raises InvalidArguments, and the errors of `resolve_branch_ref`.
    """
    from workspace.edits.restore import RestoreDocument, RestoreSection, Undo
    from workspace.revisions import resolve_branch_ref

    request = read_arguments(RestoreDocumentArguments, item)
    if request.undo is not None:
        if request.file is not None or request.slug is not None or request.ref is not None:
            raise InvalidArguments(
                "both 'undo' (for a commit) and fields of a document ('file', 'slug', 'ref') are given",
                fix="Give only 'undo', or only 'file' and 'ref', with 'slug' for a section.",
                field="undo",
            )
        return Undo(commit=resolve_branch_ref(context.workspace, request.undo), is_partial=is_partial)
    for name, value in (("file", request.file), ("ref", request.ref)):
        if not value:
            raise InvalidArguments(
                f"'{name}' is missing",
                fix="Give 'file' and 'ref', with 'slug' for a section, or 'undo' with a commit.",
                field=name,
            )
    commit = resolve_branch_ref(context.workspace, str(request.ref))
    file, slug = resolve_target(context.snapshot(), str(request.file), request.slug)
    if slug:
        return RestoreSection(file=file, slug=slug, commit=commit)
    return RestoreDocument(file=file, commit=commit)


def _next_step(context: Context, result: WriteResult, done_steps: Sequence[PlanStep]) -> NextStep:
    outcomes = [step.outcome for step in reversed(done_steps) if step.outcome]
    last_outcome = next(
        (outcome for outcome in outcomes if outcome.is_change), outcomes[0] if outcomes else None
    )
    if last_outcome is None:
        return NextStep("Fix the failed operations and send them again")
    conflicts = last_outcome.result.get("conflicts")
    if isinstance(conflicts, list) and conflicts:
        first_address = {name: conflicts[0][name] for name in ("file", "slug") if name in conflicts[0]}
        view = (
            suggest_view_call(context, **first_address)
            if result.document(first_address["file"]) is not None
            else None
        )
        if view is None:
            listing = suggest_list_call(context)
            listing_parts = ("; ", listing, " shows the documents") if listing else ()
            return NextStep("See the changes that were not reverted in 'conflicts'", *listing_parts)
        return NextStep("See the later changes of others (conflicts), the first with ", view)
    view = _build_view_call(context, result, last_outcome.path, last_outcome.result)
    if not last_outcome.is_change:
        return NextStep("No change was necessary", *(("; see it with ", view) if view else ()))
    undo_call = call("restore_document", undo=result.commit)
    view_parts = ("See it with ", view, ", or undo") if view else ("Undo",)
    return NextStep(*view_parts, " this with ", undo_call)


def _build_view_call(
    context: Context, result: WriteResult, path: str, outcome_fields: Mapping[str, object]
) -> Call | None:
    if not path or result.document(path) is None:
        return suggest_list_call(context)
    slug = outcome_fields.get("slug")
    return suggest_view_call(context, path, slug if isinstance(slug, str) else None)


TOOL = Tool(
    name="restore_document",
    title="Restore a document, or undo a commit",
    toolset="history",
    description="Restore a document or section as it was at `ref`, or revert a commit (`undo`), with a new "
    "commit. Later changes by others are preserved.",
    arguments=RestoreDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
    correct=_correct_example,
)

WRITER = Writer(
    tool=lambda: TOOL, build=build_restoration, success_fields={"restored": True}, next_step=_next_step
)
