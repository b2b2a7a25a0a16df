"""Batches of reads: several views or searches in one call, each with its own result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tools.arguments import OPERATIONS, InvalidArguments, check_call_fields, read_operations
from tools.budgets.fit import SeenTextsRecorder
from tools.budgets.limits import MAX_TOKENS, parse_max_tokens
from tools.errors import build_error_response
from tools.pages import measure_tokens
from tools.read_context import ReadContext
from tools.tool import Answer, Data, NextStep
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.tool import CallArguments, Context, Tool
    from workspace.snapshot.snapshot import Snapshot

MAX_READS = 50
_RESERVED_TOKENS = 500  # for each later result of a batch


def check_batch_fields(arguments: CallArguments, *common_fields: str) -> None:
    """Raise InvalidArguments if a batch also has fields of a single read."""
    other_fields = sorted(arguments.keys() - {OPERATIONS, *common_fields})
    if other_fields:
        raise InvalidArguments(
            f"both '{OPERATIONS}' and fields of a single call ({', '.join(other_fields[:5])}) are given",
            fix=f"Put these fields into each of the '{OPERATIONS}'.",
            field=OPERATIONS,
        )


def answer_batch(
    read_context: ReadContext,
    tool: Tool,
    operations: object,
    read: Callable[[CallArguments, Context], Data],
) -> Answer:
    """Return the result of each read of a batch, in order; a failed read does not affect the others.

    `read` gets a context whose limit is what the other results leave. `next_operation` is the position of
    the first operation that does not fit into the answer. The answer is an error if each read failed. Raises
    InvalidArguments for a malformed batch.
    """
    items = read_operations(operations)
    if len(items) > MAX_READS:
        raise InvalidArguments(
            f"'{OPERATIONS}' has {len(items):,} entries; at most {MAX_READS} are allowed",
            fix="Split the call into several.",
            field=OPERATIONS,
        )
    commit = read_context.snapshot.commit
    results: list[Data] = []
    context = read_context.context
    reserved_tokens = min(context.text_tokens // len(items), _RESERVED_TOKENS)
    remaining_tokens = context.text_tokens
    for index, item in enumerate(items):
        tokens = max(remaining_tokens - (len(items) - index - 1) * reserved_tokens, 1)
        recorder = None if context.seen_texts is None else SeenTextsRecorder()
        try:
            check_call_fields(item, (OPERATIONS,))
            if item.get(MAX_TOKENS) is not None:
                tokens = min(tokens, parse_max_tokens(item[MAX_TOKENS], context.text_tokens))
            data = read(item, replace(context, max_text_tokens=tokens, seen_texts=recorder))
        except WorkspaceError as error:
            snapshot = _find_snapshot(read_context, item)
            offered_tools = read_context.context.tools
            response = build_error_response(error, tool, item, snapshot, offered_tools=offered_tools)
            results.append({"success": False, **response})
        else:
            data.pop("next_step", None)  # only the whole answer has a next step
            if data.get("commit") == commit:
                del data["commit"]
            results.append({"success": True, **data})
        remaining_tokens -= measure_tokens(results[-1]) + 1
        if index and remaining_tokens < 0:
            results.pop()
            break
        if recorder is not None and context.seen_texts is not None:
            context.seen_texts.add(recorder.digests)
    has_only_failures = not any(result["success"] for result in results)
    answer_data: Data = {"batch_results": results, "commit": commit}
    if (count := len(results)) < len(items):
        step = NextStep(f"Repeat the call with {OPERATIONS}[{count}] and the later ones only")
        answer_data |= {"next_operation": count, "next_step": step}
    return Answer(answer_data, is_error=has_only_failures)


def _find_snapshot(read_context: ReadContext, item: CallArguments) -> Snapshot:
    """Return the snapshot at the ref of a read; that of the call if the ref is missing or invalid."""
    ref = item.get("ref")
    if not isinstance(ref, str):
        return read_context.snapshot
    try:
        return ReadContext.at(read_context.context, ref).snapshot
    except WorkspaceError:
        return read_context.snapshot
