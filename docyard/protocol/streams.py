"""The two streams that an MCP server runs on, with nothing between them and the lines of the client.

The SDK's own are queues with a task at their other end, and each way through one is a turn of the event loop.
"""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from docyard.protocol.answers import line_of
from docyard.protocol.input import Input, Line
from docyard.protocol.output import Output
from docyard.protocol.unanswered import Unanswered
from docyard.stdin import refuse

Direct = Callable[[bytes], bytes | None]
"""Gives the answer to a line that the server does not have to hear of; None for every other one."""

_HELD = 8  # messages ahead of the first request


class Outgoing:
    """Where a server's messages go, each as a line.

    `gone` is called when nobody reads them any more; then, and once it is closed, sending raises
    anyio.BrokenResourceError or anyio.ClosedResourceError, which the SDK takes for the end of a connection.
    """

    def __init__(self, output: Output, unanswered: Unanswered, gone: Callable[[], None]) -> None:
        self._output = output
        self._unanswered = unanswered
        self._gone = gone
        self._is_closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Return when a message is written."""
        if self._is_closed:
            raise anyio.ClosedResourceError
        try:
            await self._output.write(_line(item.message))
        except OSError:
            self._gone()
            raise anyio.BrokenResourceError from None
        self._unanswered.written(item.message)

    @property
    def is_free(self) -> bool:
        """Whether the client has read all that was sent."""
        return not self._is_closed and self._output.is_free

    def send_at_once(self, line: bytes) -> bool:
        """Send a line if it can be written whole without waiting; else nothing of it."""
        try:
            return self._output.write_at_once(line)
        except OSError:  # whoever sends the next message is told
            return False

    async def aclose(self) -> None:
        """Send no more."""
        self._is_closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


class Incoming:
    """A client's messages, but for those that are answered directly. A line that is none is refused.

    `ended` is called when the client sends no more; the stream ends when all that it asked is answered.
    """

    def __init__(
        self,
        source: Input,
        answers: Outgoing,
        unanswered: Unanswered,
        direct: Direct,
        limit: int,
        ended: Callable[[], None],
    ) -> None:
        self._source = source
        self._answers = answers
        self._unanswered = unanswered
        self._direct = direct
        self._limit = limit
        self._ended = ended
        self._is_first = True
        self._held: deque[SessionMessage] = deque()

    async def opening(self) -> JSONRPCRequest | None:
        """Give the client's first request, which stays to be received; None if it sends none.

        Of what comes before it, the last few messages stay too.
        """
        with suppress(anyio.EndOfStream):
            while True:
                message = await self._next()
                self._held.append(message)
                if isinstance(message.message, JSONRPCRequest):
                    return message.message
                if len(self._held) > _HELD:
                    self._held.popleft()
        return None

    async def receive(self) -> SessionMessage | Exception:
        """Give the next message. Raises anyio.EndOfStream after the last."""
        return self._held.popleft() if self._held else await self._next()

    async def _next(self) -> SessionMessage:
        while (line := await self._source.line(self._is_answered)) is not None:
            if isinstance(line, bytes):
                line = line.removeprefix(codecs.BOM_UTF8) if self._is_first else line
                self._is_first = False
                if not line.strip():
                    continue
                if message := _message(line):
                    self._unanswered.read(message)
                    return SessionMessage(message)
            if refusal := refuse(line, self._limit):
                error = ErrorData(code=refusal.code, message=refusal.message)
                answer = JSONRPCError(jsonrpc="2.0", id=refusal.id, error=error)
                try:
                    await self._answers.send(SessionMessage(answer))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    break
        self._ended()
        await self._unanswered.settled()
        raise anyio.EndOfStream

    def _is_answered(self, line: Line) -> bool:
        """Answer a line that the server does not have to hear of, if that can be written without waiting.

        Who waited here for a client that reads nothing would read nothing of what it writes.
        """
        if not isinstance(line, bytes) or not self._answers.is_free:
            return False
        answer = self._direct(line)
        return answer is not None and self._answers.send_at_once(answer)

    async def aclose(self) -> None:
        """Read no more."""
        self._source.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _line(message: JSONRPCMessage) -> bytes:
    if isinstance(message, JSONRPCResponse):
        return line_of(message.id, message.result)
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


def _message(line: bytes) -> JSONRPCMessage | None:
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return None
    # To the SDK a request whose id is none, such as 1.5 or null, is a notification with a field too many.
    is_odd = isinstance(message, JSONRPCNotification) and b'"id"' in line and "id" in from_json(line)
    return None if is_odd else message
