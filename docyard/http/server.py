"""The application: what is asked of a request, in which order, and where it then goes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from docyard.http.access import Admission
from docyard.http.authentication import Authentication
from docyard.http.failures import Failures
from docyard.http.login import signing_in_routes
from docyard.http.proving import Proving
from docyard.http.refusals import MCP, refusal, wants_page
from docyard.http.sessions import Sessions
from docyard.http.stopping import Stopping
from docyard.web.headers import SafeHeaders

if TYPE_CHECKING:
    from docyard.http.settings import HttpSettings
    from docyard.mcp_server.http import Endpoint
    from docyard.web.site import Site
    from workspace.policy.tokens import Tokens


class Parts(NamedTuple):
    """What an application is made of: pages, who is known, the protocol's endpoint, and further routes."""

    site: Site
    people: Tokens | None
    endpoint: Callable[[], AbstractAsyncContextManager[Endpoint]]
    routes: Sequence[BaseRoute] = ()


def build_app(parts: Parts, settings: HttpSettings, port: int, failures: Failures | None = None) -> Stopping:
    """The application of a server that listens on a port.

    A request is asked, in this order: by which name it came and from whose page, who sent it, what it wants.
    """
    serving = _Serving(parts)
    proving, sessions = Proving(settings.token, parts.people), Sessions()
    is_proxied = bool(settings.allowed)
    # The outermost needs the routes of the innermost, and they the sessions of one between them.
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: partial(_failed, parts.site),
        ClientDisconnect: _gone,
    }
    inner = Starlette(lifespan=serving.run, exception_handlers=handlers)
    inner.router.redirect_slashes = False  # it would name the scheme, which a proxy knows better
    authentication = Authentication(
        inner,
        proving,
        sessions,
        failures or Failures(),
        # Cookies are sent to every port of a host.
        cookie=f"docyard_session_{port}",
        may_write=not parts.site.read_only,
        is_proxied=is_proxied,
    )
    inner.router.routes.extend(_routes(parts, serving, authentication))
    admitted = Admission(authentication, settings.admitted(port), is_proxied=is_proxied)
    stopping = Stopping(SafeHeaders(admitted), [serving.close, parts.site.close])
    inner.state.stopping = stopping.begun
    return stopping


class _Serving:
    """The protocol's endpoint, which is there as long as the application runs."""

    def __init__(self, parts: Parts) -> None:
        self._open = parts.endpoint
        self._endpoint: Endpoint | None = None

    @asynccontextmanager
    async def run(self, app: Starlette) -> AsyncIterator[None]:
        async with self._open() as self._endpoint:
            yield
        self._endpoint = None

    def close(self) -> None:
        if self._endpoint is not None:
            self._endpoint.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app: ASGIApp | None = self._endpoint
        if app is None:
            app = refusal(scope, 503, "the server is starting or stopping", "Try again in a moment.")
        await app(scope, receive, send)


def _routes(parts: Parts, serving: _Serving, authentication: Authentication) -> list[BaseRoute]:
    from docyard.web.routes import routes

    return [
        Route(MCP, serving),
        *signing_in_routes(authentication),
        *parts.routes,
        *routes(parts.site),
    ]


async def _failed(site: Site, request: Request, error: Exception) -> Response:
    """The answer to what no route answers, as a page where a person asked."""
    from docyard.web.not_found import missing

    assert isinstance(error, HTTPException)
    caller = getattr(request.state, "caller", None)
    if error.status_code != 404 or caller is None or not wants_page(request.scope):
        return PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)
    response: Response = await missing(site)(request, error)
    return response


async def _gone(request: Request, error: Exception) -> Response:
    """The answer to whoever went away in the middle of a form, which nobody reads: it is no fault to log."""
    return Response(status_code=400)
