"""A minimal MCP server with one tool, for comparison of start and call times."""

from __future__ import annotations

from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)


async def list_tools(
    context: ServerRequestContext[Any, Any], params: PaginatedRequestParams | None
) -> ListToolsResult:
    """Return one tool, which ignores its arguments."""
    tool = {"name": "nothing", "description": "Does nothing.", "inputSchema": {"type": "object"}}
    return ListToolsResult(tools=[Tool.model_validate(tool)])


async def call_tool(context: ServerRequestContext[Any, Any], params: CallToolRequestParams) -> CallToolResult:
    """Return one word."""
    return CallToolResult(content=[TextContent(type="text", text="nothing")])


async def serve() -> None:
    """Run the server until standard input ends."""
    server: Server[Any] = Server("minimal", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(serve)
