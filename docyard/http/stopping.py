"""A server that stops: streams of events end, so that nobody waits for clients that only listen."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docyard.http.refusals import refusal
from docyard.web.headers import SafeHeaders

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
        """Give answers that are being made a moment, then hang up; who still waits is told to come back."""
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
