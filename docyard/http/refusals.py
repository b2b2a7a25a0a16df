"""Responses to rejected requests: a message and a fix, in the format that the client accepts."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

MCP_PATH = "/mcp"
_INVALID_REQUEST = -32600  # JSON-RPC 2.0 §5.1, "Invalid Request"


def build_refusal(
    scope: Scope, status: int, message: str, fix: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response to a rejected request: a protocol error at /mcp, elsewhere text."""
    if scope["path"] == MCP_PATH:
        error = {"code": _INVALID_REQUEST, "message": f"{message}. {fix}"}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
        return Response(body, status, headers, "application/json")
    return PlainTextResponse(f"{message}\n{fix}\n", status, headers)


def is_page_request(scope: Scope) -> bool:
    """Return True if a browser requests a page."""
    accept_header = Headers(scope=scope).get("accept", "")
    return scope["method"] in ("GET", "HEAD") and "text/html" in accept_header
