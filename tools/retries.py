"""Stored answers of calls with an `idempotency_key`, and the answer to a retry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.errors import add_suggested_call
from tools.next_steps import suggest_list_call, suggest_view_call
from tools.tool import Answer, NextStep

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from tools.tool import Call, CallArguments, Context, Data, Tool
    from workspace.writing.idempotency import KeyedRequest, RecordedRequest
    from workspace.writing.plan import Plan, PlanStep

# The digest of a call excludes the key, `dry_run` (false in every commit), and the unparsed operations.
_EXCLUDED_FIELDS = frozenset(("idempotency_key", "dry_run", "operations"))


def make_request(
    key: str,
    tool: Tool,
    arguments: CallArguments,
    operations: Sequence[CallArguments] | None,
    build_result: Callable[[Plan], Mapping[str, object]],
) -> KeyedRequest:
    """Return the request of a call for storage; `operations` are those of a batch, None for a single call.

    Raises InvalidKey, and LimitExceeded for arguments that are nested too deeply.
    """
    from workspace.writing.idempotency import KeyedRequest, compute_call_digest

    canonical_arguments = {name: value for name, value in arguments.items() if name not in _EXCLUDED_FIELDS}
    if operations is not None:
        canonical_arguments["operations"] = operations
    return KeyedRequest(key, compute_call_digest(tool.name, canonical_arguments), build_result)


def strip_for_replay(
    step: PlanStep, build_data: Callable[[PlanStep], Data], offered_tools: Container[str]
) -> Data:
    """Return the result of one operation without usage, example and texts of documents."""
    from workspace.writing.plan import StepStatus

    if step.status is StepStatus.DONE:
        return {"success": True, **build_data(step)}
    assert step.error is not None, "a batch with a rolled back operation is not committed"
    error = step.error
    fix = add_suggested_call(error.fix, error.suggestion_source, offered_tools)
    return {
        "success": False,
        "error": error.message,
        "code": error.code,
        **({"fix": fix} if fix else {}),
    }


def replay(
    context: Context,
    recorded_request: RecordedRequest,
    tool: Tool,
    items: Sequence[CallArguments],
    hints: Sequence[str],
) -> Answer:
    """Return the stored answer with its commit, and with a next step for the current state.

    `hints` are the hints of the retry; they precede the stored hints.
    """
    data: Data = {**recorded_request.result, "commit": recorded_request.commit, "repeated": True}
    if hints:
        stored_hints = data.get("hints")
        data["hints"] = [*hints, *(stored_hints if isinstance(stored_hints, list) else ())]
    failed_count = 0
    results = data.get("batch_results")
    if isinstance(results, list):
        for entry, item in zip(results, items, strict=False):
            if isinstance(entry, dict) and entry.get("success") is False:
                failed_count += 1
                entry["usage"] = dict(tool.usage(item))
    view = _build_view_call(context, data, items)
    if failed_count:
        instruction = (
            f"Fix the failed operations ({failed_count}) as their errors describe, "
            "and send only those with a new key"
        )
        data["next_step"] = NextStep(instruction)
    else:
        data["next_step"] = NextStep(
            "The call was committed before, and was not repeated",
            *(("; see the result with ", view) if view else ()),
        )
    return Answer(data)


def _build_view_call(context: Context, data: Data, items: Sequence[CallArguments]) -> Call | None:
    """Return a call that shows a document that the first call wrote, or that lists documents."""
    sources = [data, *items[::-1]]
    for path in (source.get(field) for source in sources for field in ("path", "file")):
        if isinstance(path, str):
            file = path.partition("#")[0].removeprefix("./")
            entry = context.snapshot().entry(file)
            if entry is not None and entry.is_blob:
                return suggest_view_call(context, file)
    return suggest_list_call(context)
