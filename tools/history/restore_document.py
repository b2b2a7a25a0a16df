"""restore_document: a document or a section as it was, or a whole commit taken back, as a new commit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import InvalidArguments, read, requested_fields, resolve_target, without_nulls
from tools.examples import with_sections
from tools.next_steps import list_call, view_call
from tools.tool import Answer, Call, NextStep, Tool, call
from tools.writer import WriteFields, Writer, arguments_of
from workspace.errors import ConcurrentChange

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import Context, Given
    from workspace.edits import Operation
    from workspace.errors import WorkspaceError
    from workspace.snapshot.snapshot import Snapshot
    from workspace.writing.plan import PlanStep
    from workspace.writing.write import WriteResult

_REF = "HEAD~1"


class RestoreDocumentArguments(WriteFields):
    """The input of restore_document."""

    file: str | None = Field(None, description="Document")
    slug: str | None = Field(None, description="Section, with its subsections; else the whole document")
    ref: str | None = Field(None, description="Commit, tag, branch or @{date} to go back to")
    undo: str | None = Field(None, description="Or: commit to take back")


def _usage(given: Given) -> Mapping[str, object]:
    return {
        "document": "Call with {file, ref}: all of it as it was at ref; a removed one comes back",
        "section": "Call with {file, slug, ref}: the section with its subsections as it was at ref",
        "undo": "Call with {undo: COMMIT}: what that commit did, a whole batch, taken back; what was changed "
        'since is a conflict, and nothing is taken back unless mode "each" asks for the rest',
        "batch": "Call with {operations: [{file, slug, ref}, ...]}",
    }


def _example(given: Given) -> dict[str, Any]:
    if "undo" in given:
        return {"undo": _REF, **arguments_of(given, ("undo",))}
    example = {"file": "api.md", "ref": _REF, **arguments_of(given, ("file", "ref"))}
    return {**example, **arguments_of(given, ("slug",))}


def _correct(example: dict[str, Any], error: WorkspaceError, snapshot: Snapshot) -> dict[str, Any]:
    """Return an example whose commit, document and section exist.

    A dry run if one is not the caller's own.
    """
    refs = error.details.get("refs")
    near = str(refs[0]) if isinstance(refs, list) and refs else str(snapshot.commit)
    found = example
    if error.code in _REF_ERRORS:
        found = {**found, ("undo" if "undo" in found else "ref"): near}
    if "undo" not in found:
        found = with_sections(found, error, snapshot)
    elif error.code == ConcurrentChange.code:
        found = {**found, "mode": "each"}
    return found if found == example else {**found, "dry_run": True}


_REF_ERRORS = frozenset(
    ("REF_NOT_FOUND", "NOT_A_COMMIT", "BEFORE_HISTORY", "NOT_IN_HISTORY", "AMBIGUOUS_ID", "NOT_AT_REF")
)


def _run(context: Context, given: Given) -> Answer:
    fields = without_nulls(given)
    if not requested_fields(given):
        history = call("view_history", file="FILE") if context.offers("view_history") else "git log"
        seen = ", then call with dry_run to see what changes"
        return Answer(
            {
                "usage": dict(_usage(given)),
                "commit": context.workspace.tip(),
                "next_step": NextStep("Find the commit with ", history, seen),
            }
        )
    # Unless the caller says so itself, a commit is taken back as a whole or not at all.
    is_partial = fields.get("mode") == "each"
    return replace(WRITER, build=partial(_build, is_partial=is_partial)).run(context, given)


def _build(context: Context, item: Given, *, is_partial: bool = False) -> Operation:
    from workspace.edits.restore import RestoreDocument, RestoreSection, Undo
    from workspace.revisions import find_ref

    asked = read(RestoreDocumentArguments, item)
    if asked.undo is not None:
        if asked.file is not None or asked.slug is not None or asked.ref is not None:
            raise InvalidArguments(
                "'undo' takes back a whole commit, and 'file' restores one document: both are given",
                fix="Give 'undo' alone, or 'file' and 'ref', with 'slug' for a section.",
                field="undo",
            )
        return Undo(commit=find_ref(context.workspace, asked.undo), is_partial=is_partial)
    for name, value in (("file", asked.file), ("ref", asked.ref)):
        if not value:
            raise InvalidArguments(
                f"'{name}' is missing",
                fix="Give 'file' and 'ref', with 'slug' for a section, or 'undo' with a commit.",
                field=name,
            )
    commit = find_ref(context.workspace, str(asked.ref))
    file, slug = resolve_target(context.snapshot(), str(asked.file), asked.slug)
    if slug:
        return RestoreSection(file=file, slug=slug, commit=commit)
    return RestoreDocument(file=file, commit=commit)


def _next_step(context: Context, written: WriteResult, done: Sequence[PlanStep]) -> NextStep:
    outcomes = [step.outcome for step in reversed(done) if step.outcome]
    last = next((outcome for outcome in outcomes if outcome.is_change), outcomes[0] if outcomes else None)
    if last is None:
        return NextStep("Mend the operations that failed and send them again")
    conflicts = last.answer.get("conflicts")
    if isinstance(conflicts, list) and conflicts:
        first = {name: conflicts[0][name] for name in ("file", "slug") if name in conflicts[0]}
        look = view_call(context, **first) if written.document(first["file"]) is not None else None
        if look is None:
            listing = list_call(context)
            shows = ("; ", listing, " shows the documents") if listing else ()
            return NextStep("See what is left as it was in 'conflicts'", *shows)
        return NextStep("Look at what others changed since (conflicts), the first with ", look)
    look = _view(context, written, last.path, last.answer)
    if not last.is_change:
        return NextStep("Nothing had to be changed", *(("; see it with ", look) if look else ()))
    again = call("restore_document", undo=written.commit)
    seen = ("See it with ", look, ", or take") if look else ("Take",)
    return NextStep(*seen, " this back with ", again)


def _view(context: Context, written: WriteResult, path: str, answer: Mapping[str, object]) -> Call | None:
    if not path or written.document(path) is None:
        return list_call(context)
    slug = answer.get("slug")
    return view_call(context, path, slug if isinstance(slug, str) else None)


TOOL = Tool(
    name="restore_document",
    title="Restore a document, or undo a commit",
    toolset="history",
    description="Bring back a document or section as it was at `ref`, or take back a whole commit (`undo`), "
    "as a new commit. Later changes by others are kept.",
    arguments=RestoreDocumentArguments,
    run=_run,
    usage=_usage,
    example=_example,
    writes=True,
    destructive=True,
    idempotent=False,
    correct=_correct,
)

WRITER = Writer(tool=lambda: TOOL, build=_build, single={"restored": True}, next_step=_next_step)
