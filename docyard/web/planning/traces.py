"""The pages of traces: the matrix of all identifiers, and the places of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from docyard.web.planning.tasks import read_section_key
from tools.planning.view_trace import explain_empty_matrix, find_trace, select_traces
from workspace.trace import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from docyard.web.page_request import PageRequest
    from workspace.trace import Place

TRACES_PER_PAGE = 40
"""The number of identifiers on one page."""

STAGE_LABELS = {
    Stage.REQUIRED: "Required",
    Stage.DESIGNED: "Designed",
    Stage.TASKED: "Tasked",
    Stage.DONE: "Done",
    Stage.TESTED: "Tested",
}
_MAX_PLACES = 50


class StagePlaces(NamedTuple):
    """The places of a stage on the page of one identifier; `total` counts all."""

    label: str
    is_reached: bool
    is_unknown: bool
    places: Sequence[tuple[Place, str]]
    total: int


def render_matrix_page(request: PageRequest) -> Response:
    """Return a page of the matrix; with `missing`, of the identifiers that lack a stage."""
    matrix = request.workspace.trace_finder().find(request.snapshot)
    missing = request.query.get("missing")
    stage = Stage(missing) if missing in set(Stage) else None
    traces = select_traces(matrix, stage)
    return request.page(
        "traces.html",
        page=request.select_page(traces, TRACES_PER_PAGE),
        stages=STAGE_LABELS,
        missing=stage,
        missing_counts={item: len(select_traces(matrix, item)) for item in Stage},
        total=len(matrix.traces),
        example_prefix=request.snapshot.config.trace.prefixes[0],
        explanation=explain_empty_matrix(request.snapshot.config.trace),
        is_unknown=any(stage in trace.unknown_stages for trace in matrix.traces.values()),
        unreadable_paths=matrix.unreadable_paths,
    )


def render_trace_page(request: PageRequest) -> Response:
    """Return the page of one identifier. Raises IdentifierNotFound."""
    snapshot = request.snapshot
    matrix = request.workspace.trace_finder().find(snapshot)
    trace = find_trace(matrix, request.path_params["id"], snapshot.config.trace)
    stages = [
        StagePlaces(
            label,
            trace.has(stage),
            stage in trace.unknown_stages,
            [(place, read_section_key(place.slug or "")) for place in trace.places[stage][:_MAX_PLACES]],
            len(trace.places[stage]),
        )
        for stage, label in STAGE_LABELS.items()
    ]
    return request.page("trace.html", trace=trace, stages=stages)
