"""Versions of Docyard as processes: the present version, and 0.1.0 from the history of this repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
VERSION_0_1_0 = "99817b90524cd1140ac549ba255de2b0a94f20e5"
"""The commit that is version 0.1.0."""

_FIXED_CLOCK_SCRIPT = Path(__file__).with_name("fixed_clock.py")
_PROTOCOL_VERSION = "2025-11-25"
_PACKAGES = ("docyard", "tools", "index", "workspace", "templates")


class CommitMissing(Exception):
    """The commit of a version is not in this clone."""


def extract_code(commit: str, folder: Path) -> Path:
    """Write the packages of a commit of this repository into a folder. Raises CommitMissing."""
    process = subprocess.run(
        ["git", "archive", "--format=tar", commit, *_PACKAGES], cwd=ROOT, capture_output=True, check=False
    )
    if process.returncode:
        raise CommitMissing(f"commit {commit[:8]} is not in this clone (it is shallow, or an archive)")
    with tarfile.open(fileobj=BytesIO(process.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@dataclass(slots=True)
class Client:
    """A client of one server over stdio."""

    process: subprocess.Popen[bytes]
    _last_request_id: int = 0

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured content, also for an error."""
        self._last_request_id += 1
        response = self._request("tools/call", {"name": tool, "arguments": arguments})
        result: dict[str, Any] = response["result"]["structuredContent"]
        return result

    def initialize(self) -> None:
        """Exchange the messages of the handshake."""
        client_info = {"name": "compatibility", "version": "1"}
        self._request(
            "initialize",
            {"protocolVersion": _PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client_info},
        )
        self._send({"method": "notifications/initialized"})

    def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._send({"id": self._last_request_id, "method": method, "params": params})
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._last_request_id:
                return message
        raise EOFError(f"the server exited with {self.process.wait()} before its response to {method}")

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


@dataclass(slots=True)
class Version:
    """The code of a version, and the home folder of a user without settings.

    With `timestamp`, the clock and the random numbers of each process are fixed, so the same calls write the
    same bytes.
    """

    code: Path
    home: Path
    timestamp: int | None = None
    variables: dict[str, str] = field(default_factory=dict)

    def build_environment(self) -> dict[str, str]:
        """Return the environment variables of a process."""
        prefixes = ("DOCYARD_", "GIT_", "PYTHON", "XDG_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
        folders = {name: str(self.home / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME")}
        self.home.mkdir(parents=True, exist_ok=True)
        return {
            **inherited,
            **folders,
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PYTHONPATH": str(self.code),
            "PYTHONHASHSEED": "0",
            **self.variables,
        }

    def build_command(self, *arguments: object) -> list[str]:
        """Return the command line of a process; advance the fixed clock, if any, by a minute."""
        if self.timestamp is None:
            return [sys.executable, "-m", "docyard", *map(str, arguments)]
        self.timestamp += 60
        return [sys.executable, str(_FIXED_CLOCK_SCRIPT), str(self.timestamp), *map(str, arguments)]

    def run(self, *arguments: object, exit_code: int = 0) -> str:
        """Run a command and return its standard output."""
        process = subprocess.run(
            self.build_command(*arguments),
            cwd=self.code,
            env=self.build_environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert process.returncode == exit_code, (
            arguments,
            process.returncode,
            process.stdout + process.stderr,
        )
        return process.stdout

    @contextmanager
    def serve(self, *options: object) -> Iterator[Client]:
        """Start a server, yield its client, and stop the server by closing its input."""
        process = subprocess.Popen(
            self.build_command("serve", *options),
            cwd=self.code,
            env=self.build_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        client = Client(process)
        try:
            client.initialize()
            yield client
        finally:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            try:
                process.wait(60)
            finally:
                process.kill()
                process.wait()
                process.stdout.close()
