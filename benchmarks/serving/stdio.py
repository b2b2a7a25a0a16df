"""A minimal MCP client over stdio, without the overhead of a client library."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.child import ROOT, MeasurementFailed, make_child_environment

PROTOCOL_VERSION = "2025-11-25"

REQUEST_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""The `_meta` of each request in the protocol version without a handshake."""


class StdioServer:
    """A server process and its client; `start_time` is the time just before the start.

    The server's log is `server.log` in `home`.
    """

    def __init__(self, command: Sequence[str], home: Path) -> None:
        self.start_time = time.perf_counter()
        self._log = (home / "server.log").open("a+")
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=make_child_environment(home),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        self._last_id = 0

    def __enter__(self) -> StdioServer:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def initialize(self) -> None:
        """Send `initialize` and the notification after it."""
        client = {"name": "benchmark", "version": "1"}
        self.request(
            "initialize", {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its result; ignore other messages. Raises MeasurementFailed."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method}
        self._send(message if parameters is None else message | {"params": parameters})
        assert self._process.stdout
        for line in self._process.stdout:
            response = json.loads(line)
            if response.get("id") == self._last_id:
                if "result" not in response:
                    raise MeasurementFailed(f"{method}: {response['error']}")
                return dict(response["result"])
        raise MeasurementFailed(f"{method}: the server exited")

    def read_cpu_seconds(self) -> float | None:
        """Return the server's processor time (proc(5), schedstat); None if the system lacks the value."""
        tasks = Path(f"/proc/{self._process.pid}/task")
        try:
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9
        except (OSError, ValueError, IndexError):
            return None

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
