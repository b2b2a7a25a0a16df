"""MCP over HTTP at one address, for both protocol versions. No state of a client is stored between requests.

Each response is JSON or a stream of events, as its client accepts. The server does not record the texts that
a client has read, and sends notifications only to streams (`subscriptions/listen`). A request is
authenticated before it arrives here; its state contains the caller. `?max_tokens=N` limits the answers to a
request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Self

import anyio
from anyio.lowlevel import RunVar
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types import INVALID_REQUEST
from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docyard.mcp_server.arrays import wrap_array
from docyard.mcp_server.calls import CallObserver, Progress, ToolCalls, Workers
from docyard.mcp_server.notifications import ListAnnouncers, ResourceSubscriptions
from docyard.mcp_server.requests import Requests
from docyard.mcp_server.review_page import ReviewPage
from docyard.mcp_server.server import build_server, read_max_tokens
from tools.arguments import InvalidArguments
from tools.dispatcher import Dispatcher

MAX_BODY_BYTES = 4 * 1024 * 1024
"""The maximum size of the body of a request."""

MAX_LARGE_BODIES = 32
"""The maximum number of bodies of more than 64 KiB that are in memory at the same time."""

WORKER_COUNT = 8
"""The number of tool calls that run at the same time."""

READING_WORKER_COUNT = 4
"""The same of a server that only reads: its calls compute, and more threads would wait for each other."""

_SMALL_BODY_BYTES = 64 * 1024
_LARGE_BODIES: RunVar[anyio.CapacityLimiter] = RunVar("large bodies")  # of all endpoints of the process
_RETRY_S = 2
_TOO_LARGE_STATUS = 413
_EVENT_STREAM = "text/event-stream"


class Endpoint:
    """The ASGI application at the protocol's address, while `serve_http` runs."""

    def __init__(
        self,
        event_app: ASGIApp,
        json_app: ASGIApp,
        subscriptions: ResourceSubscriptions,
        review_page: ReviewPage | None = None,
    ) -> None:
        self._event_app = event_app
        self._json_app = json_app
        self._subscriptions = subscriptions
        self._review_page = review_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "GET":
            # Without sessions, a stream would never have an event. The protocol permits this response.
            response = _build_error_response(405, "the server has no streams for GET", {"allow": "POST"})
            response.headers["Allow"] = "POST"
            await response(scope, receive, send)
            return
        try:
            read_max_tokens(QueryParams(scope["query_string"]))
        except InvalidArguments as error:
            await _build_error_response(400, f"{error.message}. {error.fix}", dict(error.details))(
                scope, receive, send
            )
            return
        accept_header = ",".join(Headers(scope=scope).getlist("accept"))
        app = self._event_app if _EVENT_STREAM in accept_header.lower() else self._json_app
        with _ArrayReceive(receive) as receive_array:
            # The SDK would log an error for each client that disconnects before the end of its body.
            if not _is_too_large(scope) and not await receive_array.read():
                if receive_array.is_refused:
                    await _build_busy_response()(scope, receive, send)
                return
            await app(scope, receive_array, _TooLargeSend(scope, receive, send))

    def close(self) -> None:
        """End all streams, each with its last message, and all calls that wait for a decision."""
        self._subscriptions.close()
        if self._review_page is not None:
            self._review_page.stop()


def _is_too_large(scope: Scope) -> bool:
    """Return True if the head of a request says that its body is too large."""
    length = Headers(scope=scope).get("content-length", "")
    return length.isdecimal() and int(length) > MAX_BODY_BYTES


class _ArrayReceive:
    """A `receive` function that wraps an array of arguments in the body for the SDK.

    `read` reads the body first. It is refused if too many large ones are in memory.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._first_message: Message | None = None
        self._limiter: anyio.CapacityLimiter | None = None
        self.is_refused = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._limiter is not None:
            self._limiter.release_on_behalf_of(self)

    async def __call__(self) -> Message:
        message, self._first_message = self._first_message, None
        return await self._receive() if message is None else message

    async def read(self) -> bool:
        """Read the body; return False if it is refused, or the client has disconnected."""
        body = bytearray()
        is_complete = False
        while not is_complete:
            message = await self._receive()
            if message["type"] != "http.request":
                return False
            body += message.get("body", b"")
            if len(body) > _SMALL_BODY_BYTES and self._limiter is None and not self._count_large_body():
                self.is_refused = True
                return False
            is_complete = not message.get("more_body", False) or len(body) > MAX_BODY_BYTES
        self._first_message = {**message, "body": wrap_array(bytes(body))}
        return True

    def _count_large_body(self) -> bool:
        limiter = _LARGE_BODIES.get(None)
        if limiter is None:
            limiter = anyio.CapacityLimiter(MAX_LARGE_BODIES)
            _LARGE_BODIES.set(limiter)
        try:
            limiter.acquire_on_behalf_of_nowait(self)
        except anyio.WouldBlock:
            return False
        self._limiter = limiter
        return True


class _TooLargeSend:
    """A `send` function that adds a fix to the SDK's response to a body that is too large."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._is_replaced = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == _TOO_LARGE_STATUS:
            self._is_replaced = True
            await _build_too_large_response()(self._scope, self._receive, self._send)
        elif not self._is_replaced:
            await self._send(message)


