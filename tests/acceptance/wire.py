"""A client that speaks the protocol by hand, so that a test decides when each end of the wire is closed."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests import warm
from tests.acceptance.server import CLIENT, surroundings

PATIENCE = 60.0  # seconds in which what must come has come
_SERVER = str(Path(__file__).with_name("patient_server.py"))
_NEWEST_OF_HANDSHAKE = "2025-11-25"

Message = dict[str, Any]


class Wire:
    """A server process, and both ends of its wire as bare descriptors."""

    def __init__(self, repo: Path, home: Path, *options: str) -> None:
        home.mkdir(exist_ok=True)
        self._log = home / "stderr"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                server_command(repo, *options),
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=surroundings(home),
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._unread = b""
        for line in handshake():
            self.write(line)
        self.receive()

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._stdin.fileno(), rest) :]

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write(line_of({"method": method, "params": params}))

    def request(
        self, number: int, tool: str, arguments: Mapping[str, Any], *, progress: bool = False
    ) -> None:
        """Ask for a call of a tool, and do not wait."""
        self.write(request_line(number, tool, arguments, progress=progress))

    def receive(self) -> Message:
        """The next message of the server's; EOFError if it has closed its end."""
        while b"\n" not in self._unread:
            assert select.select([self._stdout], [], [], PATIENCE)[0], "no message came"
            chunk = os.read(self._stdout.fileno(), 1 << 16)
            if not chunk:
                assert not self._unread, "the last line is cut"
                raise EOFError
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        message: Message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def call(self, number: int, tool: str, arguments: Mapping[str, Any]) -> Message:
        """Call a tool and wait for its answer: the structured content of the result."""
        self.request(number, tool, arguments)
        while (message := self.receive()).get("id") != number:
            pass
        data: Message = message["result"]["structuredContent"]
        return data

    def close_input(self) -> None:
        """Close the server's standard input."""
        self._stdin.close()

    def close_output(self) -> None:
        """Close the end at which the server's standard output is read."""
        self._stdout.close()

    def close(self) -> None:
        """Close both ends."""
        self.close_input()
        self.close_output()

    def rest(self) -> list[Message]:
        """Every message that comes until the server closes its end."""
        found: list[Message] = []
        try:
            while True:
                found.append(self.receive())
        except EOFError:
            return found

    def ended(self) -> tuple[int, str]:
        """The exit code of a server that must end by itself, and what it wrote to standard error."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.close()
        return code, self._log.read_text()


def server_command(repo: Path, *options: str) -> list[str]:
    """The command of a server, which a host starts; it is patient with locks that a test holds."""
    return [*warm.python(), _SERVER, "serve", "-C", str(repo), "--no-fsync", *options]


def handshake() -> tuple[bytes, bytes]:
    """The two lines with which a client of the handshake era begins."""
    params = {
        "protocolVersion": _NEWEST_OF_HANDSHAKE,
        "capabilities": {},
        "clientInfo": {"name": CLIENT, "version": "1"},
    }
    return (
        line_of({"id": "first", "method": "initialize", "params": params}),
        line_of({"method": "notifications/initialized"}),
    )


def request_line(number: int, tool: str, arguments: Mapping[str, Any], *, progress: bool = False) -> bytes:
    """The line of one call, with a token for progress if it is asked for."""
    params: Message = {"name": tool, "arguments": dict(arguments)}
    if progress:
        params["_meta"] = {"progressToken": number}
    return line_of({"id": number, "method": "tools/call", "params": params})


def line_of(message: Mapping[str, Any]) -> bytes:
    """A message as one line."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def until(is_so: Callable[[], object], what: str) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.005)
