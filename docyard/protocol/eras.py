"""Both eras of the protocol over one pair of streams: the client's first request tells which it speaks.

The SDK can tell too, but puts a queue between a connection's streams and its server to look at that request,
through which every later message has to go. What is left to it is the stateless era (MCP 2026-07-28).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.models import InitializationOptions
from mcp.server.runner import serve_loop
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, PROTOCOL_VERSION_META_KEY, JSONRPCRequest
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from docyard.protocol.stdio import Wire


async def serve(server: Server[Any], wire: Wire, options: InitializationOptions) -> None:
    """Serve a client until its stream ends."""
    if _is_stateless(await wire.incoming.opening()):
        await server.run(wire.incoming, wire.outgoing, options)
    else:
        await serve_loop(server, wire.incoming, wire.outgoing, lifespan_state={}, init_options=options)


async def one_era(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware that refuses a request of the stateless era on a connection of the other."""
    is_request = ctx.request_id is not None
    is_handshake = ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
    if is_request and is_handshake and ctx.method != "initialize" and _has_envelope(ctx.params):
        raise MCPError(
            code=INVALID_REQUEST,
            message="this connection began with a handshake: "
            f"requests with {PROTOCOL_VERSION_META_KEY} in their _meta are for a connection of their own",
        )
    return await call_next(ctx)


def _is_stateless(opening: JSONRPCRequest | None) -> bool:
    return opening is not None and opening.method != "initialize" and _has_envelope(opening.params)


def _has_envelope(params: Mapping[str, Any] | None) -> bool:
    """Whether a request names its protocol version, as each of the stateless era does and none before."""
    meta = params.get("_meta") if params else None
    return isinstance(meta, Mapping) and PROTOCOL_VERSION_META_KEY in meta
