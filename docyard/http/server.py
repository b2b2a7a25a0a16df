"""The HTTP application and its server.

Options that cannot be served are refused before a socket listens. The application runs on listening sockets
until a signal stops it. On shutdown streams of events end, so that the server does not wait for clients that
only listen.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docyard import __version__, environment
from docyard.http.access import HostOriginMiddleware
from docyard.http.authentication import AuthenticationMiddleware, FailedLoginThrottle, Sessions, TokenVerifier
from docyard.http.login import build_login_routes
from docyard.http.refusals import MCP, build_refusal, is_page_request
from docyard.http.settings import open_sockets
from docyard.http.timeouts import BACKLOG, MAX_CONNECTIONS, TimeoutH11Protocol
from docyard.mcp_server.http import serve_http
from docyard.terminal.exits import CannotError
from docyard.web.headers import SafeHeaders
from docyard.web.site import Site

if TYPE_CHECKING:
    from starlette.routing import Route

    from docyard.http.settings import HttpSettings
    from docyard.mcp_server.http import Endpoint
    from docyard.service import Service
    from docyard.web.site import Site
    from workspace.policy.tokens import Tokens

_FAREWELL = 0.6  # seconds in which an answer that is being made is still sent
_LAST = 0.2  # seconds in which a stream that was hung up on ends by itself
_FIX = "What was begun is done to its end. Ask again when it is back, with the same idempotency key."
_HANG_UP: Message = {"type": "http.disconnect"}


class ShutdownMiddleware:
    """Reports to every request, on shutdown, that its client has disconnected; `listeners` come first.

    Work in its own thread still runs to its end, and only its response is lost. `is_begun` is for streams
    that can end by themselves.
    """

    def __init__(self, app: ASGIApp, listeners: list[Callable[[], object]]) -> None:
        self._app = app
        self._listeners = listeners
        self._begun = anyio.Event()
        self._over = anyio.Event()
        self._is_ending = False
        self._waiting: set[anyio.CancelScope] = set()

    @property
    def begun(self) -> anyio.Event:
        """Set when the server begins to stop."""
        return self._begun

    def expect(self) -> None:
        """Announce a shutdown, so that streams with signal handlers may end.

        May be called from a signal handler.
        """
        self._is_ending = True

    def begin(self) -> None:
        """Begin the shutdown."""
        self.expect()
        self._begun.set()
        for listener in self._listeners:
            listener()

    async def finish(self) -> None:
        """Wait briefly for running responses, then disconnect; open requests get a response to retry."""
        await anyio.sleep(_FAREWELL)
        self._over.set()
        await anyio.sleep(_LAST)
        for each in self._waiting:
            each.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_read, is_open, is_begun = False, False, False

        async def sending(message: Message) -> None:
            nonlocal is_open, is_begun
            is_begun = True
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        async def receiving() -> Message:
            nonlocal is_read
            if not is_read:
                message = await receive()
                is_read = message["type"] == "http.disconnect" or not message.get("more_body", False)
                return message
            found = _HANG_UP
            async with anyio.create_task_group() as tasks:

                async def wait() -> None:
                    await self._over.wait()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(wait)
                found = await receive()
                tasks.cancel_scope.cancel()
            return found

        with anyio.CancelScope() as waiting:
            self._waiting.add(waiting)
            try:
                await self._app(scope, receiving, sending)
            finally:
                self._waiting.discard(waiting)
        if waiting.cancelled_caught and not is_begun:
            await SafeHeaders(build_refusal(scope, 503, "the server is stopping", _FIX))(scope, receive, send)
        elif is_open and self._is_ending:  # whoever was hung up on here is still there
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class AppParts(NamedTuple):
    """The parts of an application: pages, people, the protocol's endpoint, and further routes."""

    site: Site
    people: Tokens | None
    endpoint: Callable[[], AbstractAsyncContextManager[Endpoint]]
    routes: Sequence[BaseRoute] = ()


def build_app(
    parts: AppParts, settings: HttpSettings, port: int, throttle: FailedLoginThrottle | None = None
) -> ShutdownMiddleware:
    """Return the application of a server that listens on a port.

    A request passes three checks: its Host and Origin, its authentication, and its route.
    """
    serving = _McpEndpoint(parts)
    verifier, sessions = TokenVerifier(settings.token, parts.people), Sessions()
    is_proxied = bool(settings.allowed)
    # The outermost needs the routes of the innermost, and they the sessions of one between them.
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: partial(_answer_error, parts.site),
        ClientDisconnect: _answer_disconnected,
    }
    inner = Starlette(lifespan=serving.run, exception_handlers=handlers)
    inner.router.redirect_slashes = False  # it would name the scheme, which a proxy knows better
    authentication = AuthenticationMiddleware(
        inner,
        verifier,
        sessions,
        throttle or FailedLoginThrottle(),
        # Cookies are sent to every port of a host.
        cookie=f"docyard_session_{port}",
        may_write=not parts.site.read_only,
        is_proxied=is_proxied,
    )
    inner.router.routes.extend(_build_routes(parts, serving, authentication))
    admitted = HostOriginMiddleware(authentication, settings.admitted(port), is_proxied=is_proxied)
    stopping = ShutdownMiddleware(SafeHeaders(admitted), [serving.close, parts.site.close])
    inner.state.stopping = stopping.begun
    return stopping


