"""Request timeouts, and the limit of connections: beyond it, the connection idle the longest is closed."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from docyard.http.timeouts import BACKLOG, MAX_CONNECTIONS, TimeoutH11Protocol
from workspace.git.repository import MAX_OPEN_PACKS

TIMEOUT_S = 60.0
REQUEST = b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"
FORM_HEAD = b"POST /read HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\n"
SHORT_TIMEOUT_S = 0.05  # only for requests that must time out
USUAL_OPEN_FILE_LIMIT = 1024


class SmallCapProtocol(TimeoutH11Protocol):
    max_connections = 3


@asynccontextmanager
async def serve_protocol(protocol: type[TimeoutH11Protocol], state: ServerState) -> AsyncIterator[int]:
    """Start a server with a protocol, and yield its port.

    `/read` reads the whole body. `/held` responds only when the server stops. `/stream` sends until the
    client has disconnected, and then sets the event in `protocol.stream_end`.
    """
    release = asyncio.Event()

    async def stream(receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        is_connected = True

        async def wait_for_disconnect() -> None:
            nonlocal is_connected
            while (await receive())["type"] != "http.disconnect":
                pass
            is_connected = False

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_for_disconnect)
            while is_connected:
                await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
                await anyio.sleep(0)
        protocol.stream_end.set()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while scope["path"] == "/read" and (await receive()).get("more_body"):
            pass
        if scope["path"] == "/stream":
            await stream(receive, send)
            return
        if scope["path"] == "/held":
            await release.wait()
        await PlainTextResponse("here")(scope, receive, send)

    config = uvicorn.Config(app, http=protocol, ws="none", log_config=None, lifespan="off")
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        release.set()
        server.close()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def shorten_timeouts(*attributes: str) -> type[TimeoutH11Protocol]:
    """Return a protocol class with a short timeout for each attribute in `attributes`."""
    values = {"stream_end": asyncio.Event(), **dict.fromkeys(attributes, SHORT_TIMEOUT_S)}
    return type("ShortTimeoutProtocol", (TimeoutH11Protocol,), values)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("request_bytes", "attribute", "status"),
    [
        (b"", "header_timeout_s", b""),
        (b"GET / HTTP/1.1\r\nHost: he", "header_timeout_s", b""),
        (FORM_HEAD + b"a", "body_timeout_s", b""),
        (FORM_HEAD.replace(b"/read", b"/"), "drain_timeout_s", b"200"),
    ],
    ids=["nothing", "half a header", "half a body", "half a body after its response"],
)
async def test_connection_of_stalled_request_is_closed(
    request_bytes: bytes, attribute: str, status: bytes
) -> None:
    async with serve_protocol(shorten_timeouts(attribute), ServerState()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request_bytes)
        with anyio.fail_after(TIMEOUT_S):
            response = await reader.read()
            assert response.removeprefix(b"HTTP/1.1 ")[:3] == status
        writer.close()


@pytest.mark.anyio
async def test_stream_that_is_not_read_ends() -> None:
    protocol = shorten_timeouts("read_timeout_s")
    state = ServerState()
    async with serve_protocol(protocol, state) as port:
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.send(b"GET /stream HTTP/1.1\r\nHost: here\r\n\r\n")
            with anyio.fail_after(TIMEOUT_S):
                await protocol.stream_end.wait()  # type: ignore[attr-defined]
        assert not state.connections


@pytest.mark.anyio
async def test_stream_that_is_read_slowly_continues() -> None:
    protocol = shorten_timeouts()
    protocol.read_timeout_s = 0.2
    async with serve_protocol(protocol, ServerState()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_000)
        writer.write(b"GET /stream HTTP/1.1\r\nHost: here\r\n\r\n")
        end_time = anyio.current_time() + 0.5
        with anyio.fail_after(TIMEOUT_S):
            while anyio.current_time() < end_time:
                assert await reader.read(1_000_000)
                await asyncio.sleep(0.001)
        assert not protocol.stream_end.is_set()  # type: ignore[attr-defined]
        writer.close()


@pytest.mark.anyio
async def test_slow_bytes_do_not_extend_the_timeout() -> None:
    async def send_slowly(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.01)

    async with serve_protocol(shorten_timeouts("header_timeout_s"), ServerState()) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        with anyio.fail_after(TIMEOUT_S), pytest.raises(ConnectionError):
            await send_slowly(writer)


@pytest.mark.anyio
async def test_second_request_has_the_same_timeout() -> None:
    protocol = shorten_timeouts()
    async with serve_protocol(protocol, ServerState()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with anyio.fail_after(TIMEOUT_S):
            for _ in range(2):
                writer.write(REQUEST)
                await reader.readuntil(b"here")
            protocol.header_timeout_s = SHORT_TIMEOUT_S
            writer.write(REQUEST[:5])
            assert await reader.read() == b""
        writer.close()


@pytest.mark.anyio
async def test_longest_idle_connection_is_closed_first() -> None:
    state = ServerState()
    async with serve_protocol(SmallCapProtocol, state) as port:
        waiting_reader, waiting_writer = await asyncio.open_connection("127.0.0.1", port)
        waiting_writer.write(REQUEST.replace(b"/", b"/held", 1))
        with anyio.fail_after(TIMEOUT_S):
            while not state.tasks:
                await asyncio.sleep(0.001)
        idle_connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        new_reader, new_writer = await asyncio.open_connection("127.0.0.1", port)
        new_writer.write(REQUEST)
        with anyio.fail_after(TIMEOUT_S):
            assert (await new_reader.readuntil(b"here")).startswith(b"HTTP/1.1 200")
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await idle_connections[0][0].readexactly(1)
        # Newer connections, and those that wait for a response, stay open.
        idle_connections[1][1].write(REQUEST)
        with anyio.fail_after(TIMEOUT_S):
            assert (await idle_connections[1][0].readuntil(b"here")).startswith(b"HTTP/1.1 200")
        assert len(state.connections) == 3
        assert not waiting_reader.at_eof()
        for writer in (waiting_writer, new_writer, idle_connections[0][1], idle_connections[1][1]):
            writer.close()


def test_connection_limit_is_below_open_file_limit() -> None:
    assert MAX_CONNECTIONS + 2 * BACKLOG + MAX_OPEN_PACKS < USUAL_OPEN_FILE_LIMIT


@pytest.mark.anyio
@pytest.mark.parametrize("separate_bytes", [False, True])
@pytest.mark.parametrize("first_request", [b"", REQUEST, FORM_HEAD + b"a" * 100])
@pytest.mark.parametrize(
    "request_bytes",
    [
        REQUEST.replace(b"\r\n", b"\n"),
        b"GET / HTTP/1.1\r\nHost: here\r\nX-A: a\nContent-Length: 5\r\n\r\nhello",
        b"GET / HTTP/1.1\r\nHost: here\r\nX-A: a\r\n Content-Length: 5\r\n\r\nhello",
        b"GET / HTTP/1.1\r\nHost: here\r\nX-A: a\r\n\tb\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: here\n\r\n",
    ],
    ids=["no CR", "hidden header", "folded header", "folded by a tab", "last header"],
)
async def test_header_that_is_not_one_line_is_refused(
    request_bytes: bytes, first_request: bytes, separate_bytes: bool
) -> None:
    async with serve_protocol(TimeoutH11Protocol, ServerState()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        response = b""
        with anyio.fail_after(TIMEOUT_S), suppress(ConnectionError):  # the refusal of bytes that still arrive
            for part in _divide(first_request + request_bytes, separate_bytes):
                writer.write(part)
                await asyncio.sleep(0)
            while data := await reader.read(1_000):
                response += data
        statuses = [status[:3] for status in response.split(b"HTTP/1.1 ")[1:]]
        expected_statuses = [b"200", b"400"][not first_request :]
        assert statuses == (expected_statuses[: len(statuses)] if separate_bytes else expected_statuses)
        writer.close()


@pytest.mark.anyio
@pytest.mark.parametrize("separate_bytes", [False, True])
async def test_bodies_and_following_requests_may_have_any_line_ends(separate_bytes: bool) -> None:
    form = b"POST /read HTTP/1.1\r\nHost: here\r\nContent-Length: 8\r\n\r\na\nb\r\n \n\n"
    async with serve_protocol(TimeoutH11Protocol, ServerState()) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in _divide(form + form + REQUEST, separate_bytes):
            writer.write(part)
            await asyncio.sleep(0)
        with anyio.fail_after(TIMEOUT_S):
            for _ in range(3):
                assert (await reader.readuntil(b"here")).startswith(b"HTTP/1.1 200")
        writer.close()


def _divide(data: bytes, separate_bytes: bool) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))] if separate_bytes else [data]
