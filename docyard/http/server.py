"""The HTTP application and its server.

Invalid options are refused before a socket listens. The application runs on listening sockets until a signal
stops it. On shutdown, event streams end, so that the server does not wait for clients that only listen.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docyard import __version__, environment
from docyard.caller import SCOPES, WRITE_SCOPE
from docyard.database.errors import DatabaseUnavailable
from docyard.http.authentication import AuthenticationMiddleware, FailedLoginThrottle, TokenVerifier
from docyard.http.challenges import Challenges
from docyard.http.health import IndexReadiness, PartState, Readiness, describe_sources
from docyard.http.host_origin import HostOriginMiddleware
from docyard.http.login import build_login_routes
from docyard.http.operations import Operations
from docyard.http.refusals import MCP_PATH, build_json_rpc_error, build_refusal, is_page_request
from docyard.http.settings import open_sockets
from docyard.http.supervisor import Supervisor, Worker, check_support, find_current_worker
from docyard.http.timeouts import BACKLOG, MAX_CONNECTIONS, TimeoutH11Protocol
from docyard.identity.identity import NO_IDENTITY, Identity, build_identity
from docyard.mcp_server.http import READING_WORKER_COUNT, WORKER_COUNT, serve_http
from docyard.sessions.memory import MemorySessions
from docyard.telemetry.logs import StateText
from docyard.terminal.exits import CommandError
from docyard.web.headers import SafeHeaders
from docyard.web.site import Site
from docyard.web.urls import make_review_url_builder
from index.postgres.options import MAX_LAG_S
from workspace.errors import InvalidConfig

if TYPE_CHECKING:
    from starlette.routing import Route

    from docyard.http.configured_repository import ConfiguredRepository
    from docyard.http.settings import HttpSettings, ListenAddress
    from docyard.mcp_server.calls import CallObserver
    from docyard.mcp_server.http import Endpoint
    from docyard.service import Service
    from docyard.sessions.engine import EngineSessions
    from docyard.sessions.sessions import Sessions
    from docyard.web.site import Site
    from index.service import SearchIndex
    from tools.dispatcher import Dispatcher
    from workspace.policy.tokens import Tokens

_DRAIN_TIME_S = 0.6  # the time for running responses
_DISCONNECT_TIME_S = 0.2  # the time in which disconnected streams end by themselves
_SHUTDOWN_FIX = (
    "Running writes are completed. Repeat the call after the restart, with the same idempotency key."
)
MAX_STREAMS = MAX_CONNECTIONS // 2
"""The number of event streams that are open at the same time."""

_DISCONNECT: Message = {"type": "http.disconnect"}


class ShutdownMiddleware:
    """Middleware that disconnects all requests on shutdown, after it has called `listeners`.

    If more than `max_streams` event streams are open, it ends the oldest, so that requests find connections.
    Work in a thread is completed, and only its response is lost.
    """

    def __init__(
        self, app: ASGIApp, listeners: list[Callable[[], object]], max_streams: int = MAX_STREAMS
    ) -> None:
        self._app = app
        self._listeners = listeners
        self._max_streams = max_streams
        self._streams: dict[anyio.CancelScope, None] = {}  # the oldest first
        self._stop_event = anyio.Event()
        self._drain_event = anyio.Event()
        self._is_expected = False
        self._running_requests: set[anyio.CancelScope] = set()

    @property
    def stop_event(self) -> anyio.Event:
        """Return the event that is set when the server begins to stop."""
        return self._stop_event

    def mark_expected(self) -> None:
        """Mark the shutdown as expected, before it begins.

        May be called from a signal handler.
        """
        self._is_expected = True

    def begin(self) -> None:
        """Begin the shutdown: set the event and call the listeners."""
        self.mark_expected()
        self._stop_event.set()
        for listener in self._listeners:
            listener()

    async def finish(self) -> None:
        """Wait briefly for running responses, then disconnect; waiting requests get a response to retry."""
        await anyio.sleep(_DRAIN_TIME_S)
        self._drain_event.set()
        await anyio.sleep(_DISCONNECT_TIME_S)
        for scope in self._running_requests:
            scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_body_read, is_response_open, has_response = False, False, False

        async def send_and_record(message: Message) -> None:
            nonlocal is_response_open, has_response
            has_response = True
            is_response_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            if message["type"] == "http.response.start" and _is_event_stream(message):
                self._add_stream(request_scope)
            await send(message)

        async def receive_or_disconnect() -> Message:
            nonlocal is_body_read
            if not is_body_read:
                message = await receive()
                is_body_read = message["type"] == "http.disconnect" or not message.get("more_body", False)
                return message
            next_message = _DISCONNECT
            async with anyio.create_task_group() as tasks:

                async def wait_for_drain() -> None:
                    await self._drain_event.wait()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(wait_for_drain)
                next_message = await receive()
                tasks.cancel_scope.cancel()
            return next_message

        with anyio.CancelScope() as request_scope:
            self._running_requests.add(request_scope)
            try:
                await self._app(scope, receive_or_disconnect, send_and_record)
            finally:
                self._running_requests.discard(request_scope)
                self._streams.pop(request_scope, None)
        if request_scope.cancelled_caught and not has_response:
            await SafeHeaders(build_refusal(scope, 503, "the server is stopping", _SHUTDOWN_FIX))(
                scope, receive, send
            )
        elif is_response_open and (self._is_expected or request_scope.cancelled_caught):
            # The client is still connected.
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _add_stream(self, request_scope: anyio.CancelScope) -> None:
        """Count a stream, and end the oldest one if there are too many."""
        self._streams[request_scope] = None
        if len(self._streams) > self._max_streams:
            oldest = next(iter(self._streams))
            del self._streams[oldest]
            oldest.cancel()


def _is_event_stream(message: Message) -> bool:
    """Return True if the start of a response announces a stream of events."""
    return Headers(raw=message["headers"]).get("content-type", "").startswith("text/event-stream")


class AppComponents(NamedTuple):
    """The components of an application: pages, people's tokens, the MCP endpoint, and further routes.

    `site` is None if the server has no pages, because it serves many sources. `shared_sessions` are those of
    the nodes of a repository; without them, sessions are in memory. `operations` has the state of
    the server, its metrics and its limits by address. `open_reading_endpoint` opens an endpoint without the
    tools that write, for callers who may only read; it is None if no tool writes. `wrap_checks` returns the
    application with the endpoint for other nodes in front of its checks.
    """

    site: Site | None
    people: Tokens | None
    open_endpoint: Callable[[], AbstractAsyncContextManager[Endpoint]]
    routes: Sequence[BaseRoute] = ()
    operations: Operations = Operations()
    open_reading_endpoint: Callable[[], AbstractAsyncContextManager[Endpoint]] | None = None
    wrap_checks: Callable[[ASGIApp], ASGIApp] = lambda app: app
    shared_sessions: EngineSessions | None = None


def build_app(
    components: AppComponents,
    settings: HttpSettings,
    port: int,
    throttle: FailedLoginThrottle | None = None,
    identity: Identity = NO_IDENTITY,
) -> ShutdownMiddleware:
    """Return the application of a server that listens on a port.

    A request passes three checks: its Host and Origin, its authentication, and its route.
    """
    mcp_endpoint = _McpEndpoint(components)
    shared_sessions = components.shared_sessions
    sessions: Sessions = shared_sessions if shared_sessions is not None else MemorySessions()
    # Cookies are sent to every port of a host, and the nodes of a repository may listen on different ports.
    cookie_suffix = str(port) if shared_sessions is None else shared_sessions.cookie_suffix
    challenges = Challenges(identity.issuers, lambda scope: identity.base_url)
    is_proxied = bool(settings.allowed_names)
    # The routes of the inner application need the sessions of the middleware around it.
    inner_app = create_inner_app(mcp_endpoint.run, components.site)
    authentication = AuthenticationMiddleware(
        inner_app,
        (TokenVerifier(settings.token, components.people, identity.issuers), *identity.verifiers),
        sessions,
        throttle or FailedLoginThrottle(),
        cookie_name=f"docyard_session_{cookie_suffix}",
        may_write=components.site is not None and not components.site.read_only,
        is_proxied=is_proxied,
        anonymous_scopes=frozenset(SCOPES) if settings.token is None else None,
        challenges=challenges,
        provider_host=None if identity.sign_in is None else identity.sign_in.host,
    )
    inner_app.add_exception_handler(DatabaseUnavailable, authentication.handle_unavailable)
    inner_app.router.routes.extend(
        [
            *build_identity_routes(authentication, sessions, identity, challenges, cookie_suffix),
            *_build_routes(components, mcp_endpoint),
        ]
    )
    host_check = HostOriginMiddleware(
        authentication, settings.build_allowed_hosts(port), is_proxied=is_proxied
    )
    listeners: list[Callable[[], object]] = [mcp_endpoint.close]
    if components.site is not None:
        listeners.append(components.site.close)
    app = components.operations.wrap(components.wrap_checks(host_check), is_proxied=is_proxied)
    return wrap_with_shutdown(app, inner_app, listeners)


def create_inner_app(
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]], site: Site | None
) -> Starlette:
    """Return an application without routes, which requests reach after all checks."""
    handlers: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: partial(_respond_to_error, site),
        ClientDisconnect: _respond_to_disconnect,
    }
    inner_app = Starlette(lifespan=lifespan, exception_handlers=handlers)
    # A redirect would contain the scheme, which differs behind a proxy.
    inner_app.router.redirect_slashes = False
    return inner_app


def build_identity_routes(
    authentication: AuthenticationMiddleware,
    sessions: Sessions,
    identity: Identity,
    challenges: Challenges,
    cookie_suffix: str,
) -> list[BaseRoute]:
    """Return the routes of the login, of the sign-in at a provider, and of the metadata for clients."""
    routes: list[BaseRoute] = [*challenges.build_routes(), *build_login_routes(authentication)]
    if identity.sign_in is not None:
        from docyard.http.provider_login import build_provider_login_routes

        cookie_name = f"docyard_sign_in_{cookie_suffix}"
        routes.extend(build_provider_login_routes(authentication, sessions, identity.sign_in, cookie_name))
    return routes


def wrap_with_shutdown(
    app: ASGIApp, inner_app: Starlette, listeners: list[Callable[[], object]]
) -> ShutdownMiddleware:
    """Return an application with safe headers and a graceful stop, of which its inner application knows."""
    shutdown = ShutdownMiddleware(SafeHeaders(app), listeners)
    inner_app.state.stop_event = shutdown.stop_event
    return shutdown


class _McpEndpoint:
    """The MCP endpoint, available while the application runs.

    A caller who may not write has an endpoint of their own, whose tools, prompts and texts do not write.
    """

    def __init__(self, components: AppComponents) -> None:
        self._open = components.open_endpoint
        self._open_reading = components.open_reading_endpoint
        self._endpoint: Endpoint | None = None
        self._reading_endpoint: Endpoint | None = None

    @asynccontextmanager
    async def run(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            endpoint = await stack.enter_async_context(self._open())
            self._reading_endpoint = (
                endpoint
                if self._open_reading is None
                else await stack.enter_async_context(self._open_reading())
            )
            self._endpoint = endpoint
            yield
        self._endpoint = self._reading_endpoint = None

    def close(self) -> None:
        for endpoint in (self._endpoint, self._reading_endpoint):
            if endpoint is not None:
                endpoint.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal = scope["state"]["caller"].principal
        app: ASGIApp | None = self._endpoint if WRITE_SCOPE in principal.scopes else self._reading_endpoint
        if app is None:
            app = build_refusal(scope, 503, "the server is starting or stopping", "Try again in a moment.")
        await app(scope, receive, send)


def _build_routes(components: AppComponents, mcp_endpoint: _McpEndpoint) -> list[BaseRoute]:
    from docyard.web.routes import build_routes

    return [
        Route(MCP_PATH, mcp_endpoint),
        *components.routes,
        *components.operations.build_routes(),
        *(build_routes(components.site) if components.site is not None else (Route("/", _describe_server),)),
    ]


async def _describe_server(request: Request) -> Response:
    """Return a text for a person who opens the printed address of a server without pages."""
    return PlainTextResponse(
        f"This server of Docyard has no pages. MCP clients connect to {MCP_PATH} at this address.\n"
    )


async def _respond_to_error(site: Site | None, request: Request, error: Exception) -> Response:
    """Return the response for a request that no route handles: a page for a browser, or else text.

    A POST gets a protocol error that names the endpoint, because a client may have been given another path.
    """
    from docyard.web.not_found import build_not_found_handler

    assert isinstance(error, HTTPException)
    if request.scope["method"] == "POST" and error.status_code in (404, 405):
        fix = f"The endpoint of MCP is {MCP_PATH}."
        return build_json_rpc_error(error.status_code, str(error.detail), fix, error.headers)
    caller = getattr(request.state, "caller", None)
    if site is None or error.status_code != 404 or caller is None or not is_page_request(request.scope):
        return PlainTextResponse(f"{error.detail}\n", error.status_code, error.headers)
    response: Response = await build_not_found_handler(site)(request, error)
    return response


async def _respond_to_disconnect(request: Request, error: Exception) -> Response:
    """Return a response for a client that disconnected while it sent a form. Nothing is logged."""
    return Response(status_code=400)


_SHUTDOWN_TIMEOUT_S = 20  # for running writes
_POLL_INTERVAL_S = 0.1  # between two checks for idle connections
_KEEP_ALIVE_S = 15
_MAX_HEADER_BYTES = 32_768


class _Server(uvicorn.Server):
    """A uvicorn server that calls `on_start` when it listens, and treats a signal as a normal end.

    A worker does not listen: its supervisor sends it connections.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        shutdown: ShutdownMiddleware,
        on_start: Callable[[], object],
        worker: Worker | None,
    ) -> None:
        super().__init__(config)
        self._shutdown_middleware = shutdown
        self._on_start = on_start
        self._worker = worker
        self._connection_tasks: set[asyncio.Task[Any]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            if self._worker is not None:
                loop = asyncio.get_running_loop()
                loop.add_reader(self._worker.supervisor, self._take_connections, self._worker, loop)
            self._on_start()

    def _take_connections(self, worker: Worker, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to serve the connections that the supervisor has sent."""
        with suppress(BlockingIOError):
            while True:
                try:
                    connection = worker.take_connection()
                except EOFError:  # the process ends with its supervisor
                    loop.remove_reader(worker.supervisor)
                    return
                task = loop.create_task(loop.connect_accepted_socket(self._create_protocol, connection))
                self._connection_tasks.add(task)
                task.add_done_callback(self._connection_tasks.discard)

    def _create_protocol(self) -> TimeoutH11Protocol:
        return TimeoutH11Protocol(self.config, self.server_state, self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._worker is not None:
            asyncio.get_running_loop().remove_reader(self._worker.supervisor)
        self._shutdown_middleware.begin()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._finish)
            await super().shutdown(sockets)
            tasks.cancel_scope.cancel()

    async def _finish(self) -> None:
        await self._shutdown_middleware.finish()
        while True:  # close clients that do not read their response
            await anyio.sleep(_POLL_INTERVAL_S)
            for connection in [*self.server_state.connections]:
                if isinstance(connection, TimeoutH11Protocol) and connection.is_idle:
                    connection.transport.abort()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Uvicorn would raise the signal again at the end, before other resources are closed.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self._shutdown_middleware.mark_expected()
        self.should_exit = True


class Listener(NamedTuple):
    """The sockets on which a server listens, and its port. A worker has none: it gets connections."""

    sockets: list[socket.socket]
    port: int
    worker: Worker | None = None

    @classmethod
    def open(cls, address: ListenAddress) -> Self:
        """Listen at an address, unless this process is a worker. Raises CannotListen."""
        worker = find_current_worker()
        return cls(*open_sockets(address)) if worker is None else cls([], worker.port, worker)

    def close(self) -> None:
        """Close the sockets."""
        for listening_socket in self.sockets:
            listening_socket.close()


def run_app(app: ShutdownMiddleware, listener: Listener, url: str) -> None:
    """Serve requests until SIGTERM or SIGINT; print the URL when connections are accepted.

    The supervisor of workers prints its own URL.
    """
    # A client that sends invalid HTTP could fill the log with warnings.
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
        # `host_origin` reads the headers of a proxy, and only if another host name is allowed.
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS + BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_SHUTDOWN_TIMEOUT_S,
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
    )
    # What is loaded by now stays until the end. Searching it for garbage would stop all calls for 0.1 s.
    gc.freeze()
    worker = listener.worker
    on_start = partial(print_url, url) if worker is None else worker.report_start
    _Server(config, app, on_start, worker).run(listener.sockets)


log = logging.getLogger("docyard")
_MAX_SCRIPT_BYTES = 20_000_000


def start_server(
    service: Service,
    settings: HttpSettings,
    *,
    mermaid: Path | None = None,
    math: bool = False,
    configured: ConfiguredRepository | None = None,
) -> None:
    """Serve until a signal stops the server, alone or as one of several workers.

    Prints one line with the page's URL when connections are accepted; the supervisor of workers prints its
    own. Raises CannotListen, UnsafeTokens and DamagedTokens, IncompleteIdentity, and CommandError if the
    script is unreadable, or the library for --math is not installed.
    """
    tokens = service.get_tokens()
    if tokens is not None:
        from index.port import EngineUnavailable

        with suppress(EngineUnavailable):  # requests are answered when the database is up
            tokens.read_all()
    if math:
        _check_math()
    script = None if mermaid is None else _read_script(mermaid)
    has_records = configured is not None and configured.has_records
    listener = Listener.open(settings.address)
    port = listener.port
    if listener.worker is not None:
        settings = settings._replace(token=listener.worker.token)
    page_url = settings.build_page_url(port)
    site = (
        Site(
            service.get_index,
            not service.may_write,
            script,
            math,
            service.notify_write,
            has_records,
            configured.read_searches if configured is not None and has_records else None,
            page_url,
        )
        if service.get_index is not None
        else None
    )
    try:
        identity, operations = NO_IDENTITY, Operations(Readiness(describe_parts(service)))
        routes: list[BaseRoute] = [*_build_webhooks(service)]
        if configured is not None:
            section = configured.settings.identity
            identity = build_identity(section, page_url, tokens)
            operations = configured.build_operations(
                describe_parts(service, configured.settings.engine.max_lag)
            )
            routes.extend(configured.build_routes(site))
            configured.start(site)

        def observe(dispatcher: Dispatcher) -> CallObserver | None:
            return service.observer if configured is None else configured.observe(dispatcher)

        endpoint = partial(
            serve_http,
            service.dispatcher,
            version=__version__,
            load=partial(_load_index_and_pages, service) if site is not None else service.load,
            warm=service.warm,
            build_review_url=make_review_url_builder(page_url) if service.may_write else None,
            observer=observe(service.dispatcher),
            worker_count=WORKER_COUNT if service.may_write else READING_WORKER_COUNT,
        )
        components = AppComponents(
            site, tokens, endpoint, routes, operations, build_reading_endpoint(service, observe)
        )
        if service.shared_engine is not None:
            from docyard.sessions.engine import open_engine_sessions

            components = components._replace(shared_sessions=open_engine_sessions(service.shared_engine))
        if service.node is not None:
            wrap_checks = partial(service.node.wrap, dispatcher=service.dispatcher)
            components = components._replace(wrap_checks=wrap_checks)
        app = build_app(components, settings, port, identity=identity)
        run_app(app, listener, settings.build_url(port))
    finally:
        listener.close()


def build_reading_endpoint(
    service: Service, observe: Callable[[Dispatcher], CallObserver | None] = lambda dispatcher: None
) -> Callable[[], AbstractAsyncContextManager[Endpoint]] | None:
    """Return the function that opens an endpoint without the tools that write; None if no tool writes.

    `observe` returns the limits and records of its tools.
    """
    if service.build_reading_dispatcher is None:
        return None
    dispatcher = service.build_reading_dispatcher()
    # The other endpoint loads the index, which both share.
    return partial(
        serve_http,
        dispatcher,
        version=__version__,
        load=lambda: None,
        warm=lambda progress: None,
        observer=observe(dispatcher),
    )


def start_workers(settings: HttpSettings, count: int, arguments: Sequence[str]) -> int:
    """Serve with several processes until a signal; each runs the command `arguments`. Return the exit code.

    Prints one line with the URL when all workers accept connections. Raises CannotListen, and CommandError if
    the system does not support it.
    """
    check_support()
    sockets, port = open_sockets(settings.address)
    return Supervisor(count, arguments, sockets, settings.token).run(
        partial(print_url, settings.build_url(port))
    )


def _load_index_and_pages(service: Service) -> None:
    """Load the index, and the modules that the first requests need. The server calls this in a thread."""
    service.load()
    from docyard.web.templates import warm_pages

    warm_pages()


def describe_parts(service: Service, max_lag_s: float = MAX_LAG_S) -> Mapping[str, Callable[[], PartState]]:
    """Return the functions that describe a service.

    An artifact is ready when its server listens. `max_lag_s` limits the lag of an index that nodes share.
    """
    describe, get_index = service.describe_sources, service.get_index
    parts: dict[str, Callable[[], PartState]] = {}
    if describe is not None:
        parts["sources"] = lambda: describe_sources(describe())
    if get_index is not None and service.get_tokens() is not None:
        parts["settings"] = lambda: _describe_settings(get_index())
    if service.list_shared_indexes is not None:
        parts["indexes"] = IndexReadiness(service.list_shared_indexes, max_lag_s).describe
    return parts


def _describe_settings(index: SearchIndex) -> PartState:
    """Return the state of the settings at the served commit; every call fails while they are invalid."""
    try:
        index.workspace.check_settings()
    except InvalidConfig as error:
        return PartState(False, True, {"valid": False, "reason": error.message, "fix": error.fix})
    return PartState(True, True, {"valid": True})


def _build_webhooks(service: Service) -> list[Route]:
    """Return the routes of webhooks, if a secret enables them."""
    secrets = environment.read_webhook_secrets()
    if not secrets or service.build_webhook_target is None:
        return []
    from docyard.forges.webhooks.receiver import WebhookReceiver, build_webhook_routes

    return build_webhook_routes(WebhookReceiver(service.build_webhook_target(), secrets))


def print_url(url: str) -> None:
    """Print the URL of a server on one line. A closed output is logged."""
    try:
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
    except OSError as error:
        log.warning("the URL cannot be printed: %s", StateText(error.strerror))


def _check_math() -> None:
    from workspace.rendering.formulas import can_convert_formulas

    if not can_convert_formulas():
        from docyard.doctor.installation import format_extra_command

        raise CommandError(
            "--math needs latex2mathml, which is not installed",
            fix=f"Install it with `{format_extra_command('math')}`, or omit --math to show formulas as text.",
        )


def _read_script(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            script = stream.read(_MAX_SCRIPT_BYTES + 1)
    except OSError as error:
        raise CommandError(
            f"the file of --mermaid cannot be read ({error.strerror})", fix="Name a mermaid.min.js."
        ) from None
    if len(script) > _MAX_SCRIPT_BYTES:
        raise CommandError(
            f"the file of --mermaid is larger than {_MAX_SCRIPT_BYTES:,} bytes", fix="Name a mermaid.min.js."
        )
    return script
