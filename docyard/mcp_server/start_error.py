"""A server that answers each call with the reason why `docyard serve` cannot start.

A host that starts a server over standard input and output shows "Connection closed" if the server ends before
the handshake. So this server completes the handshake. The error is in its instructions, in the description of
its only tool, and in the answer to each call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from docyard.mcp_server.stdio import open_stdio
from workspace.errors import WorkspaceError
from workspace.escapes import escape_invisible

_Context = ServerRequestContext[Any, Any]

TOOL = "show_start_error"
_RESTART = "Then restart the server docyard in this host."
_REPAIRED = "Docyard can start now. Restart the server docyard in this host to use its tools."


def run_start_error(
    error: WorkspaceError, find_error: Callable[[], WorkspaceError | None], *, version: str
) -> None:
    """Serve an error over standard input and output until the client closes its end.

    `find_error` tries to start again, for each call, and returns the present error; None if there is none.
    """
    anyio.run(_serve, error, find_error, version)


async def _serve(
    error: WorkspaceError, find_error: Callable[[], WorkspaceError | None], version: str
) -> None:
    text = _format_error(error)

    async def list_tools(context: _Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        tool = Tool(
            name=TOOL,
            description=f"{text} This tool checks whether the error still exists.",
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
            annotations=ToolAnnotations(
                read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        )
        return ListToolsResult(tools=[tool])

    async def call_tool(context: _Context, params: CallToolRequestParams) -> CallToolResult:
        present_error = await anyio.to_thread.run_sync(find_error)
        if present_error is None:
            # A call of another tool was not carried out, so its answer remains an error.
            data, answer = {"code": "RESTART_REQUIRED", "error": _REPAIRED}, _REPAIRED
            is_error = params.name != TOOL
        else:
            answer, is_error = _format_error(present_error), True
            data = {"code": present_error.code, "error": present_error.message, "fix": present_error.fix}
        content = TextContent(type="text", text=answer)
        return CallToolResult(content=[content], structured_content=data, is_error=is_error)

    server: Server[Any] = Server(
        "docyard", version=version, instructions=text, on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with open_stdio() as connection:
        await server.run(connection.incoming, connection.outgoing, server.create_initialization_options())


def _format_error(error: WorkspaceError) -> str:
    """Return an error with its fix, for a model and for people."""
    return escape_invisible(f"Docyard cannot start: {error.message}. {error.fix} {_RESTART}")
