"""list_walkthroughs: lists the walkthroughs of the documentation sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from index.sources.settings import ALL_NAMESPACES
from index.sources.source import SourceUnavailable
from tools.arguments import ReadingArguments, read_arguments
from tools.retrieval.budgets import list_entries
from tools.retrieval.walkthroughs import format_walkthrough_id, iterate_walkthroughs
from tools.tool import Answer, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.retrieval.context import RetrievalContext
    from tools.tool import CallArguments, Data


class ListWalkthroughsArguments(ReadingArguments):
    """The input of list_walkthroughs."""

    namespace: str | None = None
    cursor: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {"all": "Call with {}", "one source": "Add namespace"}


def _example(arguments: CallArguments) -> dict[str, Any]:
    return select_example_arguments(arguments, ("namespace",))


def _run(context: RetrievalContext, arguments: CallArguments) -> Answer:
    request = read_arguments(ListWalkthroughsArguments, arguments)
    sources = context.sources
    selected_sources = sources.select(request.namespace or ALL_NAMESPACES) if len(sources) else ()
    entries: list[tuple[str, Data]] = []
    unavailable: dict[str, str] = {}
    for source in selected_sources:
        try:
            for walkthrough in iterate_walkthroughs(source):
                id = format_walkthrough_id(sources, source, walkthrough)
                entry: Data = {
                    "id": id,
                    "title": walkthrough.title,
                    "description": walkthrough.description,
                    "technology": walkthrough.technology,
                    "steps": len(walkthrough.steps),
                    "namespace": source.name,
                }
                entries.append((id, entry))
        except SourceUnavailable as error:
            unavailable[source.name] = error.reason
    other_fields: Data = {"unavailable": unavailable} if unavailable else {}
    return Answer(list_entries(context, "walkthroughs", entries, request.cursor, other_fields))


TOOL = Tool(
    name="list_walkthroughs",
    title="List walkthroughs",
    toolset="retrieval",
    description="List the step-by-step walkthroughs in the documentation",
    arguments=ListWalkthroughsArguments,
    run=_run,
    usage=_usage,
    example=_example,
)
