"""Calls of tools by the shortest way through the SDK.

What a tool answers has the shape of the protocol as it is made. The SDK would check it and copy it three
times; so a plain call is answered before that. Anything else, such as a call before the handshake or one with
unknown fields, goes the SDK's own way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY, SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]
Result = dict[str, Any]
Call = Callable[[Context, str, Mapping[str, Any] | list[Any]], Awaitable[Result]]

_METHOD = "tools/call"
_FIELDS = frozenset({"name", "arguments", "_meta"})


class DirectCalls:
    """Middleware of a server: `call` answers a call of a tool with a result as it is sent.

    `stamp` gives what the stateless era's results say of the server (MCP 2026-07-28, "Result").
    """

    def __init__(self, call: Call, stamp: Callable[[], dict[str, Any]]) -> None:
        self._call = call
        self._stamp = stamp

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params
        if ctx.method == _METHOD and params is not None and _is_call_with_array(ctx, params):
            # The tool itself refuses it for every caller, so that the envelope need not be checked.
            refused = await self._call(ctx, params["name"], params["arguments"])
            return self._stamped(refused) if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else refused
        if ctx.method != _METHOD or params is None or not _is_plain(ctx, params):
            return await call_next(ctx)
        name, arguments = params["name"], params.get("arguments") or {}
        result = await self._call(ctx, name, arguments)
        return self._stamped(result) if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else result

    def _stamped(self, result: Result) -> Result:
        """Return a result with what the stateless version of the protocol asks for."""
        return result | {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: self._stamp()}}


def _is_call(params: Mapping[str, Any]) -> bool:
    return isinstance(params.get("name"), str) and isinstance(params.get("arguments"), dict | None)


def _is_call_with_array(context: Context, params: Mapping[str, Any]) -> bool:
    """Return True if the arguments are an array, which the SDK would refuse without a word on what to send.

    The tool answers how several operations are sent.
    """
    is_call = isinstance(params.get("name"), str) and isinstance(params.get("arguments"), list)
    return is_call and context.request_id is not None


def _is_plain(context: Context, params: Mapping[str, Any]) -> bool:
    """Whether there is nothing in a call that only the SDK knows how to check."""
    return (
        params.keys() <= _FIELDS
        and _is_call(params)
        and ("_meta" not in params or (context.meta is not None and LOG_LEVEL_META_KEY not in context.meta))
        and context.request_id is not None
        and context.session.client_params is not None
    )
