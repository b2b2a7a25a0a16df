"""Clients of a server over standard input and output: a client of raw lines, and the SDK's client."""

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
from mcp.client.session import ElicitationFnT
from mcp_types import Implementation

from tests import fork_server

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 60.0  # seconds to wait for an expected message or exit

Message = dict[str, Any]
ProtocolMode = Literal["auto", "legacy"]

REQUEST_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw client", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}

INITIALIZE: Message = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw client", "version": "1"},
    },
}


def build_server_environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def build_serve_command(repo: Path, *options: str) -> list[str]:
    return [
        *fork_server.build_python_command(),
        "-m",
        "docyard",
        "serve",
        "-C",
        str(repo),
        "--no-fsync",
        *options,
    ]


def encode_line(message: Mapping[str, Any]) -> bytes:
    """Return a message as a line of JSON."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def encode_call(request_id: int, tool: str, arguments: object, *, progress: bool = False) -> bytes:
    """Return a call of a tool as a line of JSON. If `progress` is true, its id is also a progress token."""
    params: Message = {"name": tool, "arguments": arguments}
    if progress:
        params["_meta"] = {"progressToken": request_id}
    return encode_line({"id": request_id, "method": "tools/call", "params": params})


HANDSHAKE = (encode_line(INITIALIZE), encode_line({"method": "notifications/initialized"}))


class RawClient:
    """A server process and its pipes, which a test writes and closes at any time."""

    def __init__(
        self, command: Sequence[str], variables: Mapping[str, str] | None = None, *, handshake: bool = True
    ) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - read after the server's exit
        self.process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=build_server_environment() if variables is None else variables,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._unread = b""
        if handshake:
            self.write(b"".join(HANDSHAKE))
            self.receive()

    def write(self, data: bytes) -> None:
        """Write all bytes, unchanged."""
        remaining_data = memoryview(data)
        while remaining_data:
            remaining_data = remaining_data[os.write(self._stdin.fileno(), remaining_data) :]

    def send(self, line: bytes) -> None:
        """Write a line and its line break."""
        self.write(line + b"\n")

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.write(encode_line({"method": method, "params": params}))

    def receive(self) -> Message:
        """Return the next message of the server; raise EOFError if the server has closed its output."""
        while b"\n" not in self._unread:
            assert select.select([self._stdout], [], [], TIMEOUT_S)[0], "the server sent no message"
            chunk = os.read(self._stdout.fileno(), 1 << 16)
            if not chunk:
                assert not self._unread, "the last line is incomplete"
                raise EOFError
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        message: Message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def receive_all(self) -> list[Message]:
        """Return all messages until the server closes its output."""
        messages: list[Message] = []
        try:
            while True:
                messages.append(self.receive())
        except EOFError:
            return messages

    def exchange(self, message: Mapping[str, Any]) -> Message:
        """Send a message and return the next message."""
        self.write(encode_line(message))
        return self.receive()

    def request(self, request_id: int, method: str, **params: object) -> Message:
        """Send a request and return the next message."""
        return self.exchange({"id": request_id, "method": method, "params": params})

    def call(self, request_id: int, tool: str, arguments: object) -> Message:
        """Call a tool and return the response; discard earlier messages."""
        self.write(encode_call(request_id, tool, arguments))
        while (message := self.receive()).get("id") != request_id:
            pass
        return message

    def close_input(self) -> None:
        """Close the server's standard input."""
        self._stdin.close()

    def close_output(self) -> None:
        """Close the reading end of the server's standard output."""
        self._stdout.close()

    def wait_for_exit(self) -> tuple[int, str]:
        """Wait for the server to exit; return its exit code and standard error. Kill it at the timeout."""
        try:
            code = self.process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self.close_input()
            self.close_output()
        self._log.seek(0)
        return code, self._log.read().decode()

    def close(self) -> str:
        """Close the server's input, discard its last messages, and return its standard error."""
        self.close_input()
        self.receive_all()
        return self.wait_for_exit()[1]


@asynccontextmanager
async def connect(
    command: Sequence[str],
    protocol: ProtocolMode = "auto",
    *,
    name: str = "tester",
    variables: Mapping[str, str] | None = None,
    receive: Callable[[Any], Awaitable[None]] | None = None,
    log: TextIO | None = None,
    elicit: ElicitationFnT | None = None,
    folder: Path | None = None,
) -> AsyncIterator[Client]:
    """Start a server and yield the SDK's client. `receive` handles messages if `protocol` is `legacy`.

    `elicit` responds to requests for the user; without it, the client supports none. `folder` is the current
    directory of the server.
    """
    env = dict(build_server_environment() if variables is None else variables)
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=env, cwd=folder)
    async with Client(
        stdio_client(parameters, errlog=log) if log else stdio_client(parameters),
        mode=protocol,
        client_info=Implementation(name=name, version="1"),
        message_handler=receive if protocol == "legacy" else None,
        elicitation_callback=elicit,
    ) as client:
        yield client
