"""Clients of a server over standard input and output: one that writes lines by hand, and the SDK's own."""

from __future__ import annotations

import json
import os
import select
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TextIO

from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import Implementation

from tests import warm

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0  # seconds in which what must come has come

Message = dict[str, Any]
Era = Literal["auto", "legacy"]

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

INITIALIZE: Message = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def serving(repo: Path, *options: str) -> list[str]:
    return [*warm.python(), "-m", "docyard", "serve", "-C", str(repo), "--no-fsync", *options]


def line_of(message: Mapping[str, Any]) -> bytes:
    """Write a message as one line."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def call_line(number: int, tool: str, arguments: object, *, progress: bool = False) -> bytes:
    """Write the line of one call, with a token for progress if it is asked for."""
    params: Message = {"name": tool, "arguments": arguments}
    if progress:
        params["_meta"] = {"progressToken": number}
    return line_of({"id": number, "method": "tools/call", "params": params})


HANDSHAKE = (line_of(INITIALIZE), line_of({"method": "notifications/initialized"}))


class ByHand:
    """A server process and both ends of its wire, so that a test decides when each is written or closed."""

    def __init__(
        self, command: Sequence[str], variables: Mapping[str, str] | None = None, *, handshake: bool = True
    ) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - it is read at the end
        self.process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment() if variables is None else variables,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._unread = b""
        if handshake:
            self.write(b"".join(HANDSHAKE))
            self.receive()

    def write(self, data: bytes) -> None:
        """Write bytes as they are."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._stdin.fileno(), rest) :]

    def send(self, line: bytes) -> None:
        """Write a line."""
        self.write(line + b"\n")

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write(line_of({"method": method, "params": params}))

    def receive(self) -> Message:
        """Return the next message of the server's; raise EOFError if it has closed its end."""
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

    def rest(self) -> list[Message]:
        """Return every message that comes until the server closes its end."""
        found: list[Message] = []
        try:
            while True:
                found.append(self.receive())
        except EOFError:
            return found

    def ask(self, message: Mapping[str, Any]) -> Message:
        """Send a message and return the next one that comes."""
        self.write(line_of(message))
        return self.receive()

    def request(self, identity: int, method: str, **params: object) -> Message:
        """Send a request and return the next message that comes."""
        return self.ask({"id": identity, "method": method, "params": params})

    def call(self, identity: int, tool: str, arguments: object) -> Message:
        """Call a tool and return the answer; messages before it are dropped."""
        self.write(call_line(identity, tool, arguments))
        while (message := self.receive()).get("id") != identity:
            pass
        return message

    def close_input(self) -> None:
        """Close the server's standard input."""
        self._stdin.close()

    def close_output(self) -> None:
        """Close the end at which the server's standard output is read."""
        self._stdout.close()

    def ended(self) -> tuple[int, str]:
        """Return the exit code of a server that must end by itself, and what it wrote to standard error."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.close_input()
            self.close_output()
        self._log.seek(0)
        return code, self._log.read().decode()

    def end(self) -> str:
        """Close the server's input, drop its last answers, and return what it wrote to standard error."""
        self.close_input()
        self.rest()
        return self.ended()[1]


@asynccontextmanager
async def connect(
    command: Sequence[str],
    era: Era = "auto",
    *,
    name: str = "tester",
    variables: Mapping[str, str] | None = None,
    receive: Callable[[Any], Awaitable[None]] | None = None,
    log: TextIO | None = None,
) -> AsyncIterator[Client]:
    """Start a server and connect the SDK's own client; `receive` gets what a `legacy` one is sent."""
    env = dict(environment() if variables is None else variables)
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=env)
    async with Client(
        stdio_client(parameters, errlog=log) if log else stdio_client(parameters),
        mode=era,
        client_info=Implementation(name=name, version="1"),
        message_handler=receive if era == "legacy" else None,
    ) as client:
        yield client
