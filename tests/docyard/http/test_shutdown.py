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


@pytest.mark.anyio
async def test_oldest_of_too_many_event_streams_ends() -> None:
    """Open three streams where two are permitted, next to a response that is no stream of events."""
    messages: dict[int, list[Message]] = {number: [] for number in range(4)}
    content_types = [b"application/octet-stream", *[b"text/event-stream; charset=utf-8"] * 3]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        content_type = content_types[int(scope["path"])]
        headers = [(b"content-type", content_type)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"event", "more_body": True})
        await anyio.sleep_forever()

    middleware = ShutdownMiddleware(app, [], max_streams=2)

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def request(number: int) -> None:
        async def send(message: Message) -> None:
            messages[number].append(message)

        await middleware({**SCOPE, "path": str(number)}, receive, send)

    async with anyio.create_task_group() as tasks:
        for number in messages:
            tasks.start_soon(request, number)
            await anyio.wait_all_tasks_blocked()
        assert [messages[number][-1]["more_body"] for number in messages] == [True, False, True, True]
        tasks.cancel_scope.cancel()
