"""Batches of reads: several views or searches in one call, each with its own result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.arguments import OPERATIONS, InvalidArguments, read_operations
from tools.errors import error_response
from tools.read_context import ReadContext
from tools.tool import Answer, Data
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.tool import CallArguments, Tool
    from workspace.snapshot.snapshot import Snapshot

MAX_READS = 50


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
    read_context: ReadContext, tool: Tool, operations: object, read: Callable[[CallArguments], Data]
) -> Answer:
    """Return the result of each read of a batch, in order; a failed read does not affect the others.

    The answer is an error if each read failed. Raises InvalidArguments for a malformed batch.
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
    for item in items:
        try:
            data = read(item)
        except WorkspaceError as error:
            snapshot = _find_snapshot(read_context, item)
            offered_tools = read_context.context.tools
            response = error_response(error, tool, item, snapshot, offered_tools=offered_tools)
            results.append({"success": False, **response})
            continue
        data.pop("next_step", None)  # only the whole answer has a next step
        if data.get("commit") == commit:
            del data["commit"]
        results.append({"success": True, **data})
    has_failed = not any(result["success"] for result in results)
    return Answer({"batch_results": results, "commit": commit}, is_error=has_failed)


def _find_snapshot(read_context: ReadContext, item: CallArguments) -> Snapshot:
    """Return the snapshot at the ref of a read; that of the call if the ref is missing or invalid."""
    ref = item.get("ref")
    if not isinstance(ref, str):
        return read_context.snapshot
    try:
        return ReadContext.at(read_context.context, ref).snapshot
    except WorkspaceError:
        return read_context.snapshot
