"""Lines to standard output, written in a thread that a client who reads no more cannot hold up for ever."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from queue import SimpleQueue

import anyio
import anyio.from_thread
import anyio.lowlevel

# A blocked write tells nothing of what it has written so far, so much goes into one.
_CHUNK = 64 * 1024
_LOOKS = 10  # how often a stall is looked for within the time after which it is one


class Output:
    """Writes whole lines to a descriptor, one after the other.

    The thread is a daemon and writes to a copy of the descriptor: it may be blocked when the process ends,
    and must never write to a file that was given the same number meanwhile.
    """

    def __init__(self, descriptor: int) -> None:
        self._lines: SimpleQueue[_Line | None] = SimpleQueue()
        self._waiting_since: float | None = None
        copy, token = os.dup(descriptor), anyio.lowlevel.current_token()
        threading.Thread(target=self._run, args=(copy, token), name="docyard stdout", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Write a line and return when all of it is written. Errors: OSError if nobody reads any more."""
        waiting = _Line(line)
        self._waiting_since = time.monotonic()
        self._lines.put(waiting)
        await waiting.done.wait()
        self._waiting_since = None
        if waiting.error:
            raise waiting.error

    def close(self) -> None:
        """End the thread when it has written what it was given."""
        self._lines.put(None)

    async def stalled(self, limit: float) -> None:
        """Return when a line waits and for `limit` seconds nothing of it could be written."""
        while self._waiting_since is None or time.monotonic() - self._waiting_since < limit:
            await anyio.sleep(limit / _LOOKS)

    def _run(self, descriptor: int, token: anyio.lowlevel.EventLoopToken) -> None:
        with suppress(RuntimeError, CancelledError):  # the event loop has ended
            while (line := self._lines.get()) is not None:
                try:
                    for start in range(0, len(line.data), _CHUNK):
                        _write_all(descriptor, line.data[start : start + _CHUNK])
                        self._waiting_since = time.monotonic()
                except OSError as error:
                    line.error = error
                anyio.from_thread.run_sync(line.done.set, token=token)
        os.close(descriptor)


class _Line:
    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self.done = anyio.Event()
        self.error: OSError | None = None


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
