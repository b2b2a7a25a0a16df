"""Answers to requests that are not let in: a few words and what to do, in the form that was asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import Scope

MCP = "/mcp"
_REFUSED = -32600  # JSON-RPC 2.0 §5.1, "Invalid Request"


def refusal(
    scope: Scope, status: int, message: str, fix: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer to a request that is refused: an error of the protocol at its address, elsewhere text."""
    if scope["path"] == MCP:
        error = {"code": _REFUSED, "message": f"{message}. {fix}"}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
        return Response(body, status, headers, "application/json")
    return PlainTextResponse(f"{message}\n{fix}\n", status, headers)


def wants_page(scope: Scope) -> bool:
    """Return True if a browser asks, for a page that a person looks at."""
    accepted = Headers(scope=scope).get("accept", "")
    return scope["method"] in ("GET", "HEAD") and "text/html" in accepted
