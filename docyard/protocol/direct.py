"""Calls of tools by the shortest way through the SDK.

What a tool answers has the shape of the protocol as it is made. The SDK would check it, copy it three times
and write it once more, which takes as long as a search; so a plain call is answered before all that. Anything
else, such as a call before the handshake or with fields that are none of ours, goes the SDK's own way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import LOG_LEVEL_META_KEY, SERVER_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]
Call = Callable[[Context, str, Mapping[str, Any]], Awaitable[dict[str, Any]]]

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
        if ctx.method != "tools/call" or params is None or not _is_plain(ctx, params):
            return await call_next(ctx)
        result = await self._call(ctx, params["name"], params.get("arguments") or {})
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            result |= {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: self._stamp()}}
        return result


def _is_plain(context: Context, params: Mapping[str, Any]) -> bool:
    """Whether there is nothing in a call that only the SDK knows how to check."""
    return (
        params.keys() <= _FIELDS
        and isinstance(params.get("name"), str)
        and isinstance(params.get("arguments"), dict | None)
        and ("_meta" not in params or (context.meta is not None and LOG_LEVEL_META_KEY not in context.meta))
        and context.request_id is not None
        and context.session.client_params is not None
    )
