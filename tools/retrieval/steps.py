"""Steps of a walkthrough in answers, within a budget of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.pages import CHARACTERS_PER_TOKEN, cut_text, exceeds, measure_tokens
from tools.retrieval.budgets import find_largest_fitting_size
from tools.retrieval.handles import write_handle
from tools.retrieval.results import Detail
from tools.tool import NextStep, call

if TYPE_CHECKING:
    from tools.retrieval.context import RetrievalContext
    from tools.retrieval.walkthroughs import CurrentPosition
    from tools.tool import Data
    from workspace.document.walkthrough import Step

_MIN_CONTENT_CHARACTERS = 100


def describe_next_step(
    context: RetrievalContext, current: CurrentPosition, other_fields: Data | None = None
) -> Data:
    """Return the step after a position and the handle for the one after it; `done` after the last step."""
    position = current.position
    step = position.next_step
    if step is None:
        handle = _write_handle(context, current, position.number)
        return {"handle": handle, "done": True, "commit": position.snapshot.commit}
    return describe_step(context, current, step, 0, other_fields)


def describe_step(
    context: RetrievalContext,
    current: CurrentPosition,
    step: Step,
    offset: int,
    other_fields: Data | None = None,
) -> Data:
    """Return the text of a step from a character on, as much as fits, and the handle for the step after it.

    `other_fields` precede the fields of the answer.
    """
    handle = _write_handle(context, current, step.number)
    remaining_count = len(step.source) - offset

    def build(size: int, detail: Detail) -> Data:
        text, next_offset = cut_text(step.source, offset, size)
        fields: Data = {"number": step.number, "title": step.title, "content": text, "address": step.address}
        data: Data = {**(other_fields or {}), "handle": handle, "step": fields}
        data["commit"] = current.position.snapshot.commit
        if detail is Detail.MINIMAL:
            fields = {"number": step.number, "content": text}
            data = {"handle": handle, "step": fields}
        if offset:
            fields["start"] = offset
        if next_offset is not None:
            fields |= {"truncated": True, "offset": next_offset}
            rest_call = call("get_next_step", handle=handle, offset=next_offset)
            data["next_step"] = (
                NextStep("Read the rest of the step with ", rest_call)
                if detail is Detail.FULL
                else NextStep("Read the rest: get_next_step with this handle and offset")
            )
        return data

    min_size, max_tokens = min(remaining_count, _MIN_CONTENT_CHARACTERS), context.max_tokens
    detail = next(
        (item for item in reversed(Detail) if not exceeds(build(min_size, item), max_tokens)), Detail.MINIMAL
    )
    size = find_largest_fitting_size(
        remaining_count,
        lambda size: measure_tokens(build(size, detail)),
        max_tokens,
        max_tokens * CHARACTERS_PER_TOKEN,
    )
    return build(max(size, 1), detail)


def _write_handle(context: RetrievalContext, current: CurrentPosition, number: int) -> str:
    position = current.position
    return write_handle(
        context.sources.signing_keys,
        namespace=current.source.name,
        walkthrough=position.walkthrough,
        commit=position.snapshot.commit,
        number=number,
        organization=current.source.organization,
    )
