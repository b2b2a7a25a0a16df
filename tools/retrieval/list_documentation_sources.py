"""list_documentation_sources: lists the documentation sources of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from index.sources.source import SourceUnavailable
from tools.arguments import Boolean, ReadingArguments, read_arguments
from tools.retrieval.budgets import list_entries
from tools.tool import Answer, Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from index.sources.source import Source
    from tools.retrieval.context import RetrievalContext
    from tools.tool import CallArguments, Data


class ListDocumentationSourcesArguments(ReadingArguments):
    """The input of list_documentation_sources."""

    include_stats: Boolean = Field(False, description="Include document counts and last update info")
    cursor: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {"list": "Call with {}", "stats": "Add include_stats: true for counts, times and commits"}


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"include_stats": True}


def _run(context: RetrievalContext, arguments: CallArguments) -> Answer:
    request = read_arguments(ListDocumentationSourcesArguments, arguments)
    entries = [
        (source.name, _describe_source(source, include_stats=request.include_stats))
        for source in context.sources
    ]
    return Answer(list_entries(context, "namespaces", entries, request.cursor, {}))


def _describe_source(source: Source, *, include_stats: bool) -> Data:
    """Return the entry of a source; an unavailable one has the reason."""
    data: Data = {"name": source.name, "description": source.description}
    try:
        if include_stats:
            data |= source.stats()._asdict()
        else:
            source.check_available()
    except SourceUnavailable as error:
        return {**data, "available": False, "reason": error.reason}
    if (fetch_error := source.fetch_error) is not None:
        data["fetch_error"] = fetch_error
    return data


TOOL = Tool(
    name="list_documentation_sources",
    title="List documentation sources",
    toolset="retrieval",
    description="List the documentation that can be searched",
    arguments=ListDocumentationSourcesArguments,
    run=_run,
    usage=_usage,
    example=_example,
)
