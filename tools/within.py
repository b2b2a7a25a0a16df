"""Calls within a proposal: what a next step names is read there, and written there."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.answers import Answer
    from tools.tool import Tool

# The name of a tool and the beginning of its fields, as `answers.call` writes them.
_CALL = re.compile(r"\b([a-z_]{3,40}) (?=\{)")
_JSON = json.JSONDecoder()


def within(step: str, proposal: str) -> str:
    """A next step whose calls keep to a proposal: readers with `ref`, writers with `proposal`.

    A writer's call without fields explains the writer, and stays as it is. A step that names no call says
    for which proposal it is meant.
    """
    parts: list[str] = []
    at = 0
    if _CALL.search(step) is None:
        return f"{step}, with proposal {proposal}"
    while found := _CALL.search(step, at):
        begin = found.end()
        parts.append(step[at:begin])
        try:
            fields, at = _JSON.raw_decode(step, begin)
        except ValueError:
            at = begin
            continue
        parts.append(json.dumps({**fields, **_kept(found[1], proposal, bool(fields))}, ensure_ascii=False))
    return "".join((*parts, step[at:]))


def keeping_to(proposal: object, tool: Tool, answer: Answer) -> Answer:
    """An answer that only explains how to write, whose calls write to the proposal that was named."""
    step = answer.data.get("next_step")
    if not tool.writes or not isinstance(proposal, str) or "proposal" in answer.data or step is None:
        return answer
    return replace(answer, data={**answer.data, "next_step": within(step, proposal)})


def _kept(tool: str, proposal: str, has_fields: bool) -> dict[str, str]:
    field = _fields().get(tool)
    if field is None or (field == "proposal" and not has_fields):
        return {}
    return {field: proposal}


@cache
def _fields() -> dict[str, str]:
    """By which field each tool is told of a proposal."""
    # Imported here because the registry's tools import this module.
    from tools.toolsets import all_tools

    found: dict[str, str] = {}
    for tool in all_tools():
        known = tool.arguments.model_fields
        field = next((name for name in ("proposal", "ref") if name in known), None)
        if field is not None:
            found[tool.name] = field
    return found
