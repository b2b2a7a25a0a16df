"""Standard input and output for the SDK's `stdio_server`, with back-pressure and answers to unreadable lines.

The SDK reads as fast as the client writes, drops a line that it cannot parse, and waits for a blocked read or
write when it stops. So it is given two files of ours (its public arguments), and its streams are wrapped:

- A request waits while 32 requests, or 32 MiB of them, are unanswered, and nothing behind it is read. So a
  cancellation directly behind the unanswered requests arrives, and one behind the waiting request only later.
  A response of the client could wait in the same way: a tool must not send requests to the client.
- A line that is not a JSON-RPC message, or is too long, is answered with an error.
- When the input closes, each request is still answered while the client reads. A client that then reads
  nothing for three seconds is given up, as is one that closes its reading end: running calls end, then the
  server.
- `Connection.stop` ends the input as if it had closed there: no further request is read.

While it runs, file descriptor 1 is standard error, so that a stray `print` cannot break the protocol.
"""

from __future__ import annotations

import codecs
import os
import select
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, NamedTuple

import anyio
from anyio import from_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.lowlevel import EventLoopToken, current_token
from mcp.server.stdio import stdio_server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from docyard.mcp_server.arrays import wrap_array
from docyard.mcp_server.input import LINE_LIMIT, LineAssembler, Oversized, build_refusal

REQUEST_LIMIT = 32
"""The most requests that are read and not answered."""

_READ_BYTES = 256 * 1024
_WRITE_BYTES = 16 * 1024  # small, so that a client that reads slowly is seen to read
_STALL_S = 3.0
_POLL_S = 0.5  # how often a stalled output, and the closing of an input that is not read, are looked for
_FLUSH_S = 1.0  # how long the last line may take when the server stops


class OpenRequests:
    """The requests that were read and are not answered yet, each with its size in bytes.

    A `subscriptions/listen` request counts as answered when it is acknowledged: its result only ends it.
    """

    def __init__(self) -> None:
        self._open: list[tuple[RequestId, int]] = []
        self._changed = anyio.Event()

    async def add(self, request: RequestId, size: int) -> None:
        """Add a request as soon as the limits permit it."""
        while self._open and (
            len(self._open) >= REQUEST_LIMIT or size + sum(other for _, other in self._open) > LINE_LIMIT
        ):
            await self._changed.wait()
        self._open.append((request, size))

    async def remove(self, request: object) -> None:
        """Remove a request that was answered or cancelled; ignore one that is not open."""
        if (found := next((entry for entry in self._open if entry[0] == request), None)) is not None:
            self._open.remove(found)
            self._changed.set()
            self._changed = anyio.Event()

    async def settle(self) -> None:
        """Return when every request is answered."""
        while self._open:
            await self._changed.wait()


class _MessagesIn(ObjectReceiveStream[SessionMessage | Exception]):
    """The SDK's stream of the client's messages, which ends when every request is answered."""

    def __init__(self, stream: Any, requests: OpenRequests) -> None:  # the SDK's type is not public
        self._stream = stream
        self._requests = requests

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._stream.receive()
        except anyio.EndOfStream:
            await self._requests.settle()
            raise
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest):
            # The SDK never answers a cancelled request; it calls this when the handler has returned.
            item.metadata = ServerMessageMetadata(
                on_request_unanswered=partial(self._requests.remove, item.message.id)
            )
        return item

    async def aclose(self) -> None:
        await self._stream.aclose()


class _MessagesOut(ObjectSendStream[SessionMessage]):
    """The SDK's stream of the server's messages."""

    def __init__(self, stream: Any, requests: OpenRequests) -> None:
        self._stream = stream
        self._requests = requests

    async def send(self, item: SessionMessage) -> None:
        await self._stream.send(item)
        match item.message:
            case JSONRPCResponse(id=request) | JSONRPCError(id=request):
                await self._requests.remove(request)
            case JSONRPCNotification(
                method="notifications/subscriptions/acknowledged", params={"_meta": dict(meta)}
            ):
                await self._requests.remove(meta[SUBSCRIPTION_ID_META_KEY])

    async def aclose(self) -> None:
        await self._stream.aclose()


