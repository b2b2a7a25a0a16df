"""view_trace: shows where an identifier is required, designed, tasked, done and tested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from tools.arguments import WITHOUT_DEFAULT, Integer, ReadingArguments, read_arguments
from tools.pages import build_list_page
from tools.read_context import ReadContext
from tools.tool import Answer, Data, NextStep, Tool
from tools.writer import select_example_arguments
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible
from workspace.nearest import find_nearest
from workspace.trace import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tools.tool import CallArguments, Context
    from workspace.config.tables import TraceSettings
    from workspace.trace import Place, Trace, TraceMatrix

DEFAULT_LIMIT = 100
MAX_LIMIT = 500
_MAX_PLACES = 50
_MAX_SHOWN_CHARACTERS = 60


class IdentifierNotFound(WorkspaceError):
    """No document mentions an identifier. `candidates` are the nearest identifiers."""

    code = "IDENTIFIER_NOT_FOUND"


class ViewTraceArguments(ReadingArguments):
    """The input of view_trace."""

    id: str | None = Field(None, description="Such as REQ-12; else all")
    missing: Literal["required", "designed", "tasked", "done", "tested"] | None = Field(
        None, description="Only those that lack this stage"
    )
    limit: Integer = Field(DEFAULT_LIMIT, ge=1, le=MAX_LIMIT, json_schema_extra=WITHOUT_DEFAULT)
    cursor: str | None = None
    ref: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "matrix": "Call with {} for the counts of each identifier and stage",
        "one": "Call with {id} for all places of one identifier",
        "unknown": "An artifact contains no test files: there, tested is unknown instead of missing",
        "missing": 'Call with {missing: "tested"} for the identifiers that lack a stage',
        "identifiers": "A heading or list item that begins with REQ-12 requires it; other mentions are its "
        "design, its tasks, and its tests ([trace] in docyard.toml sets the prefixes and paths)",
        "ref": "Add ref to read a branch, tag, commit or @{date} instead of the tip",
        "pages": f"limit is 1 to {MAX_LIMIT}; cursor is the next_cursor of the page before",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return select_example_arguments(arguments, ("missing", "ref"))


def _run(context: Context, arguments: CallArguments) -> Answer:
    request = read_arguments(ViewTraceArguments, arguments)
    read_context = ReadContext.at(context, request.ref)
    snapshot = read_context.snapshot
    matrix = context.workspace.trace_finder().find(snapshot, context.progress)
    data: Data = {"commit": snapshot.commit}
    if matrix.unreadable_paths:
        data["hints"] = [f"documents that cannot be read: {', '.join(matrix.unreadable_paths[:3])}"]
    if request.id is not None:
        trace = find_trace(matrix, request.id, snapshot.config.trace)
        step = _suggest_step_for(read_context, trace)
        return Answer({**describe_trace(trace), **data, "next_step": step})
    traces = select_traces(matrix, Stage(request.missing) if request.missing else None)
    page = build_list_page(
        traces,
        describe_row,
        cursor=request.cursor,
        version=snapshot.tree,
        criteria=["trace", request.missing],
        limit=request.limit,
        keys=context.signing_keys,
        tokens=context.text_tokens,
    )
    data = {"traces": page.entries, "total": len(traces), **data}
    if page.next_cursor:
        data["next_cursor"] = page.next_cursor
    data["next_step"] = (
        _suggest_next_step(read_context, matrix, traces, request.missing)
        if matrix.traces
        else NextStep(explain_empty_matrix(snapshot.config.trace))
    )
    return Answer(data)


def find_trace(matrix: TraceMatrix, name: str, settings: TraceSettings) -> Trace:
    """Return the trace of an identifier, in any case. Raises IdentifierNotFound."""
    id = name.strip().upper()
    if id in matrix.traces:
        return matrix.traces[id]
    shown_id = escape_invisible(name.strip())[:_MAX_SHOWN_CHARACTERS]
    nearest = find_nearest(id, list(matrix.traces))
    prefixes = ", ".join(settings.prefixes)
    raise IdentifierNotFound(
        f"no document requires or mentions the identifier '{shown_id}'",
        fix=f"Did you mean '{nearest[0]}'?"
        if nearest
        else f"Begin a heading or list item with it; [trace] in docyard.toml has the prefixes {prefixes}.",
        candidates=nearest,
    )


def explain_empty_matrix(settings: TraceSettings) -> str:
    """Return the reason why no identifier has a trace, with the documents that may require one."""
    if settings.required:
        globs = escape_invisible(", ".join(settings.required))[:_MAX_SHOWN_CHARACTERS]
        documents = f"in `required` ([trace] of docyard.toml: {globs})"
    else:
        documents = "outside of `designed` and `tested` ([trace] of docyard.toml)"
    return f"No heading or list item {documents} begins with an identifier such as {settings.prefixes[0]}-1"


def select_traces(matrix: TraceMatrix, missing: Stage | None) -> list[Trace]:
    """Return the traces that certainly lack a stage; all for None."""
    return [trace for trace in matrix.traces.values() if missing is None or missing in trace.missing_stages]


def describe_row(trace: Trace) -> Data:
    """Return an identifier with its first place, the number of places of each stage, and what is missing.

    `unknown` are the stages of which an artifact does not contain the files.
    """
    required = trace.places[Stage.REQUIRED]
    return {
        "id": trace.id,
        "title": escape_invisible(trace.title),
        "required_at": required[0].address if required else None,
        **{stage.value: len(trace.places[stage]) for stage in Stage},
        **_describe_missing_stages(trace),
    }


def describe_trace(trace: Trace) -> Data:
    """Return an identifier with the places of each stage, at most 50, and what is missing."""
    data: Data = {"id": trace.id, "title": escape_invisible(trace.title)}
    for stage in Stage:
        places = trace.places[stage]
        data[stage.value] = [_describe_place(place) for place in places[:_MAX_PLACES]]
        if len(places) > _MAX_PLACES:
            data[f"{stage.value}_total"] = len(places)
    return data | _describe_missing_stages(trace)


def _describe_missing_stages(trace: Trace) -> Data:
    data: Data = {"missing": [stage.value for stage in trace.missing_stages]}
    if trace.unknown_stages:
        data["unknown"] = [stage.value for stage in trace.unknown_stages]
    return data


def _describe_place(place: Place) -> Data:
    data: Data = {"file": escape_invisible(place.path), "line": place.line}
    if place.slug is not None:
        data |= {"slug": place.slug, "title": escape_invisible(place.title)}
    return data


def _suggest_step_for(read_context: ReadContext, trace: Trace) -> NextStep:
    required = trace.places[Stage.REQUIRED]
    if not required:
        return NextStep(f"No document requires {trace.id}: begin a heading or a list item with it")
    if Stage.TASKED in trace.missing_stages and read_context.offers_write("edit_document"):
        return NextStep(
            f"Add a task that names {trace.id}: ",
            read_context.build_write_call(
                "edit_document",
                operation="add_task",
                file=required[0].path,
                slug=required[0].slug,
                title=f"{trace.id} …",
            ),
        )
    if read_context.context.offers("view_document"):
        return NextStep(
            "Read it: ",
            read_context.call("view_document", file=required[0].path, slug=required[0].slug),
        )
    return NextStep("Read the sections in which it is required")


def _suggest_next_step(
    read_context: ReadContext, matrix: TraceMatrix, traces: Sequence[Trace], missing: str | None
) -> NextStep:
    if traces:
        return NextStep("See all places of one: ", read_context.call("view_trace", id=traces[0].id))
    if any(missing in trace.unknown_stages for trace in matrix.traces.values()):
        return NextStep("An artifact contains no test files: call a server of the repository itself")
    return NextStep("No identifier lacks this stage")


TOOL = Tool(
    name="view_trace",
    title="View trace",
    toolset="planning",
    description="Show where identifiers (REQ-12) are required, designed, tasked, done and tested.",
    arguments=ViewTraceArguments,
    run=_run,
    usage=_usage,
    example=_example,
)