class _McpEndpoint:
    """The protocol's endpoint, available while the application runs."""

    def __init__(self, parts: AppParts) -> None:
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
            app = build_refusal(scope, 503, "the server is starting or stopping", "Try again in a moment.")
        await app(scope, receive, send)


def _build_routes(
    parts: AppParts, serving: _McpEndpoint, authentication: AuthenticationMiddleware
) -> list[BaseRoute]:
    from docyard.web.routes import build_routes

    return [
        Route(MCP, serving),
        *build_login_routes(authentication),
        *parts.routes,
        *build_routes(parts.site),
    ]


async def _answer_error(site: Site, request: Request, error: Exception) -> Response:
    """Return the response for an unhandled request, as a page for a browser."""
    from docyard.web.not_found import build_not_found_handler

    assert isinstance(error, HTTPException)
    caller = getattr(request.state, "caller", None)
    if error.status_code != 404 or caller is None or not is_page_request(request.scope):
        return PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)
    response: Response = await build_not_found_handler(site)(request, error)
    return response


async def _answer_disconnected(request: Request, error: Exception) -> Response:
    """Return a response for a client that disconnected within a form. Nothing is logged."""
    return Response(status_code=400)


_GRACE = 20  # seconds for what writes; nothing else is waited for
_LOOK = 0.1  # seconds between two looks at who is still connected
_KEPT = 15  # seconds in which a connection waits for its next request
_HEADERS = 32_768  # bytes of a request before its body


class _Server(uvicorn.Server):
    """Uvicorn, which reports when it listens, and treats a signal as a normal end."""

    def __init__(
        self, config: uvicorn.Config, stopping: ShutdownMiddleware, started: Callable[[], object]
    ) -> None:
        super().__init__(config)
        self._stopping = stopping
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._tell()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._stopping.begin()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._finish)
            await super().shutdown(sockets)
            tasks.cancel_scope.cancel()

    async def _finish(self) -> None:
        await self._stopping.finish()
        while True:  # who does not read the answer is not waited for
            await anyio.sleep(_LOOK)
            for each in [*self.server_state.connections]:
                if isinstance(each, TimeoutH11Protocol) and each.is_idle:
                    each.transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Uvicorn would raise the signal again at the end, past everything that is still to be closed.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self._stopping.expect()
        self.should_exit = True


def run_app(app: ShutdownMiddleware, sockets: list[socket.socket], started: Callable[[], object]) -> None:
    """Serve requests until SIGTERM or SIGINT; call `started` when connections are accepted."""
    # Whoever sends what is no HTTP could fill a log with warnings.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=TimeoutH11Protocol,
        backlog=BACKLOG,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # What a proxy says is read where it is needed, and only if a proxy's name is admitted.
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS + BACKLOG,
        timeout_keep_alive=_KEPT,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_HEADERS,
    )
    _Server(config, app, started).run(sockets)


log = logging.getLogger("docyard")
_MOST_SCRIPT = 20_000_000  # bytes


def start_server(
    served: Service, settings: HttpSettings, *, mermaid: Path | None = None, math: bool = False
) -> None:
    """Serve until a signal stops the server.

    Prints one line with the page's URL when connections are accepted. Raises CannotListen, UnsafeTokens and
    DamagedTokens, and CannotError for an unreadable script, or if --math has no library.
    """
    people = served.people()
    if people is not None:
        people.all()
    if math:
        _check_math()
    script = None if mermaid is None else _read_script(mermaid)
    site = Site(served.index, not served.writes, script, math, served.written)
    endpoint = partial(
        serve_http,
        served.toolbox,
        version=__version__,
        load=partial(_load, served),
        warm=served.warm,
    )
    sockets, port = open_sockets(settings.address)
    try:
        app = build_app(AppParts(site, people, endpoint, _build_webhooks(served)), settings, port)
        run_app(app, sockets, partial(_print_url, settings.url(port)))
    finally:
        for each in sockets:
            each.close()


def _load(served: Service) -> None:
    """Load, in the background, what the first call and the first page need."""

    served.load()
    from docyard.web.templates import warm_pages

    warm_pages()


def _build_webhooks(served: Service) -> list[Route]:
    """Return the routes of webhooks, if a secret enables them."""
    secret, rounds = environment.read_webhook_secret(), served.rounds
    if secret is None or rounds is None:
        return []
    from docyard.forges.exchanges import ExchangeQueue
    from docyard.forges.webhooks import Webhooks, build_webhook_routes

    exchanges = ExchangeQueue(rounds.workspace, environment.read_remote_access, rounds, served.written)
    return build_webhook_routes(Webhooks(rounds.workspace, exchanges, environment.read_forge_access, secret))


def _print_url(url: str) -> None:
    try:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
    except OSError as error:
        log.warning("nobody reads where the page is: %s", error.strerror)


def _check_math() -> None:
    from workspace.rendering.sanitizer import is_installed

    if not is_installed():
        from docyard.doctor.installation import format_extra_command

        raise CannotError(
            "--math sets formulas with latex2mathml, which is not installed",
            fix=f"Install it with `{format_extra_command('math')}`, or leave out --math: "
            "formulas stay as text.",
        )


def _read_script(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST_SCRIPT + 1)
    except OSError as error:
        raise CannotError(
            f"the script of --mermaid cannot be read ({error.strerror})", fix="Name a mermaid.min.js."
        ) from None
    if len(data) > _MOST_SCRIPT:
        raise CannotError(
            f"the script of --mermaid holds over {_MOST_SCRIPT:,} bytes", fix="Name a mermaid.min.js."
        )
    return data
