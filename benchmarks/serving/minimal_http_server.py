"""A minimal MCP server over HTTP with one tool, for comparison of searches under load.

    python -m benchmarks.serving.minimal_http_server BYTES

The tool returns a text of BYTES bytes, and the same as structured content.
"""

from __future__ import annotations

import socket
import sys
from typing import Any

import uvicorn
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from benchmarks.serving.minimal_server import list_tools


def serve(size: int) -> None:
    """Print the address, and run the server until the process is terminated."""
    text = "nothing " * (size // 8)

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: CallToolRequestParams
    ) -> CallToolResult:
        return CallToolResult(
            content=[TextContent(type="text", text=text)], structured_content={"text": text}
        )

    server: Server[Any] = Server("minimal", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    # Without an explicit protocol number, the event loop delays small responses.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
        app = server.streamable_http_app(json_response=True, stateless_http=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


if __name__ == "__main__":
    serve(int(sys.argv[1]))
