"""Lines from standard input: read by the event loop where it can tell that there is something to read.

It can for pipes, sockets and terminals. A file, and everything on Windows, is read in a thread. Whoever asks
for a line says which are answered already, and a line that comes by itself is answered where it is read,
before anybody is woken for it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Protocol

import anyio
import anyio.from_thread
import anyio.lowlevel

from docyard.stdin import LineAssembler, Oversized

_CHUNK = 256 * 1024

Line = bytes | Oversized

Answering = Callable[[Line], bool]
"""Answers a line, if that can be done without waiting, and says whether it has."""


class Input(Protocol):
    """The lines of a descriptor."""

    async def line(self, answered: Answering) -> Line | None:
        """Give the next line without its line break that is not answered; None when the client has gone."""

    def close(self) -> None:
        """Read no more: who waits for a line, and who asks for one, is given None."""


def open_input(descriptor: int, limit: int) -> Input:
    """Give the lines of a descriptor, each of at most `limit` bytes, in the quickest way that there is."""
    try:
        return PolledInput(descriptor, limit)
    except (NotImplementedError, OSError):
        return ThreadedInput(descriptor, limit)


class PolledInput:
    """Reads on the event loop, a chunk at a time and only when a line is asked for.

    Raises OSError or NotImplementedError where the event loop cannot watch the descriptor.
    """

    def __init__(self, descriptor: int, limit: int) -> None:
        self._descriptor = descriptor
        self._assembler = LineAssembler(limit)
        self._lines: deque[Line] = deque()
        self._refused: Line | None = None  # the first of them, if nobody answered it
        self._has_ended = False
        self._waiting: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, _nothing)
        self._loop.remove_reader(descriptor)

    async def line(self, answered: Answering) -> Line | None:
        while True:
            while self._lines:
                line, refused = self._lines.popleft(), self._refused
                self._refused = None
                if line is refused or not answered(line):
                    return line
                await anyio.lowlevel.checkpoint()  # others are on their way too
            if self._has_ended:
                return None
            await self._more(answered)

    def close(self) -> None:
        self._has_ended = True
        self._lines.clear()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _more(self, answered: Answering) -> None:
        """Return when there are lines, of which the first was answered or refused, or no more."""
        self._waiting = waiting = self._loop.create_future()
        self._loop.add_reader(self._descriptor, self._look, answered, waiting)
        try:
            await waiting
        finally:
            self._loop.remove_reader(self._descriptor)

    def _look(self, answered: Answering, waiting: asyncio.Future[None]) -> None:
        """Read, and wake who waits but for a line that comes by itself and is answered."""
        if waiting.done():
            return
        try:
            self._read()
            if self._lines:
                if answered(self._lines[0]):
                    self._lines.popleft()
                else:
                    self._refused = self._lines[0]
        except Exception as error:  # goes to who waits, since nobody called this
            waiting.set_exception(error)
            return
        if self._lines or self._has_ended:
            waiting.set_result(None)

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:  # somebody else was quicker
            return
        except OSError:
            chunk = b""
        self._has_ended = not chunk
        self._lines.extend(self._assembler.feed(chunk) if chunk else self._assembler.finish())


def _nothing() -> None:
    """What is done while the event loop is only asked whether it can watch a descriptor."""


class ThreadedInput:
    """Reads in a thread that may be blocked when the process ends, and never more than one line ahead.

    The thread is a daemon of our own rather than one of anyio's, because it may be blocked in a read when
    the process ends. It reads the descriptor itself, because a buffered stream holds a lock, and waits for
    room by itself, because a coroutine of its own would be left over when the event loop ends.
    """

    def __init__(self, descriptor: int, limit: int) -> None:
        self._offered, self._lines = anyio.create_memory_object_stream[Line](1)
        self._room = threading.Semaphore()
        token = anyio.lowlevel.current_token()
        arguments = (descriptor, LineAssembler(limit), token)
        threading.Thread(target=self._run, args=arguments, name="docyard stdin", daemon=True).start()

    async def line(self, answered: Answering) -> Line | None:
        while True:
            try:
                line = await self._lines.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                return None
            self._room.release()
            if not answered(line):
                return line

    def close(self) -> None:
        self._offered.close()
        self._lines.close()

    def _run(self, descriptor: int, assembler: LineAssembler, token: anyio.lowlevel.EventLoopToken) -> None:
        with suppress(RuntimeError, CancelledError):  # the event loop has ended
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                while chunk := os.read(descriptor, _CHUNK):
                    for line in assembler.feed(chunk):
                        self._offer(line, token)
                for line in assembler.finish():
                    self._offer(line, token)
            anyio.from_thread.run_sync(self._offered.close, token=token)

    def _offer(self, line: Line, token: anyio.lowlevel.EventLoopToken) -> None:
        self._room.acquire()
        anyio.from_thread.run_sync(self._offered.send_nowait, line, token=token)
