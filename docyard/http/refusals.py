"""Responses to rejected requests: a message and a fix, in the format that the client accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

MCP_PATH = "/mcp"
_ORGANIZATION_MCP_PATH = re.compile(r"/o/[a-z0-9-]{1,64}/[a-z0-9-]{1,64}/mcp")
_INVALID_REQUEST = -32600  # JSON-RPC 2.0 §5.1, "Invalid Request"


def is_mcp_path(path: str) -> bool:
    """Return True for the address of an MCP endpoint: of the server, or of a server of an organization."""
    return path == MCP_PATH or _ORGANIZATION_MCP_PATH.fullmatch(path) is not None


def build_refusal(
    scope: Scope, status: int, message: str, fix: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response to a rejected request: a protocol error at an MCP endpoint, elsewhere text."""
    if is_mcp_path(scope["path"]):
        return build_json_rpc_error(status, message, fix, headers)
    return PlainTextResponse(f"{message}\n{fix}\n", status, headers)


def build_json_rpc_error(
    status: int, message: str, fix: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response with a protocol error."""
    error = {"code": _INVALID_REQUEST, "message": f"{message}. {fix}"}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    return Response(body, status, headers, "application/json")


def is_page_request(scope: Scope) -> bool:
    """Return True if a browser requests a page."""
    accept_header = Headers(scope=scope).get("accept", "")
    return scope["method"] in ("GET", "HEAD") and "text/html" in accept_header
