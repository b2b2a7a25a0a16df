"""A client of an MCP server that runs in a child process, based on the SDK's client."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal, TextIO

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation, TextContent


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool: its data, its text for a model, and `is_error`."""

    data: Mapping[str, Any]
    text: str
    is_error: bool


class ServerConnection:
    """A connection to one server."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @property
    def protocol(self) -> str:
        """Return the negotiated version of the protocol."""
        return self._client.protocol_version

    @property
    def server(self) -> str:
        """Return the server's name and version."""
        info = self._client.server_info
        return f"{info.name} {info.version}" if info else "unnamed"

    async def list_tools(self) -> list[str]:
        """Return the names of the server's tools, in its order."""
        return [tool.name for tool in (await self._client.list_tools()).tools]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool and wait for its answer."""
        result = await self._client.call_tool(name, dict(arguments))
        text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        data = result.structured_content
        return ToolAnswer(data if isinstance(data, dict) else json.loads(text), text, bool(result.is_error))


@asynccontextmanager
async def connect(
    command: Sequence[str],
    *,
    name: str,
    version: str,
    variables: Mapping[str, str],
    log: TextIO,
    mode: Literal["auto", "legacy"] = "auto",
) -> AsyncIterator[ServerConnection]:
    """Start a server, yield a connection to it, and stop the server at the end.

    `name` and `version` describe the client, `variables` are the server's environment, and `log` receives
    its standard error. `mode` "legacy" uses the handshake of 2025; "auto" tries the newest protocol first.
    Raises OSError if the program cannot be started.
    """
    program, *program_arguments = command
    parameters = StdioServerParameters(command=program, args=program_arguments, env=dict(variables))
    client_info = Implementation(name=name, version=version)
    async with Client(stdio_client(parameters, errlog=log), client_info=client_info, mode=mode) as client:
        yield ServerConnection(client)