class InputFile(anyio.AsyncFile[str]):
    """The requests and other messages of a descriptor; what is neither is answered here.

    A daemon thread reads at most one line ahead: a blocked read cannot be cancelled.
    """

    def __init__(self, descriptor: int, output: OutputFile, requests: OpenRequests) -> None:
        super().__init__(sys.stdin)
        self._output = output
        self._requests = requests
        self._offered, self._lines = anyio.create_memory_object_stream[bytes | Oversized](1)
        self._slot = threading.Semaphore()
        self._is_first = True
        self._is_stopped = False
        self._reading = anyio.CancelScope()
        self.closed = anyio.Event()
        """Set when the client has closed its end, or after `stop`; some lines may not be read yet."""
        # The copy stays open as long as the thread may read from it.
        arguments = (os.dup(descriptor), current_token())
        threading.Thread(target=self._run, args=arguments, daemon=True).start()

    def stop(self) -> None:
        """End the input: nothing more is read, nor a request that waits for the limits."""
        self._is_stopped = True
        self.closed.set()
        self._reading.cancel()

    async def readline(self) -> str:
        """Return the next message; an empty text at the end, or after `stop`."""
        if not self._is_stopped:
            with anyio.CancelScope() as self._reading:
                return await self._read_message()
        return ""

    async def _read_message(self) -> str:
        async for line in self._lines:
            self._slot.release()
            if isinstance(line, bytes):
                line = line.removeprefix(codecs.BOM_UTF8) if self._is_first else line
                self._is_first = False
                if not line.strip():
                    continue
                line = wrap_array(line)  # first, because a wrapped array may nest too deeply to be read
                if (message := _parse(line)) is not None:
                    if isinstance(message, JSONRPCRequest):
                        await self._requests.add(message.id, len(line))
                    return line.decode()
            if refusal := build_refusal(line):
                error = ErrorData(code=refusal.code, message=refusal.message)
                answer = JSONRPCError(jsonrpc="2.0", id=refusal.id, error=error)
                await self._output.write(answer.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
        return ""

    def _run(self, descriptor: int, token: EventLoopToken) -> None:
        assembler, is_closed = LineAssembler(), _hang_up_check(descriptor)

        def offer(line: bytes | Oversized) -> None:
            while not self._slot.acquire(timeout=_POLL_S):
                if is_closed():
                    from_thread.run_sync(self.closed.set, token=token)
            from_thread.run_sync(self._offered.send_nowait, line, token=token)

        with suppress(RuntimeError, CancelledError):  # the event loop has ended
            with suppress(OSError):
                while chunk := os.read(descriptor, _READ_BYTES):
                    for line in assembler.feed(chunk):
                        offer(line)
            for line in assembler.finish():
                offer(line)
            from_thread.run_sync(self._offered.close, token=token)
            from_thread.run_sync(self.closed.set, token=token)
        os.close(descriptor)


class OutputFile(anyio.AsyncFile[str]):
    """Lines to a descriptor, each written whole by a daemon thread: a blocked write cannot be cancelled.

    `on_broken` is called when the client has closed its reading end; lines are dropped from then on.
    """

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        super().__init__(sys.stdout)
        self._queue: SimpleQueue[tuple[bytes, anyio.Event] | None] = SimpleQueue()
        self._unwritten = 0
        self._progress_time = 0.0
        # The copy stays open as long as the thread may write to it.
        arguments = (os.dup(descriptor), on_broken, current_token())
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    async def write(self, text: Any) -> int:
        """Write a text and return its length when it is written, or dropped."""
        self._progress_time = self._progress_time if self._unwritten else time.monotonic()
        self._unwritten += 1
        self._queue.put((text.encode(), done := anyio.Event()))
        await done.wait()
        return len(text)

    async def flush(self) -> None:
        """Do nothing: `write` returns when the text is written."""

    async def wait_stalled(self) -> None:
        """Return when a text waits and the client has read nothing for three seconds."""
        while not self._unwritten or time.monotonic() - self._progress_time < _STALL_S:
            await anyio.sleep(_POLL_S)

    def close(self) -> None:
        """End the thread when it has written what is queued, and wait for that a moment."""
        self._queue.put(None)
        self._thread.join(_FLUSH_S)

    def _run(self, descriptor: int, on_broken: Callable[[], None], token: EventLoopToken) -> None:
        def settle(done: anyio.Event, is_broken: bool) -> None:
            self._unwritten -= 1
            done.set()
            if is_broken:
                on_broken()

        is_broken = False
        while (item := self._queue.get()) is not None:
            data, done = memoryview(item[0]), item[1]
            try:
                while data and not is_broken:
                    data = data[os.write(descriptor, data[:_WRITE_BYTES]) :]
                    self._progress_time = time.monotonic()
            except OSError:
                is_broken = True
            with suppress(RuntimeError, CancelledError):  # the event loop has ended
                from_thread.run_sync(settle, done, is_broken, token=token)
        os.close(descriptor)


class StdioConnection(NamedTuple):
    """The streams for `Server.run`, the requests that are open on them, and what ends the input."""

    incoming: ObjectReceiveStream[SessionMessage | Exception]
    outgoing: ObjectSendStream[SessionMessage]
    requests: OpenRequests
    stop: Callable[[], None]


@asynccontextmanager
async def stdio() -> AsyncIterator[StdioConnection]:
    """Connect the client on standard input and output. The block is cancelled when the client is given up."""
    requests = OpenRequests()
    with _private_output() as descriptor:
        async with anyio.create_task_group() as tasks:
            with closing(OutputFile(descriptor, tasks.cancel_scope.cancel)) as output:
                source = InputFile(0, output, requests)

                async def give_up() -> None:
                    await source.closed.wait()
                    await output.wait_stalled()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(give_up)
                async with stdio_server(source, output) as (read, write):
                    messages = _MessagesIn(read, requests), _MessagesOut(write, requests)
                    yield StdioConnection(*messages, requests, source.stop)
            tasks.cancel_scope.cancel()


@contextmanager
def _private_output() -> Iterator[int]:
    """Yield a copy of standard output while descriptor 1 is standard error."""
    sys.stdout.flush()
    private = os.dup(1)
    os.dup2(2, 1)
    try:
        yield private
    finally:
        sys.stdout.flush()
        os.dup2(private, 1)
        os.close(private)


def _parse(line: bytes) -> JSONRPCMessage | None:
    """Return the message of a line; None if it is not one."""
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return None
    # The SDK takes a request with an invalid id, such as 1.5 or null, for a notification.
    # Its key may be spelled with escapes, such as "\\u0069d".
    is_invalid = (
        isinstance(message, JSONRPCNotification)
        and (b'"id"' in line or rb"\u" in line)
        and "id" in from_json(line)
    )
    return None if is_invalid else message


def _hang_up_check(descriptor: int) -> Callable[[], object]:
    """Return a function that reports a closed writing end before all is read; on Windows it never does."""
    if not hasattr(select, "poll"):
        return lambda: False
    poll = select.poll()
    poll.register(descriptor, getattr(select, "POLLRDHUP", 0))
    return partial(poll.poll, 0)
