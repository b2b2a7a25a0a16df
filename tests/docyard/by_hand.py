"""A client that speaks the protocol by hand: whatever it likes, one line after the other."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests import warm

ROOT = Path(__file__).resolve().parents[2]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "by hand", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def serving(repo: Path, *options: str) -> list[str]:
    return [*warm.python(), "-m", "docyard", "serve", "-C", str(repo), "--no-fsync", *options]


class ByHand:
    """A client that writes lines and reads lines."""

    def __init__(self, command: Sequence[str], *, handshake: bool = True) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
        )
        if handshake:
            self.ask(INITIALIZE)
            self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')

    def send(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, message: object) -> dict[str, Any]:
        self.send(json.dumps(message).encode())
        return self.receive()

    def request(self, identity: int, method: str, **params: object) -> dict[str, Any]:
        return self.ask({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})

    def call(self, identity: int, tool: str, arguments: object) -> dict[str, Any]:
        parameters = {"name": tool, "arguments": arguments}
        return self.ask({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": parameters})

    def end(self) -> str:
        _, errors = self.process.communicate(timeout=40)
        return errors.decode()
