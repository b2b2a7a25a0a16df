"""Calls of tools by the shortest way through the SDK.

What a tool answers has the shape of the protocol as it is made. The SDK would check it, copy it three times
and write it once more, which takes as long as a search; so a plain call is answered before all that, and
one that waits for nothing as soon as its line is read. Anything else, such as a call before the handshake,
with fields that are none of ours, or in an envelope that the SDK has not seen yet, goes the SDK's own way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    RequestId,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic_core import from_json

from docyard.protocol.answers import line_of

Context = ServerRequestContext[Any, Any]
Result = dict[str, Any]
Call = Callable[[Context, str, Mapping[str, Any]], Awaitable[Result]]
AtOnce = Callable[[str, Mapping[str, Any]], Result | None]

_METHOD = "tools/call"
_MARK = b'"tools/call"'
_LONG = 1 << 16  # bytes of a line that is not read twice
_REQUEST = frozenset({"jsonrpc", "id", "method", "params"})
_BARE = frozenset({"name", "arguments"})
_FIELDS = _BARE | {"_meta"}
_ENVELOPE = frozenset({PROTOCOL_VERSION_META_KEY, CLIENT_INFO_META_KEY, CLIENT_CAPABILITIES_META_KEY})


class DirectCalls:
    """Middleware of a server: `call` answers a call of a tool with a result as it is sent.

    `at_once` does that too where nothing has to be waited for, and gives None where something has. `stamp`
    gives what the stateless era's results say of the server (MCP 2026-07-28, "Result").
    """

    def __init__(self, call: Call, at_once: AtOnce, stamp: Callable[[], dict[str, Any]]) -> None:
        self._call = call
        self._at_once = at_once
        self._stamp = stamp
        self._has_shaken_hands = False
        self._envelope: str | None = None  # of a call that came through the SDK, in the stateless era
        self._refused: RequestId | None = None  # what was not answered at once, on its way through the SDK

    def answer(self, line: bytes) -> bytes | None:
        """The answer to a call before the SDK has heard of it; None for all that is not answered here.

        That is begun after a call has come through the SDK, by which it is known that there was a handshake,
        or that the envelope in which each call of the stateless era comes is one that the SDK accepts.
        """
        if len(line) > _LONG or _MARK not in line:
            return None
        try:
            request = from_json(line)
        except ValueError:
            return None
        if not _is_request(request) or not self._is_accepted(params := request["params"]):
            return None
        identity = request["id"]
        result = self._at_once(params["name"], params.get("arguments") or {})
        self._refused = identity if result is None else None
        if result is None:
            return None
        return line_of(identity, self._stamped(result) if "_meta" in params else result)

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        params = ctx.params
        if ctx.method != _METHOD or params is None or not _is_plain(ctx, params):
            return await call_next(ctx)
        name, arguments = params["name"], params.get("arguments") or {}
        result = None if ctx.request_id == self._refused else self._at_once(name, arguments)
        if result is None:
            result = await self._call(ctx, name, arguments)
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            if params.get("_meta", {}).keys() == _ENVELOPE:
                self._envelope = repr(params["_meta"])
            return self._stamped(result)
        self._has_shaken_hands = True
        return result

    def _is_accepted(self, params: Mapping[str, Any]) -> bool:
        """Whether the SDK would let a call through, as it did with one like it."""
        if "_meta" not in params:
            return self._has_shaken_hands and params.keys() <= _BARE and _is_call(params)
        # To a comparison of values 1 is True.
        is_known = self._envelope is not None and repr(params["_meta"]) == self._envelope
        return is_known and params.keys() <= _FIELDS and _is_call(params)

    def _stamped(self, result: Result) -> Result:
        """A result with what the stateless era asks for."""
        return result | {"resultType": "complete", "_meta": {SERVER_INFO_META_KEY: self._stamp()}}


def _is_request(message: object) -> bool:
    """Whether this is a request to call a tool, with no field but those that each request has."""
    return (
        isinstance(message, dict)
        and message.keys() == _REQUEST
        and message["jsonrpc"] == "2.0"
        and message["method"] == _METHOD
        and type(message["id"]) in (int, str)
        and isinstance(message["params"], dict)
    )


def _is_call(params: Mapping[str, Any]) -> bool:
    return isinstance(params.get("name"), str) and isinstance(params.get("arguments"), dict | None)


def _is_plain(context: Context, params: Mapping[str, Any]) -> bool:
    """Whether there is nothing in a call that only the SDK knows how to check."""
    return (
        params.keys() <= _FIELDS
        and _is_call(params)
        and ("_meta" not in params or (context.meta is not None and LOG_LEVEL_META_KEY not in context.meta))
        and context.request_id is not None
        and context.session.client_params is not None
    )
