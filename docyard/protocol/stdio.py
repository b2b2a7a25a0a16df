"""Messages over standard input and output, one JSON text to a line.

The SDK's own transport drops a line that it cannot read and takes lines of any length. This one answers
such a line, and bounds it. While it runs, file descriptor 1 is standard error, so that a stray `print`
anywhere cannot break the protocol.

When standard input ends, what was asked is still answered, as long as the client reads: `docyard serve` can
stand in a pipe. When nobody reads, the server ends as soon as the calls that were begun have.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import NamedTuple

import anyio

from docyard.protocol.input import open_input
from docyard.protocol.output import Output
from docyard.protocol.streams import Direct, Incoming, Outgoing
from docyard.protocol.unanswered import Unanswered
from docyard.stdin import LINE_LIMIT

_FAREWELL = 3.0  # seconds in which a client that has closed its end may read nothing, until it is given up


class Wire(NamedTuple):
    """The streams of messages that a server runs on, and the requests whose answers are not written yet."""

    incoming: Incoming
    outgoing: Outgoing
    unanswered: Unanswered


def _nothing(line: bytes) -> None:
    """The answer where the server hears of everything."""


@asynccontextmanager
async def stdio(direct: Direct = _nothing, limit: int = LINE_LIMIT) -> AsyncIterator[Wire]:
    """The wire of a server's one client; its first stream ends when standard input does.

    `direct` gives the answers to lines that the server does not have to hear of, and None to the others.
    A line longer than `limit` bytes is answered with an error and forgotten.
    """
    unanswered = Unanswered()
    ended = anyio.Event()

    def hang_up() -> None:
        """There is nobody to answer: nothing more is begun, and what was begun runs to its end."""
        source.close()
        unanswered.forget()

    async def watch() -> None:
        await ended.wait()
        await output.stalled(_FAREWELL)
        output.abandon()
        hang_up()

    with _output() as output, closing(open_input(0, limit)) as source:
        outgoing = Outgoing(output, unanswered, hang_up)
        incoming = Incoming(source, outgoing, unanswered, direct, limit, ended.set)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            yield Wire(incoming, outgoing, unanswered)
            tasks.cancel_scope.cancel()


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
