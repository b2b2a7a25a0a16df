"""Messages over standard input and output, one JSON text to a line.

The SDK's own transport drops a line that it cannot read and takes lines of any length. This one answers
such a line, and bounds it. While it runs, file descriptor 1 is standard error, so that a stray `print`
anywhere cannot break the protocol.
"""

from __future__ import annotations

import codecs
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, contextmanager, suppress

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from docyard.stdin import LINE_LIMIT, LineAssembler, Oversized, refuse

_CHUNK = 256 * 1024

Line = bytes | Oversized
Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def stdio(limit: int = LINE_LIMIT) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """The streams of messages that a server runs on; the first ends when standard input does.

    A line longer than `limit` bytes is answered with an error and forgotten.
    """
    lines_in, lines = anyio.create_memory_object_stream[Line](0)
    messages_in, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_out = anyio.create_memory_object_stream[SessionMessage](0)
    with _output() as descriptor:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_parse, lines, messages_in, outgoing.clone(), limit)
            tasks.start_soon(_write, outgoing_out, descriptor)
            _start_reading(0, lines_in, limit)
            yield messages, outgoing
            lines.close()


def _start_reading(descriptor: int, lines: MemoryObjectSendStream[Line], limit: int) -> None:
    # A thread of our own rather than one of anyio's: it may be blocked in a read when the process ends,
    # so it has to be a daemon, and reads the descriptor itself because a buffered stream holds a lock.
    token = anyio.lowlevel.current_token()

    def read() -> None:
        assembler = LineAssembler(limit)
        with suppress(RuntimeError, CancelledError):  # the event loop has ended
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while chunk := os.read(descriptor, _CHUNK):
                    for line in assembler.feed(chunk):
                        anyio.from_thread.run(lines.send, line, token=token)
                for line in assembler.finish():
                    anyio.from_thread.run(lines.send, line, token=token)
            anyio.from_thread.run_sync(lines.close, token=token)

    threading.Thread(target=read, name="docyard stdin", daemon=True).start()


async def _parse(
    lines: MemoryObjectReceiveStream[Line],
    messages: MemoryObjectSendStream[SessionMessage | Exception],
    answers: Outgoing,
    limit: int,
) -> None:
    gone = (anyio.BrokenResourceError, anyio.ClosedResourceError)
    first = True
    async with lines, messages, answers:
        with suppress(*gone):
            async for line in lines:
                if isinstance(line, bytes):
                    line = line.removeprefix(codecs.BOM_UTF8) if first else line
                    first = False
                    if not line.strip():
                        continue
                    if message := _message(line):
                        await messages.send(SessionMessage(message))
                        continue
                if refusal := refuse(line, limit):
                    error = ErrorData(code=refusal.code, message=refusal.message)
                    answer = JSONRPCError(jsonrpc="2.0", id=refusal.id, error=error)
                    await answers.send(SessionMessage(answer))


def _message(line: bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return None


async def _write(messages: MemoryObjectReceiveStream[SessionMessage], descriptor: int) -> None:
    async with messages:
        async for message in messages:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await anyio.to_thread.run_sync(_write_all, descriptor, text.encode() + b"\n")
            except OSError:
                return  # the client is gone; what it asked for still runs to its end


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


@contextmanager
def _output() -> Iterator[int]:
    """A private descriptor of standard output, while descriptor 1 leads to standard error."""
    sys.stdout.flush()
    private = os.dup(1)
    os.dup2(2, 1)
    try:
        yield private
    finally:
        sys.stdout.flush()
        os.dup2(private, 1)
        os.close(private)
