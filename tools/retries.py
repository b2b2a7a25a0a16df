"""Retries: what a call with an `idempotency_key` stores for its retry, and the answer to a retry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.errors import add_list_call
from tools.next_steps import list_call, view_call
from tools.tool import Answer, NextStep

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from tools.tool import Call, Context, Data, Given, Tool
    from workspace.writing.idempotency import RecordedRequest, Request
    from workspace.writing.plan import Plan, PlanStep

# What does not make it another call: the key itself, and a flag that is off in every call that commits.
_ASIDE = frozenset(("idempotency_key", "dry_run", "operations"))


def make_request(
    key: str,
    tool: Tool,
    given: Given,
    operations: Sequence[Given] | None,
    result: Callable[[Plan], Mapping[str, object]],
) -> Request:
    """Return a call as it is stored; `operations` are the parsed ones of a batch, None for a single call.

    Raises InvalidKey, and LimitExceeded for arguments that are nested too deeply.
    """
    from workspace.writing.idempotency import Request, compute_digest

    arguments = {name: value for name, value in given.items() if name not in _ASIDE}
    if operations is not None:
        arguments["operations"] = operations
    return Request(key, compute_digest(tool.name, arguments), result)


def strip_for_replay(step: PlanStep, answer: Callable[[PlanStep], Data], offered: Container[str]) -> Data:
    """Return one operation's result without its specification, its example and texts of documents."""
    from workspace.writing.plan import StepStatus

    if step.status is StepStatus.DONE:
        return {"success": True, **answer(step)}
    assert step.error is not None, "a batch of which something was undone is not committed"
    error = step.error
    fix = add_list_call(error.fix, error.among, offered)
    return {
        "success": False,
        "error": error.message,
        "code": error.code,
        **({"fix": fix} if fix else {}),
    }


def replay(
    context: Context, recorded: RecordedRequest, tool: Tool, items: Sequence[Given], hints: Sequence[str]
) -> Answer:
    """Return the first answer again: its own fields, its commit, and a next step from where things stand now.

    `hints` are those of today, and go before the first ones.
    """
    data: Data = {**recorded.result, "commit": recorded.commit, "repeated": True}
    if hints:
        first = data.get("hints")
        data["hints"] = [*hints, *(first if isinstance(first, list) else ())]
    failed = 0
    results = data.get("batch_results")
    if isinstance(results, list):
        for entry, item in zip(results, items, strict=False):
            if isinstance(entry, dict) and entry.get("success") is False:
                failed += 1
                entry["usage"] = dict(tool.usage(item))
    look = _look(context, data, items)
    if failed:
        words = f"Mend the {failed} that failed, as each one's error says, and send only them, with a new key"
        data["next_step"] = NextStep(words)
    else:
        data["next_step"] = NextStep("Nothing was done twice", *(("; go on from ", look) if look else ()))
    return Answer(data)


def _look(context: Context, data: Data, items: Sequence[Given]) -> Call | None:
    """Return a call that shows what the first one wrote, as far as it still stands."""
    named = [data, *items[::-1]]
    for path in (place.get(field) for place in named for field in ("path", "file")):
        if isinstance(path, str):
            file = path.partition("#")[0].removeprefix("./")
            entry = context.snapshot().entry(file)
            if entry is not None and entry.is_blob:
                return view_call(context, file)
    return list_call(context)
