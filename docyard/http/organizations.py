"""The MCP endpoint of a server of organizations: the caller's view of the server that a request names.

A server is found by its path `/o/ORGANIZATION/SERVER/mcp`, else by the host name of the request. A server
that the caller may not read is answered like one that does not exist.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from docyard.hosting.organization_sources import OrganizationSources
from docyard.hosting.views import View
from docyard.http.endpoints import Endpoints
from docyard.http.host_origin import allow_default_ports, parse_authority
from docyard.http.refusals import MCP_PATH, build_refusal

if TYPE_CHECKING:
    from docyard.caller import Caller, Principal

SERVER_PATH = "/o/{organization}/{server}" + MCP_PATH
"""The path at which a server speaks MCP."""

_MAX_ATTEMPTS = 3  # a view can change between its choice and its use


class OrganizationsEndpoint:
    """The application at `/mcp`. `require_token` returns the response to a caller without a token."""

    def __init__(
        self,
        hosting: OrganizationSources,
        endpoints: Endpoints,
        port: int,
        require_token: Callable[[Scope], Awaitable[Response]],
    ) -> None:
        self._hosting = hosting
        self._endpoints = endpoints
        self._port = port
        self._require_token = require_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(_MAX_ATTEMPTS):
            view = self._find_view(scope)
            if view is None:
                await (await self._refuse(scope))(scope, receive, send)
                return
            if await self._endpoints.serve(view, scope, receive, send):
                return
        message = "the organization of the server is being changed"
        refusal = build_refusal(scope, 503, message, "Try again in a moment.", {"Retry-After": "1"})
        await refusal(scope, receive, send)

    def _find_view(self, scope: Scope) -> View | None:
        principal = _read_principal(scope)
        parameters = scope.get("path_params", {})
        if "server" in parameters:
            return self._hosting.find_view(parameters["organization"], parameters["server"], principal)
        return self._hosting.find_host_view(read_host(scope, self._port), principal)

    async def _refuse(self, scope: Scope) -> Response:
        if not self._hosting.is_ready:
            return build_refusal(
                scope, 503, "the server is starting", "Try again in a moment.", {"Retry-After": "2"}
            )
        if not _is_authenticated(scope):
            return await self._require_token(scope)
        return build_refusal(
            scope, 404, "no server has this address", "Use the address that its administrator gave you."
        )


def read_host(scope: Scope, port: int) -> str:
    """Return the host of a request to a port, as servers store it: without a default port."""
    authority = parse_authority(Headers(scope=scope).get("host", ""))
    if authority is None:
        return ""
    is_default = authority.port in (None, 80, 443, port)
    return authority.host if is_default else f"{authority.host}:{authority.port}"


def list_hosts(hosting: OrganizationSources, port: int) -> frozenset[tuple[str, int]]:
    """Return the host names of all servers, with the ports that requests may name."""
    return _allow_hosts(hosting.directory.hosts, port)


@lru_cache(maxsize=1)  # requests with unknown hosts need no token, and each asks twice
def _allow_hosts(hosts: frozenset[str], port: int) -> frozenset[tuple[str, int]]:
    authorities = (parse_authority(host) for host in hosts)
    return frozenset(
        name
        for authority in authorities
        if authority is not None
        for name in allow_default_ports(authority, port)
    )


def _read_principal(scope: Scope) -> Principal | None:
    caller: Caller | None = scope.get("state", {}).get("caller")
    return caller.principal if caller is not None else None


def _is_authenticated(scope: Scope) -> bool:
    """Return True if the request proves an identity; an address is none."""
    principal = _read_principal(scope)
    return principal is not None and not principal.key.startswith("address:")
