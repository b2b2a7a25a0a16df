"""A TCP proxy that cuts connections, in its own process.

In the test process, the proxy would share file descriptors with the tested code: a thread that blocks in
`accept` waits on a descriptor number, and would accept connections of a later socket with that number.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

HOST = "127.0.0.1"
_ROOT = Path(__file__).parents[3]


class Proxy:
    """A context manager that runs a proxy between a client and a server."""

    def __init__(self, target_port: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(target_port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=_ROOT,
        )
        self.port = self._read_response()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def cut(self, after_bytes: int | None, *, upward: bool = False, keep_open: bool = False) -> None:
        """Close later connections after `after_bytes` bytes in total.

        The bytes are those to the client, or to the server if `upward`. None forwards everything. With
        `keep_open`, connections stay open, but no more bytes are forwarded.
        """
        self._request({"after_bytes": after_bytes, "upward": upward, "keep_open": keep_open})

    def count_forwarded_bytes(self, *, upward: bool) -> int:
        """Return the number of bytes to the client, or to the server if `upward`, since the last `cut`."""
        return self._request({"count_upward": upward})

    def _request(self, request: dict[str, int | bool | None]) -> int:
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return self._read_response()

    def _read_response(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@dataclass
class CutRule:
    """The total byte limit of connections that begin while the rule is active, and their forwarded bytes."""

    after_bytes: int | None = None
    upward: bool = False
    keep_open: bool = False
    forwarded_bytes: list[int] = field(default_factory=lambda: [0, 0])

    def forward(self, source: socket.socket, sink: socket.socket, upward: bool) -> None:
        """Forward bytes from `source` to `sink`, until the source ends or the limit is reached."""
        with suppress(OSError):
            while data := source.recv(4096):
                if self.after_bytes is not None and upward == self.upward:
                    remaining = max(0, self.after_bytes - self.forwarded_bytes[upward])
                    if len(data) > remaining:
                        sink.sendall(data[:remaining])
                        self.forwarded_bytes[upward] += remaining
                        self._end_connection(source, sink)
                        return
                self.forwarded_bytes[upward] += len(data)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def _end_connection(self, *sockets: socket.socket) -> None:
        if self.keep_open:
            threading.Event().wait()
        for connection in sockets:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class Relay:
    """The part of the proxy that runs in its own process."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.rule = CutRule()
        self.listener = socket.create_server((HOST, 0))

    def accept(self) -> None:
        """Accept connections until the process ends."""
        while True:
            client, _ = self.listener.accept()
            rule = self.rule
            server = socket.create_connection((HOST, self.target_port))
            for arguments in ((client, server, True), (server, client, False)):
                threading.Thread(target=rule.forward, args=arguments, daemon=True).start()

    def execute_requests(self) -> None:
        """Execute each request from standard input, and print a number as the result."""
        print(self.listener.getsockname()[1], flush=True)
        for line in sys.stdin:
            request = json.loads(line)
            if "count_upward" in request:
                print(self.rule.forwarded_bytes[request["count_upward"]], flush=True)
            else:
                self.rule = CutRule(**request)
                print(0, flush=True)


if __name__ == "__main__":
    relay = Relay(int(sys.argv[1]))
    threading.Thread(target=relay.accept, daemon=True).start()
    relay.execute_requests()
