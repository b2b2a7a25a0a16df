"""get_next_step: returns the step after the one that a handle names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from tools.arguments import InvalidArguments, Natural, ReadingArguments, read_arguments
from tools.retrieval.steps import describe_next_step, describe_step
from tools.retrieval.walkthroughs import find_position
from tools.tool import Answer, Tool
from tools.writer import select_example_arguments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.retrieval.context import RetrievalContext
    from tools.tool import CallArguments


class GetNextStepArguments(ReadingArguments):
    """The input of get_next_step."""

    handle: str = Field(description="The handle of the last answer")
    offset: Natural | None = Field(None, description="Rest of that answer's step")


def _usage(arguments: CallArguments) -> Mapping[str, object]:
    return {
        "next": "Call with {handle}, of start_walkthrough or of the step before",
        "rest": "Add the offset of a truncated step for its rest",
    }


def _example(arguments: CallArguments) -> dict[str, Any]:
    return {"handle": "…", **select_example_arguments(arguments, ("handle",))}


def _run(context: RetrievalContext, arguments: CallArguments) -> Answer:
    request = read_arguments(GetNextStepArguments, arguments)
    current = find_position(context.sources, request.handle)
    if not request.offset:
        return Answer(describe_next_step(context, current))
    step = current.position.step
    if step is None or request.offset >= len(step.source):
        size = f"{len(step.source):,} characters" if step is not None else "no text"
        raise InvalidArguments(
            f"'offset' is after the end of the step, which has {size}",
            fix="Leave out 'offset' for the next step.",
            field="offset",
        )
    return Answer(describe_step(context, current, step, request.offset))


TOOL = Tool(
    name="get_next_step",
    title="Get the next step",
    toolset="retrieval",
    description="Get the next step of a walkthrough",
    arguments=GetNextStepArguments,
    run=_run,
    usage=_usage,
    example=_example,
)
