"""Lines to standard output, which a client who reads no more cannot hold up for ever.

What a pipe takes without waiting is written at once; the rest is written in a thread.
"""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import threading
import time
from array import array
from concurrent.futures import CancelledError
from contextlib import suppress
from queue import SimpleQueue

import anyio
import anyio.from_thread
import anyio.lowlevel

if sys.platform == "linux":
    import fcntl
    import termios

# A line that a pipe hardly takes at once would only keep the event loop from others.
_AT_ONCE = 64 * 1024

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
        self._queued: list[_Line] = []
        self._moved = 0.0
        copy, token = os.dup(descriptor), anyio.lowlevel.current_token()
        self._pipe = _Pipe(copy) if _is_pipe(copy) else None
        threading.Thread(target=self._run, args=(copy, token), name="docyard stdout", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Write a line and return when all of it is written. Errors: OSError if nobody reads any more.

        It is written to its end even if who waits for that is cancelled.
        """
        rest = memoryview(line)
        if self._pipe and not self._queued and len(line) <= _AT_ONCE:
            rest = self._pipe.take(rest)
        if rest:
            await self._enqueue(rest)

    @property
    def is_free(self) -> bool:
        """Whether all that was written has been read, as far as that can be told."""
        return self._pipe is not None and not self._queued and self._pipe.is_free

    def write_at_once(self, line: bytes) -> bool:
        """Write a line if that cannot wait; else nothing of it. Errors: OSError if nobody reads any more."""
        return self.is_free and self._pipe is not None and self._pipe.take_whole(line)

    def close(self) -> None:
        """End the thread when it has written what it was given."""
        self._lines.put(None)

    def abandon(self) -> None:
        """Let nobody wait any longer for what is not written yet: it fails as if the client had gone."""
        for line in self._queued:
            line.error = BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
            line.done.set()

    async def stalled(self, limit: float) -> None:
        """Return when a line waits and for `limit` seconds nothing of it could be written."""
        while not self._queued or time.monotonic() - self._moved < limit:
            await anyio.sleep(limit / _LOOKS)

    async def _enqueue(self, data: memoryview) -> None:
        line = _Line(data)
        if not self._queued:
            self._moved = time.monotonic()
        self._queued.append(line)
        self._lines.put(line)
        await line.done.wait()
        if line.error:
            raise line.error

    def _run(self, descriptor: int, token: anyio.lowlevel.EventLoopToken) -> None:
        with suppress(RuntimeError, CancelledError):  # the event loop has ended
            while (line := self._lines.get()) is not None:
                error: OSError | None = None
                try:
                    for start in range(0, len(line.data), _CHUNK):
                        _write_all(descriptor, line.data[start : start + _CHUNK])
                        self._moved = time.monotonic()
                except OSError as failure:
                    error = failure
                anyio.from_thread.run_sync(self._settle, line, error, token=token)
        os.close(descriptor)

    def _settle(self, line: _Line, error: OSError | None) -> None:
        self._queued.remove(line)
        line.error = line.error or error
        line.done.set()


class _Line:
    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.done = anyio.Event()
        self.error: OSError | None = None


def _write_all(descriptor: int, data: memoryview) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class _Pipe:
    """The end of a pipe that can be asked for room."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)
        self._capacity = _capacity(descriptor)

    def take(self, data: memoryview) -> memoryview:
        """Write as much as does not wait, and give the rest.

        A pipe that has room takes PIPE_BUF bytes without waiting (POSIX.1-2024, write); where it can be asked
        whether it is empty, all that it holds: each write wakes the reader, who is still busy with the last.
        """
        if len(data) > select.PIPE_BUF and self._capacity and self._is_empty():
            data = data[os.write(self._descriptor, data[: self._capacity]) :]
        while data and self._room.poll(0):
            data = data[os.write(self._descriptor, data[: select.PIPE_BUF]) :]
        return data

    @property
    def is_free(self) -> bool:
        """Whether it is known to be empty."""
        return bool(self._capacity) and self._is_empty()

    def take_whole(self, data: bytes) -> bool:
        """Write all of it to the pipe, which is free, if it can hold as much."""
        if len(data) > self._capacity:
            return False
        os.write(self._descriptor, data)
        return True

    def _is_empty(self) -> bool:
        unread = array("i", [1])
        fcntl.ioctl(self._descriptor, termios.FIONREAD, unread)
        return unread[0] == 0


def _capacity(descriptor: int) -> int:
    """Give how many bytes an empty pipe holds; 0 where that, or whether it is empty, cannot be told."""
    if sys.platform != "linux" or not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        return 0
    return fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)


def _is_pipe(descriptor: int) -> bool:
    """Whether this is a pipe or a socket, on a system that can tell whether it has room."""
    mode = os.fstat(descriptor).st_mode
    return hasattr(select, "poll") and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))
