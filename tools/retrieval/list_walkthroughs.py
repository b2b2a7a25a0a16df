"""list_walkthroughs: lists the walkthroughs of the documentation sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from index.sources.settings import ALL_NAMESPACES
from index.sources.source import SourceUnavailable
from tools.arguments import Arguments, read_arguments
from tools.retrieval.walkthroughs import format_id, iterate_walkthroughs
from tools.tool import Answer, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.retrieval.context import RetrievalContext
    from tools.tool import CallArguments, Data


class ListWalkthroughsArguments(Arguments):
    """The input of list_walkthroughs."""

    namespace: str | None = None


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {"all": "Call with {}", "one source": "Add namespace"}


def _example(arguments: CallArguments) -> dict[str, Any]:
    return select_example_arguments(arguments, ("namespace",))


def _run(context: RetrievalContext, arguments: CallArguments) -> Answer:
    request = read_arguments(ListWalkthroughsArguments, arguments)
    sources = context.sources
    selected = sources.select(request.namespace or ALL_NAMESPACES) if len(sources) else ()
    walkthroughs: list[Data] = []
    unavailable: dict[str, str] = {}
    for source in selected:
        try:
            walkthroughs += [
                {
                    "id": format_id(sources, source, walkthrough),
                    "title": walkthrough.title,
                    "description": walkthrough.description,
                    "technology": walkthrough.technology,
                    "steps": len(walkthrough.steps),
                    "namespace": source.name,
                }
                for walkthrough in iterate_walkthroughs(source)
            ]
        except SourceUnavailable as error:
            unavailable[source.name] = error.reason
    data: Data = {"walkthroughs": walkthroughs}
    if unavailable:
        data["unavailable"] = unavailable
    return Answer(data)


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
