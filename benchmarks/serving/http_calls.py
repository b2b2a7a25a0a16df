"""Tool calls over HTTP without a handshake."""

from __future__ import annotations

import http.client
import json
from itertools import count
from typing import Any

from benchmarks.child import MeasurementFailed
from benchmarks.serving.stdio import REQUEST_META

_request_ids = count(1)


def build_call(tool: str, arguments: dict[str, Any]) -> tuple[dict[str, str], bytes]:
    """Return the headers and the body of a request that calls a tool, and wants JSON."""
    params = {"name": tool, "arguments": arguments, "_meta": REQUEST_META}
    request = {"jsonrpc": "2.0", "id": next(_request_ids), "method": "tools/call", "params": params}
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "MCP-Protocol-Version": str(REQUEST_META["io.modelcontextprotocol/protocolVersion"]),
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    return headers, json.dumps(request).encode()


def call_tool(connection: http.client.HTTPConnection, tool: str, arguments: dict[str, Any]) -> None:
    """Call a tool. Raises MeasurementFailed if the response is not a result, or the result is an error."""
    headers, request = build_call(tool, arguments)
    connection.request("POST", "/mcp", request, headers)
    response = connection.getresponse()
    body = response.read()
    if response.status != 200 or json.loads(body).get("result", {"isError": True}).get("isError"):
        raise MeasurementFailed(f"POST /mcp: {response.status} {body[:200]!r}")
