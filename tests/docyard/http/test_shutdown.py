"""Shutdown: waiting requests get a response, and running writes finish."""

from __future__ import annotations

import anyio
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from docyard.http import server
from docyard.http.server import ShutdownMiddleware

SCOPE: Scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}


@pytest.fixture(autouse=True)
def shorten_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_DRAIN_TIME_S", 0.01)
    monkeypatch.setattr(server, "_DISCONNECT_TIME_S", 0.01)


async def collect_messages(request_state: str) -> list[Message]:
    """Return the ASGI messages of the response to a request that is running when the server stops.

    `request_state` is "waiting", "half a form" (a body that never ends), or "commit" (a shielded write).
    """
    messages: list[Message] = []
    start_event, write_event = anyio.Event(), anyio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        start_event.set()
        if request_state == "commit":
            with anyio.CancelScope(shield=True):
                await write_event.wait()
            await PlainTextResponse("commit")(scope, receive, send)
        elif request_state == "half a form":
            while (await receive())["more_body"]:
                pass
        else:
            await anyio.sleep_forever()

    async def receive() -> Message:
        if request_state == "half a form" and start_event.is_set() and not messages:
            await anyio.sleep_forever()
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    notifications: list[str] = []
    middleware = ShutdownMiddleware(app, [lambda: notifications.append("stopping")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(middleware, SCOPE, receive, send)
        await start_event.wait()
        middleware.begin()
        await middleware.finish()
        write_event.set()
    assert notifications == ["stopping"]
    return messages


@pytest.mark.anyio
@pytest.mark.parametrize("request_state", ["waiting", "half a form"])
async def test_waiting_request_gets_503_on_shutdown(request_state: str) -> None:
    start_message, body_message = await collect_messages(request_state)
    assert start_message["status"] == 503
    assert b"the server is stopping" in body_message["body"]
    assert b"idempotency key" in body_message["body"]
    assert b"content-security-policy" in dict(start_message["headers"])


@pytest.mark.anyio
async def test_completed_write_is_answered_on_shutdown() -> None:
    start_message, body_message = await collect_messages("commit")
    assert (start_message["status"], body_message["body"]) == (200, b"commit")
