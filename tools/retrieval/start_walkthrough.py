"""start_walkthrough: returns the first step of a walkthrough, and the handle for the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import ReadingArguments, read_arguments
from tools.retrieval.handles import WalkthroughPosition
from tools.retrieval.steps import describe_next_step
from tools.retrieval.walkthroughs import CurrentPosition, find_walkthrough_by_id
from tools.tool import Answer, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.retrieval.context import RetrievalContext
    from tools.tool import CallArguments, Data


class StartWalkthroughArguments(ReadingArguments):
    """The input of start_walkthrough."""

    walkthrough: str = Field(description="The id of list_walkthroughs")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {"start": "Call with {walkthrough}, an id of list_walkthroughs; keep the handle of the answer"}


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"walkthrough": "guides/install.md", **select_example_arguments(arguments, ("walkthrough",))}


def _run(context: RetrievalContext, arguments: CallArguments) -> Answer:
    request = read_arguments(StartWalkthroughArguments, arguments)
    found_walkthrough = find_walkthrough_by_id(context.sources, request.walkthrough)
    with found_walkthrough.source.open() as index:
        position = WalkthroughPosition(
            index.workspace.snapshot(found_walkthrough.commit), found_walkthrough.walkthrough, 0, None
        )
    fields: Data = {
        "title": found_walkthrough.walkthrough.title,
        "steps": len(found_walkthrough.walkthrough.steps),
    }
    return Answer(describe_next_step(context, CurrentPosition(found_walkthrough.source, position), fields))


TOOL = Tool(
    name="start_walkthrough",
    title="Start a walkthrough",
    toolset="retrieval",
    description="Start a walkthrough: its first step, and a handle for get_next_step",
    arguments=StartWalkthroughArguments,
    run=_run,
    usage=_usage,
    example=_example,
)
