"""search_documentation_contextual: a search whose scores are lifted by the caller's context."""

from __future__ import annotations

import json
import math
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from index.sources.sources import SourceHit, search_sources
from tools.arguments import (
    Integer,
    InvalidArguments,
    Object,
    ReadingArguments,
    make_field_error,
    read_arguments,
)
from tools.retrieval.lifts import (
    ERROR_FACTOR,
    TECHNOLOGY_FACTOR,
    WALKTHROUGH_FACTOR,
    ErrorTraits,
    Lift,
    explain_technology,
    list_technologies,
)
from tools.retrieval.recorded_searches import record_page
from tools.retrieval.related_steps import RelatedSteps
from tools.retrieval.results import Detail, ResultList, build_results, fit_results, suggest_continuation
from tools.retrieval.search_documentation import (
    MAX_RESULTS,
    complete_search_schema,
    describe_page,
    find_related_steps,
    suggest_search,
)
from tools.tool import Answer, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.retrieval.context import RetrievalContext
    from tools.tool import CallArguments, Data

MAX_CONTEXT_BYTES = 100_000
_MAX_CANDIDATES = 50
"""The number of hits whose scores can be lifted."""


class SearchContext(BaseModel):
    """The context of a contextual search."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    current_file: str | None = None
    current_function: str | None = None
    error_message: str | None = None
    task_description: str | None = None


class SearchDocumentationContextualArguments(ReadingArguments):
    """The input of search_documentation_contextual."""

    query: str = Field(description="Search query for documentation")
    context: Object | None = Field(
        None,
        description="Additional context to improve search relevance",
        json_schema_extra={"properties": {name: {"type": "string"} for name in SearchContext.model_fields}},
    )
    namespace: str | None = None
    max_results: Integer = Field(5, ge=1, le=MAX_RESULTS)
    handle: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "search": f"Call with {{query, context?, namespace?}}; add max_results, 1 to {MAX_RESULTS}",
        "context": f"An object of some of {', '.join(SearchContext.model_fields)}",
        "handle": "Add the handle of a walkthrough under way",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {
        "query": "connection refused",
        **select_example_arguments(arguments, ("query", "namespace")),
        "context": {"current_file": "src/client.py", "error_message": "ConnectionError: refused"},
    }


def _run(context: RetrievalContext, arguments: CallArguments) -> Answer:
    request = read_arguments(SearchDocumentationContextualArguments, arguments)
    search_context = _read_context(request.context)
    sources = context.sources.select(request.namespace)
    related_steps = find_related_steps(context, request.handle)
    start = perf_counter()
    page = search_sources(
        sources, request.query, limit=max(_MAX_CANDIDATES, request.max_results), progress=context.progress
    )
    lifted_hits = [_lift_hit(source_hit, search_context, related_steps) for source_hit in page.hits]
    # The sort is stable, so without lifts the list is that of search_documentation.
    lifted_hits = sorted(lifted_hits, key=lambda lifted: -lifted.hit.score)[: request.max_results]
    shown_page = page._replace(hits=tuple(lifted.hit for lifted in lifted_hits), has_more=False)
    record_page(request.query, shown_page, related_steps, (perf_counter() - start) * 1_000)
    results = build_results(shown_page, includes_content=True, includes_namespace=len(context.sources) > 1)
    for result, (source_hit, lifts) in zip(results, lifted_hits, strict=True):
        result.fields["lifted_by"] = [
            {"lift": lift.name, "factor": lift.factor, "why": lift.why} for lift in lifts
        ]
        if related_steps is not None:
            result.fields.update(related_steps.describe(source_hit))

    def build_answer(sources: list[Data], detail: Detail) -> Data:
        data: Data = {
            "query_processed": True,
            "result_count": len(sources),
            "sources": sources,
            **describe_page(shown_page, detail),
        }
        next_step = (
            suggest_continuation(sources, detail) if sources else suggest_search(page, request.namespace)
        )
        return data if next_step is None else {**data, "next_step": next_step}

    return Answer(fit_results(ResultList(results, build_answer), context.max_tokens))


def _read_context(value: dict[str, Any] | None) -> SearchContext:
    """Return the context of a call. Raises InvalidArguments for more than 100 kB, and for wrong types."""
    if value is None:
        return SearchContext()
    size = len(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    if size > MAX_CONTEXT_BYTES:
        raise InvalidArguments(
            f"'context' has {size:,} bytes; at most {MAX_CONTEXT_BYTES:,} are allowed",
            fix="Send only the last lines of the error and a short description of the task.",
            field="context",
        )
    try:
        return SearchContext.model_validate({name: item for name, item in value.items() if item is not None})
    except ValidationError as error:
        problem = make_field_error(error.errors(include_url=False)[0], SearchContext)
        raise InvalidArguments(
            f"in 'context': {problem.message}", fix=problem.fix, field="context"
        ) from error


class LiftedHit(NamedTuple):
    """A hit with its lifted score, and the lifts that apply to it."""

    hit: SourceHit
    lifts: tuple[Lift, ...]


def _lift_hit(source_hit: SourceHit, context: SearchContext, related_steps: RelatedSteps | None) -> LiftedHit:
    """Return a hit with the product of its score and the factors of its lifts."""
    lifts = tuple(_list_lifts(source_hit, context, related_steps))
    factor = math.prod(lift.factor for lift in lifts)
    return LiftedHit(source_hit._replace(score=source_hit.score * factor), lifts)


def _list_lifts(
    source_hit: SourceHit, context: SearchContext, related_steps: RelatedSteps | None
) -> Iterator[Lift]:
    hit = source_hit.hit
    text = f"{hit.breadcrumb}\n{str(hit.text, 'utf-8', 'replace')}"
    if related_steps is not None and (why := related_steps.explain_relation(source_hit)):
        yield Lift("walkthrough_relevance", WALKTHROUGH_FACTOR, why)
    technology = related_steps.current.position.walkthrough.technology if related_steps is not None else None
    if why := explain_technology(list_technologies(context.current_file, technology), text):
        yield Lift("current_technology", TECHNOLOGY_FACTOR, why)
    if context.error_message and (why := ErrorTraits.read(context.error_message).explain_match(text)):
        yield Lift("error_category", ERROR_FACTOR, why)


TOOL = Tool(
    name="search_documentation_contextual",
    title="Search documentation in context",
    toolset="retrieval",
    description="Search documentation; results that fit your file, error and walkthrough come first",
    arguments=SearchDocumentationContextualArguments,
    run=_run,
    usage=_usage,
    example=_example,
    searches=True,
    schema=complete_search_schema,
)
