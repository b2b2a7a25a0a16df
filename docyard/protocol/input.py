"""Lines from standard input, read in a thread that may be blocked when the process ends."""

from __future__ import annotations

import os
import threading
from concurrent.futures import CancelledError
from contextlib import suppress

import anyio
import anyio.from_thread
import anyio.lowlevel

from docyard.stdin import LineAssembler, Oversized

_CHUNK = 256 * 1024

Line = bytes | Oversized


class Input:
    """Reads the lines of a descriptor, and never more than one ahead.

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

    async def line(self) -> Line | None:
        """Give the next line without its line break; None when the client has closed its end."""
        try:
            line = await self._lines.receive()
        except anyio.EndOfStream:
            return None
        self._room.release()
        return line

    def close(self) -> None:
        """Read no more."""
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