def _build_too_large_response() -> Response:
    return _build_error_response(
        _TOO_LARGE_STATUS,
        f"the message is larger than {MAX_BODY_BYTES:,} bytes. Split it into several calls.",
        {"code": "MESSAGE_TOO_LARGE", "limit": MAX_BODY_BYTES},
    )


def _build_busy_response() -> Response:
    return _build_error_response(
        503,
        "the server reads too many large messages now. Send the message again in a moment.",
        {"code": "TOO_MANY_LARGE_MESSAGES", "limit": MAX_LARGE_BODIES},
        # The rest of the body is not read.
        {"Retry-After": str(_RETRY_S), "Connection": "close"},
    )


def _build_error_response(
    status: int, message: str, data: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> Response:
    error = {"code": INVALID_REQUEST, "message": message, "data": data}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
    return Response(body, status, headers, media_type="application/json")


@asynccontextmanager
async def serve_http(
    dispatcher: Dispatcher,
    *,
    version: str,
    load: Callable[[], object],
    warm: Callable[[Progress], object],
    build_review_url: Callable[[str], str] | None = None,
    observer: CallObserver | None = None,
    workers: Workers | None = None,
    worker_count: int = WORKER_COUNT,
) -> AsyncIterator[Endpoint]:
    """Yield an endpoint that serves requests. The end of the block waits for running calls.

    `load` and then `warm` run in a thread immediately: an HTTP server starts before its first request.
    `build_review_url` returns the URL of a proposal's page; it is None if users are not asked to open pages.
    `observer` limits and records calls. `workers` are shared with other endpoints; if they are None, the
    endpoint has `worker_count` of its own.
    """
    warm_event = anyio.Event()

    async def warm_up() -> None:
        await calls.run_background(lambda _: load())
        await calls.run_background(warm)
        warm_event.set()
        announcers.schedule()

    async with AsyncExitStack() as own_resources:
        if workers is None:
            workers = await own_resources.enter_async_context(Workers(worker_count))
        calls = ToolCalls(dispatcher, workers, observer=observer)
        bus = InMemorySubscriptionBus()
        announcers = ListAnnouncers(
            dispatcher,
            workers,
            bus,
            polls_prompts=await workers.run(dispatcher.may_change_prompts),
            is_shared=True,
        )
        dispatcher.on_list_change = announcers.tools.schedule_from_thread
        dispatcher.build_review_url = build_review_url
        requests = Requests(dispatcher, workers)
        subscriptions = ResourceSubscriptions(requests, bus, is_shared=True)
        review_page = None if build_review_url is None else ReviewPage(requests, build_review_url)
        server = build_server(
            dispatcher,
            calls,
            workers,
            announcers,
            subscriptions,
            version=version,
            list_event=anyio.Event(),
            wait_for_index=warm_event.wait,
            is_shared=True,
            review_page=review_page,
        )
        # One manager of the SDK either returns JSON only, or refuses clients that accept no events.
        event_manager, json_manager = (
            StreamableHTTPSessionManager(
                server, json_response=is_json, stateless=True, max_request_body_size=MAX_BODY_BYTES
            )
            for is_json in (False, True)
        )
        async with AsyncExitStack() as stack:
            tasks = await stack.enter_async_context(anyio.create_task_group())
            tasks.start_soon(warm_up)
            tasks.start_soon(announcers.run)
            tasks.start_soon(subscriptions.run)
            for manager in (event_manager, json_manager):
                await stack.enter_async_context(manager.run())
            try:
                apps = (event_manager.handle_request, json_manager.handle_request)
                yield Endpoint(*apps, subscriptions, review_page)
            finally:
                calls.close()
                tasks.cancel_scope.cancel()
