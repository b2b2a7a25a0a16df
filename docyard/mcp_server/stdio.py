"""Standard input and output for the SDK's `stdio_server`, with back-pressure and errors for invalid lines.

The SDK reads as fast as the client writes, and drops a line that it cannot parse. On shutdown, the SDK waits
for a blocked read or write. So this module passes two of its own files to the SDK, and wraps its streams:

- While 32 requests, or 32 MiB of requests, are unanswered, the next request waits, and no line after it is
  read. A cancellation after the waiting request therefore arrives late, and so does a response of the client.
  So at most half of these requests may wait for a response (`review_page.MAX_WAITING_CALLS`), and their sizes
  do not count.
- The response to a line that is too long, or not a JSON-RPC message, is an error.
- When the input closes, the server still sends all responses while the client reads. If the client then reads
  nothing for three seconds, or closes its reading end, the server ends after the running calls.
- `StdioConnection.stop` ends the input as if the client had closed it: no further request is read.

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
from docyard.mcp_server.input import MAX_LINE_BYTES, LineAssembler, OversizedLine, build_refusal

MAX_OPEN_REQUESTS = 32
"""The largest number of unanswered requests; further requests wait."""

_READ_BYTES = 256 * 1024
_WRITE_BYTES = 16 * 1024  # small, so that a slow client reads a part within _STALL_TIMEOUT_S
_STALL_TIMEOUT_S = 3.0
_POLL_INTERVAL_S = 0.5  # between two checks for a stalled output, or for a closed input
_FLUSH_TIMEOUT_S = 1.0  # when the server stops, it waits at most this long for the last line


class OpenRequests:
    """The unanswered requests, each with its size in bytes.

    A `subscriptions/listen` request counts as answered when it is acknowledged, because its result only
    ends the stream.
    """

    def __init__(self) -> None:
        self._entries: list[tuple[RequestId, int]] = []
        self._change_event = anyio.Event()

    async def add(self, request_id: RequestId, size: int) -> None:
        """Add a request; wait until the limits permit it."""
        while self._entries and (
            len(self._entries) >= MAX_OPEN_REQUESTS
            or size + sum(other_size for _, other_size in self._entries) > MAX_LINE_BYTES
        ):
            await self._change_event.wait()
        self._entries.append((request_id, size))

    async def remove(self, request_id: object) -> None:
        """Remove a request that was answered or cancelled; ignore a request that is not open."""
        if (
            entry := next((candidate for candidate in self._entries if candidate[0] == request_id), None)
        ) is not None:
            self._entries.remove(entry)
            self._notify()

    def ignore_size(self, request_id: object) -> None:
        """Stop counting the bytes of a request, because its call waits for a response of the client."""
        self._entries = [(id, 0 if id == request_id else size) for id, size in self._entries]
        self._notify()

    async def wait_until_all_answered(self) -> None:
        """Wait until every request is answered."""
        while self._entries:
            await self._change_event.wait()

    def _notify(self) -> None:
        self._change_event.set()
        self._change_event = anyio.Event()


class _IncomingMessages(ObjectReceiveStream[SessionMessage | Exception]):
    """The SDK's stream of the client's messages; after the input, it ends when every request is answered."""

    def __init__(self, stream: Any, requests: OpenRequests) -> None:  # the SDK's type is not public
        self._stream = stream
        self._requests = requests

    async def receive(self) -> SessionMessage | Exception:
        try:
            item: SessionMessage | Exception = await self._stream.receive()
        except anyio.EndOfStream:
            await self._requests.wait_until_all_answered()
            raise
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCRequest):
            # The SDK sends no response to a cancelled request; it calls this when the handler has returned.
            item.metadata = ServerMessageMetadata(
                on_request_unanswered=partial(self._requests.remove, item.message.id)
            )
        return item

    async def aclose(self) -> None:
        await self._stream.aclose()


class _OutgoingMessages(ObjectSendStream[SessionMessage]):
    """The SDK's stream of the server's messages."""

    def __init__(self, stream: Any, requests: OpenRequests) -> None:
        self._stream = stream
        self._requests = requests

    async def send(self, item: SessionMessage) -> None:
        await self._stream.send(item)
        match item.message:
            case JSONRPCResponse(id=request_id) | JSONRPCError(id=request_id):
                await self._requests.remove(request_id)
            case JSONRPCRequest() if isinstance(item.metadata, ServerMessageMetadata):
                self._requests.ignore_size(item.metadata.related_request_id)
            case JSONRPCNotification(
                method="notifications/subscriptions/acknowledged", params={"_meta": dict(meta)}
            ):
                await self._requests.remove(meta[SUBSCRIPTION_ID_META_KEY])

    async def aclose(self) -> None:
        await self._stream.aclose()


class InputFile(anyio.AsyncFile[str]):
    """The messages that are read from a file descriptor, and the responses to invalid lines.

    A daemon thread reads at most one line ahead, because a blocked read cannot be cancelled.
    """

    def __init__(self, descriptor: int, output: OutputFile, requests: OpenRequests) -> None:
        super().__init__(sys.stdin)
        self._output = output
        self._requests = requests
        self._line_sender, self._lines = anyio.create_memory_object_stream[bytes | OversizedLine](1)
        self._line_slot = threading.Semaphore()
        self._is_first = True
        self._is_stopped = False
        self._read_scope = anyio.CancelScope()
        self.close_event = anyio.Event()
        """Set when the client has closed its end, or after `stop`; unread lines may remain."""
        # The copy stays open as long as the thread may read from it.
        arguments = (os.dup(descriptor), current_token())
        threading.Thread(target=self._run, args=arguments, daemon=True).start()

    def stop(self) -> None:
        """End the input: read no further line, and drop a request that waits for the limits."""
        self._is_stopped = True
        self.close_event.set()
        self._read_scope.cancel()

    async def readline(self) -> str:
        """Return the next message; an empty string at the end, or after `stop`."""
        if not self._is_stopped:
            with anyio.CancelScope() as self._read_scope:
                return await self._read_message()
        return ""

    async def _read_message(self) -> str:
        async for line in self._lines:
            self._line_slot.release()
            if isinstance(line, bytes):
                line = line.removeprefix(codecs.BOM_UTF8) if self._is_first else line
                self._is_first = False
                if not line.strip():
                    continue
                line = wrap_array(line)  # first, because a wrapped array may be nested too deeply to parse
                if (message := _parse_message(line)) is not None:
                    if isinstance(message, JSONRPCRequest):
                        await self._requests.add(message.id, len(line))
                    return line.decode()
            if refusal := build_refusal(line):
                error = ErrorData(code=refusal.code, message=refusal.message)
                response = JSONRPCError(jsonrpc="2.0", id=refusal.id, error=error)
                await self._output.write(response.model_dump_json(by_alias=True, exclude_unset=True) + "\n")
        return ""

    def _run(self, descriptor: int, token: EventLoopToken) -> None:
        assembler, is_hung_up = LineAssembler(), _build_hang_up_check(descriptor)

        def send_line(line: bytes | OversizedLine) -> None:
            while not self._line_slot.acquire(timeout=_POLL_INTERVAL_S):
                if is_hung_up():
                    from_thread.run_sync(self.close_event.set, token=token)
            from_thread.run_sync(self._line_sender.send_nowait, line, token=token)

        with suppress(RuntimeError, CancelledError):  # the event loop has ended
            with suppress(OSError):
                while chunk := os.read(descriptor, _READ_BYTES):
                    for line in assembler.feed(chunk):
                        send_line(line)
            for line in assembler.finish():
                send_line(line)
            from_thread.run_sync(self._line_sender.close, token=token)
            from_thread.run_sync(self.close_event.set, token=token)
        os.close(descriptor)


class OutputFile(anyio.AsyncFile[str]):
    """A file of lines that a daemon thread writes, because a blocked write cannot be cancelled.

    `on_broken` is called when the client has closed its reading end; further lines are dropped.
    """

    def __init__(self, descriptor: int, on_broken: Callable[[], None]) -> None:
        super().__init__(sys.stdout)
        self._queue: SimpleQueue[tuple[bytes, anyio.Event] | None] = SimpleQueue()
        self._unwritten_count = 0
        self._progress_time = 0.0
        # The copy stays open as long as the thread may write to it.
        arguments = (os.dup(descriptor), on_broken, current_token())
        self._thread = threading.Thread(target=self._run, args=arguments, daemon=True)
        self._thread.start()

    async def write(self, text: Any) -> int:
        """Write a text, wait until it is written or dropped, and return its length."""
        self._progress_time = self._progress_time if self._unwritten_count else time.monotonic()
        self._unwritten_count += 1
        self._queue.put((text.encode(), written_event := anyio.Event()))
        await written_event.wait()
        return len(text)

    async def flush(self) -> None:
        """Do nothing: `write` returns when the text is written."""

    async def wait_until_stalled(self) -> None:
        """Wait until the client has read nothing for three seconds while a text was pending."""
        while not self._unwritten_count or time.monotonic() - self._progress_time < _STALL_TIMEOUT_S:
            await anyio.sleep(_POLL_INTERVAL_S)

    def close(self) -> None:
        """End the thread after it has written the queued texts; wait at most `_FLUSH_TIMEOUT_S`."""
        self._queue.put(None)
        self._thread.join(_FLUSH_TIMEOUT_S)

    def _run(self, descriptor: int, on_broken: Callable[[], None], token: EventLoopToken) -> None:
        def finish_write(written_event: anyio.Event, is_broken: bool) -> None:
            self._unwritten_count -= 1
            written_event.set()
            if is_broken:
                on_broken()

        is_broken = False
        while (item := self._queue.get()) is not None:
            unwritten_bytes, written_event = memoryview(item[0]), item[1]
            try:
                while unwritten_bytes and not is_broken:
                    unwritten_bytes = unwritten_bytes[os.write(descriptor, unwritten_bytes[:_WRITE_BYTES]) :]
                    self._progress_time = time.monotonic()
            except OSError:
                is_broken = True
            with suppress(RuntimeError, CancelledError):  # the event loop has ended
                from_thread.run_sync(finish_write, written_event, is_broken, token=token)
        os.close(descriptor)


class StdioConnection(NamedTuple):
    """The streams for `Server.run`, their open requests, and a function that ends the input.

    `close_event` is set when the client has closed its end, or after `stop`.
    """

    incoming: ObjectReceiveStream[SessionMessage | Exception]
    outgoing: ObjectSendStream[SessionMessage]
    requests: OpenRequests
    stop: Callable[[], None]
    close_event: anyio.Event


@asynccontextmanager
async def open_stdio() -> AsyncIterator[StdioConnection]:
    """Yield a connection over standard input and output. A client that stops reading cancels the block."""
    requests = OpenRequests()
    with _redirect_output() as descriptor:
        async with anyio.create_task_group() as tasks:
            with closing(OutputFile(descriptor, tasks.cancel_scope.cancel)) as output:
                input_file = InputFile(0, output, requests)

                async def cancel_stalled() -> None:
                    await input_file.close_event.wait()
                    await output.wait_until_stalled()
                    tasks.cancel_scope.cancel()

                tasks.start_soon(cancel_stalled)
                async with stdio_server(input_file, output) as (read_stream, write_stream):
                    streams = (
                        _IncomingMessages(read_stream, requests),
                        _OutgoingMessages(write_stream, requests),
                    )
                    yield StdioConnection(*streams, requests, input_file.stop, input_file.close_event)
            tasks.cancel_scope.cancel()


@contextmanager
def _redirect_output() -> Iterator[int]:
    """Yield a copy of standard output while descriptor 1 is standard error."""
    sys.stdout.flush()
    output_copy = os.dup(1)
    os.dup2(2, 1)
    try:
        yield output_copy
    finally:
        sys.stdout.flush()
        os.dup2(output_copy, 1)
        os.close(output_copy)


def _parse_message(line: bytes) -> JSONRPCMessage | None:
    """Return the message of a line; None if the line is invalid."""
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return None
    # The SDK parses a request with an invalid id, such as 1.5 or null, as a notification.
    # The key "id" may contain escapes, such as "\\u0069d".
    is_invalid = (
        isinstance(message, JSONRPCNotification)
        and (b'"id"' in line or rb"\u" in line)
        and "id" in from_json(line)
    )
    return None if is_invalid else message


def _build_hang_up_check(descriptor: int) -> Callable[[], object]:
    """Return a function that detects a closed writing end before all input is read; never on Windows."""
    if not hasattr(select, "poll"):
        return lambda: False
    poll = select.poll()
    poll.register(descriptor, getattr(select, "POLLRDHUP", 0))
    return partial(poll.poll, 0)
