"""The HTTP application of a server of organizations: MCP for agents, pages for administrators."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from docyard.caller import READ_SCOPE
from docyard.http.authentication import AuthenticationMiddleware, FailedLoginThrottle, Sessions
from docyard.http.challenges import Challenges
from docyard.http.endpoints import Endpoints
from docyard.http.host_origin import HostOriginMiddleware
from docyard.http.login import build_login_routes
from docyard.http.operations import Operations
from docyard.http.organizations import SERVER_PATH, OrganizationsEndpoint, list_hosts
from docyard.http.refusals import MCP_PATH, build_refusal
from docyard.http.server import (
    ShutdownMiddleware,
    print_url,
    respond_to_disconnect,
    respond_to_error,
    run_app,
)
from docyard.http.settings import build_http_settings, open_sockets
from docyard.identity.access_tokens import AccessTokens
from docyard.identity.identity import NO_IDENTITY, Identity
from docyard.web.headers import SafeHeaders
from docyard.web.templates import serve_static_file

if TYPE_CHECKING:
    from starlette.types import Scope

    from docyard.hosting.hosting import View
    from docyard.hosting.service import OrganizationsService
    from docyard.http.settings import HttpSettings
    from docyard.mcp_server.calls import CallObserver


def build_organizations_app(
    service: OrganizationsService,
    settings: HttpSettings,
    port: int,
    *,
    toolsets: tuple[str, ...] | None = None,
    build_observer: Callable[[View], CallObserver | None] = lambda view: None,
    throttle: FailedLoginThrottle | None = None,
    identity: Identity = NO_IDENTITY,
    operations: Operations = Operations(),  # noqa: B008 - immutable
) -> ShutdownMiddleware:
    """Return the application of a server that listens on a port."""
    hosting = service.hosting
    endpoints = Endpoints(hosting, toolsets, build_observer)

    @asynccontextmanager
    async def run(app: Starlette) -> AsyncIterator[None]:
        async with endpoints.run():
            yield

    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: partial(respond_to_error, None),
        ClientDisconnect: respond_to_disconnect,
    }
    inner_app = Starlette(lifespan=run, exception_handlers=handlers)
    inner_app.router.redirect_slashes = False
    is_proxied = bool(settings.allowed_names)
    sessions = Sessions()
    challenges = Challenges(identity.issuers, lambda scope: identity.base_url)
    authentication = AuthenticationMiddleware(
        inner_app,
        (AccessTokens(service.database), *identity.verifiers),
        sessions,
        throttle or FailedLoginThrottle(),
        cookie_name=f"docyard_session_{port}",
        may_write=True,  # the pages of administrators
        is_proxied=is_proxied,
        anonymous_scopes=frozenset({READ_SCOPE}),
        challenges=challenges,
        provider_host=None if identity.sign_in is None else identity.sign_in.host,
    )

    def challenge(scope: Scope) -> Response:
        headers = challenges.build_headers(scope)
        fix = "Send the header Authorization: Bearer TOKEN."
        return build_refusal(scope, 401, "the request has no token", fix, headers)

    routes = inner_app.router.routes
    routes.extend(challenges.build_routes())
    if identity.sign_in is not None:
        from docyard.http.provider_login import build_provider_login_routes

        cookie_name = f"docyard_sign_in_{port}"
        routes.extend(build_provider_login_routes(authentication, sessions, identity.sign_in, cookie_name))
    mcp_endpoint = OrganizationsEndpoint(hosting, endpoints, port, challenge)
    routes.extend(
        [
            Route(MCP_PATH, mcp_endpoint),
            Route(SERVER_PATH, mcp_endpoint),
            Route("/static/{name}", serve_static_file),
            *build_login_routes(authentication),
            *operations.build_routes(),
        ]
    )
    allowed_hosts = settings.build_allowed_hosts(port).extend(partial(list_hosts, hosting, port))
    host_check = HostOriginMiddleware(authentication, allowed_hosts, is_proxied=is_proxied)
    app = SafeHeaders(operations.wrap(host_check, is_proxied=is_proxied))
    shutdown = ShutdownMiddleware(app, [endpoints.close])
    inner_app.state.stop_event = shutdown.stop_event
    return shutdown


def start_organizations_server(service: OrganizationsService, toolsets: tuple[str, ...] | None) -> None:
    """Serve until a signal stops the server; print one line with its URL when connections are accepted.

    Raises InvalidOptions, CannotListen, SchemaMismatch.
    """
    http = service.settings.http
    settings = build_http_settings(
        http.listen, http.allow_hosts, None, no_token=True, read_only=True, page_url=http.page_url
    )
    service.start()
    sockets, port = open_sockets(settings.address)
    try:
        app = build_organizations_app(service, settings, port, toolsets=toolsets)
        run_app(app, sockets, partial(print_url, settings.build_url(port)))
    finally:
        for listening_socket in sockets:
            listening_socket.close()
