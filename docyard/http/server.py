"""The application: what is asked of a request, in which order, and where it then goes.

Starting a server over HTTP: what could not be served is refused before anything listens.

Running the application until a signal asks to stop, on sockets that listen already.

A server that stops: streams of events end, so that nobody waits for clients that only listen.
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
from docyard.http.access import Admission
from docyard.http.authentication import Authentication, Failures, Proving, Sessions
from docyard.http.login import signing_in_routes
from docyard.http.refusals import MCP, refusal, wants_page
from docyard.http.settings import listening
from docyard.http.timeouts import BACKLOG, MOST, Waiting
from docyard.mcp_server.http import serve_http
from docyard.terminal.exits import CannotError
from docyard.web.headers import SafeHeaders
from docyard.web.site import Site

if TYPE_CHECKING:
    from starlette.routing import Route

    from docyard.http.settings import HttpSettings
    from docyard.mcp_server.http import Endpoint
    from docyard.service import Served
    from docyard.web.site import Site
    from workspace.policy.tokens import Tokens

_FAREWELL = 0.6  # seconds in which an answer that is being made is still sent


_LAST = 0.2  # seconds in which a stream that was hung up on ends by itself


_FIX = "What was begun is done to its end. Ask again when it is back, with the same idempotency key."


_HANG_UP: Message = {"type": "http.disconnect"}


class Stopping:
    """Tells every request, when the server stops, that its client has gone; `listeners` are told first.

    What has a thread of its own then still runs to its end, and only its answer is lost. `is_begun` is for
    streams that can end by themselves.
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
        """Set as soon as the server begins to stop."""
        return self._begun

    def expect(self) -> None:
        """A signal asks the server to stop; streams that listen for signals themselves may end from now on.

        May be called where a signal is handled.
        """
        self._is_ending = True

    def begin(self) -> None:
        """The server has begun to stop."""
        self.expect()
        self._begun.set()
        for listener in self._listeners:
            listener()

    async def finish(self) -> None:
        """Return answers that are being made a moment, then hang up; who still waits is told to come back."""
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
            await SafeHeaders(refusal(scope, 503, "the server is stopping", _FIX))(scope, receive, send)
        elif is_open and self._is_ending:  # whoever was hung up on here is still there
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class Parts(NamedTuple):
    """What an application is made of: pages, who is known, the protocol's endpoint, and further routes."""

    site: Site
    people: Tokens | None
    endpoint: Callable[[], AbstractAsyncContextManager[Endpoint]]
    routes: Sequence[BaseRoute] = ()


def build_app(parts: Parts, settings: HttpSettings, port: int, failures: Failures | None = None) -> Stopping:
    """Return the application of a server that listens on a port.

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
    """Return the answer to what no route answers, as a page where a person asked."""
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


_GRACE = 20  # seconds for what writes; nothing else is waited for


_LOOK = 0.1  # seconds between two looks at who is still connected


_KEPT = 15  # seconds in which a connection waits for its next request


_HEADERS = 32_768  # bytes of a request before its body


class _Server(uvicorn.Server):
    """Uvicorn, which says when it listens, and whose end by a signal is a usual one."""

    def __init__(self, config: uvicorn.Config, stopping: Stopping, started: Callable[[], object]) -> None:
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
                if isinstance(each, Waiting) and each.is_idle:
                    each.transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Uvicorn would raise the signal again at the end, past everything that is still to be closed.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self._stopping.expect()
        self.should_exit = True


def run(app: Stopping, sockets: list[socket.socket], started: Callable[[], object]) -> None:
    """Answer requests until SIGTERM or SIGINT; `started` is called as soon as connections are accepted."""
    # Whoever sends what is no HTTP could fill a log with warnings.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=Waiting,
        backlog=BACKLOG,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # What a proxy says is read where it is needed, and only if a proxy's name is admitted.
        proxy_headers=False,
        limit_concurrency=MOST + BACKLOG,
        timeout_keep_alive=_KEPT,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_HEADERS,
    )
    _Server(config, app, started).run(sockets)


log = logging.getLogger("docyard")


_MOST_SCRIPT = 20_000_000  # bytes


def start(served: Served, settings: HttpSettings, *, mermaid: Path | None = None, math: bool = False) -> None:
    """Serve until a signal asks to stop.

    One line goes to standard output as soon as connections are accepted: where the page is. Raises
    CannotListen, UnsafeTokens and DamagedTokens, and CannotError for a script that cannot be read, or for
    formulas that nothing could set.
    """
    people = served.people()
    if people is not None:
        people.all()
    if math:
        _check_math()
    script = None if mermaid is None else _script(mermaid)
    site = Site(served.index, not served.writes, script, math, served.written)
    endpoint = partial(
        serve_http,
        served.toolbox,
        version=__version__,
        load=partial(_load, served),
        warm=served.warm,
    )
    sockets, port = listening(settings.address)
    try:
        app = build_app(Parts(site, people, endpoint, _hooks(served)), settings, port)
        run(app, sockets, partial(_tell, settings.url(port)))
    finally:
        for each in sockets:
            each.close()


def _load(served: Served) -> None:
    """Make ready, in the background, what the first call and the first page would wait for."""

    served.load()
    from docyard.web.templates import warm_pages

    warm_pages()


def _hooks(served: Served) -> list[Route]:
    """Return what forges may call, where a secret says that they may."""
    secret, rounds = environment.webhook_secret(), served.rounds
    if secret is None or rounds is None:
        return []
    from docyard.forges.exchanges import Exchanges
    from docyard.forges.webhooks import Webhooks, webhook_routes

    exchanges = Exchanges(rounds.workspace, environment.remote_access, rounds, served.written)
    return webhook_routes(Webhooks(rounds.workspace, exchanges, environment.forge_access, secret))


def _tell(url: str) -> None:
    try:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
    except OSError as error:
        log.warning("nobody reads where the page is: %s", error.strerror)


def _check_math() -> None:
    from workspace.rendering.sanitizer import is_installed

    if not is_installed():
        from docyard.doctor.installation import extra_command

        raise CannotError(
            "--math sets formulas with latex2mathml, which is not installed",
            fix=f"Install it with `{extra_command('math')}`, or leave out --math: formulas stay as text.",
        )


def _script(file: Path) -> bytes:
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
