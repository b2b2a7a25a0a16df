"""Steps of a walkthrough in answers, within a budget of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.pages import cut_text, exceeds
from tools.retrieval.budgets import find_largest
from tools.retrieval.handles import write_handle
from tools.tool import NextStep, call

if TYPE_CHECKING:
    from tools.retrieval.context import RetrievalContext
    from tools.retrieval.walkthroughs import CurrentPosition
    from tools.tool import Data
    from workspace.document.walkthrough import Step


def describe_position(context: RetrievalContext, current: CurrentPosition) -> Data:
    """Return the step after a position and the handle for the one after it; `done` after the last step."""
    position = current.position
    step = position.next_step
    number = position.number if step is None else step.number
    handle = write_handle(
        namespace=current.source.name,
        walkthrough=position.walkthrough,
        commit=position.snapshot.commit,
        number=number,
    )
    if step is None:
        return {"handle": handle, "done": True, "commit": position.snapshot.commit}
    return _describe_step(context, current, step, handle, 0)


def describe_step_rest(context: RetrievalContext, current: CurrentPosition, step: Step, offset: int) -> Data:
    """Return the rest of the step that the caller received last, from a character on."""
    position = current.position
    handle = write_handle(
        namespace=current.source.name,
        walkthrough=position.walkthrough,
        commit=position.snapshot.commit,
        number=step.number,
    )
    return _describe_step(context, current, step, handle, offset)


def _describe_step(
    context: RetrievalContext,
    current: CurrentPosition,
    step: Step,
    handle: str,
    offset: int,
) -> Data:
    def build(size: int) -> Data:
        text, next_offset = cut_text(step.source, offset, size)
        fields: Data = {"number": step.number, "title": step.title, "content": text, "address": step.address}
        data: Data = {"handle": handle, "step": fields, "commit": current.position.snapshot.commit}
        if offset:
            fields["start"] = offset
        if next_offset is not None:
            fields["truncated"] = True
            rest_call = call("get_next_step", handle=handle, offset=next_offset)
            data["next_step"] = NextStep("Read the rest of the step with ", rest_call)
        return data

    length = len(step.source) - offset
    size = find_largest(length, lambda size: not exceeds(build(size), context.max_tokens))
    return build(max(size, 1))
