"""Paths of servers: a request to `/o/ORGANIZATION/SERVER/mcp` becomes one to `/mcp` of that server.

All checks of the protocol's path then apply to each server alike.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.http.refusals import MCP_PATH

_SERVER_PATH = re.compile(r"(/o/([a-z0-9](?:[a-z0-9-]{0,62}))/([a-z0-9](?:[a-z0-9-]{0,62})))/mcp")
_STATE_KEY = "server_address"


class ServerAddress(NamedTuple):
    """The slugs of a server in the path of a request."""

    organization: str
    server: str


def build_server_path(organization: str, server: str) -> str:
    """Return the path at which a server speaks MCP."""
    return f"/o/{organization}/{server}{MCP_PATH}"


class ServerPathMiddleware:
    """Middleware that moves the address of a server from the path to the state of the request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (match := _SERVER_PATH.fullmatch(scope["path"])) is not None:
            state = {**scope.get("state", {}), _STATE_KEY: ServerAddress(match[2], match[3])}
            scope = {**scope, "path": MCP_PATH, "raw_path": MCP_PATH.encode(), "state": state}
        await self._app(scope, receive, send)


def read_server_address(scope: Scope) -> ServerAddress | None:
    """Return the address of the server in the path of a request; None if the path has none."""
    address: ServerAddress | None = scope.get("state", {}).get(_STATE_KEY)
    return address
