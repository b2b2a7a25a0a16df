"""Messages over standard input and output, one JSON text to a line.

The SDK's own transport drops a line that it cannot read and takes lines of any length. This one answers
such a line, and bounds it. While it runs, file descriptor 1 is standard error, so that a stray `print`
anywhere cannot break the protocol.

When standard input ends, what was asked is still answered, as long as the client reads: `docyard serve` can
stand in a pipe. When nobody reads, the server ends as soon as the calls that were begun have.
"""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from typing import NamedTuple

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError

from docyard.protocol.input import Input, open_input
from docyard.protocol.output import Output
from docyard.protocol.unanswered import Unanswered
from docyard.stdin import LINE_LIMIT, refuse

_FAREWELL = 3.0  # seconds in which a client that has closed its end may read nothing, until it is given up

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class Wire(NamedTuple):
    """The streams of messages that a server runs on, and the requests whose answers are not written yet."""

    incoming: Incoming
    outgoing: Outgoing
    unanswered: Unanswered


@asynccontextmanager
async def stdio(limit: int = LINE_LIMIT) -> AsyncIterator[Wire]:
    """The wire of a server's one client; its first stream ends when standard input does.

    A line longer than `limit` bytes is answered with an error and forgotten.
    """
    messages_in, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_out = anyio.create_memory_object_stream[SessionMessage](0)
    unanswered = Unanswered()
    reading, writing, watching = anyio.CancelScope(), anyio.CancelScope(), anyio.CancelScope()
    ended = anyio.Event()

    async def read() -> None:
        with reading:
            await _parse(source, messages_in, outgoing.clone(), unanswered, limit, ended)

    async def write() -> None:
        with writing:
            await _write(outgoing_out, output, unanswered)
        # There is nobody to answer: nothing more is begun, and what was begun runs to its end.
        reading.cancel()
        watching.cancel()

    async def watch() -> None:
        with watching:
            await ended.wait()
            await output.stalled(_FAREWELL)
            writing.cancel()

    source = open_input(0, limit)
    with _output() as output, closing(source):
        async with anyio.create_task_group() as tasks:
            for task in (read, write, watch):
                tasks.start_soon(task)
            yield Wire(messages, outgoing, unanswered)
            reading.cancel()


async def _parse(
    source: Input,
    messages: MemoryObjectSendStream[SessionMessage | Exception],
    answers: Outgoing,
    unanswered: Unanswered,
    limit: int,
    ended: anyio.Event,
) -> None:
    """Pass on what a client sends. At its end, `ended` is set, and the answers are waited for."""
    gone = (anyio.BrokenResourceError, anyio.ClosedResourceError)
    first = True
    async with messages, answers:
        with suppress(*gone):
            while (line := await source.line()) is not None:
                if isinstance(line, bytes):
                    line = line.removeprefix(codecs.BOM_UTF8) if first else line
                    first = False
                    if not line.strip():
                        continue
                    if message := _message(line):
                        unanswered.read(message)
                        await messages.send(SessionMessage(message))
                        continue
                if refusal := refuse(line, limit):
                    error = ErrorData(code=refusal.code, message=refusal.message)
                    answer = JSONRPCError(jsonrpc="2.0", id=refusal.id, error=error)
                    await answers.send(SessionMessage(answer))
            ended.set()
            await unanswered.settled()


def _message(line: bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return None


async def _write(
    messages: MemoryObjectReceiveStream[SessionMessage], output: Output, unanswered: Unanswered
) -> None:
    async with messages:
        async for message in messages:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await output.write(text.encode() + b"\n")
            except OSError:
                return  # the client is gone
            unanswered.written(message.message)


@contextmanager
def _output() -> Iterator[Output]:
    """What was standard output, while descriptor 1 leads to standard error."""
    sys.stdout.flush()
    private = os.dup(1)
    output = Output(private)
    os.dup2(2, 1)
    try:
        yield output
    finally:
        output.close()
        sys.stdout.flush()
        os.dup2(private, 1)
        os.close(private)
