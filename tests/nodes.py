"""Processes of `docyard serve` that are nodes: each has a clone of its own, and all write one repository."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from tests.acceptance.server import ToolResponse, build_user_environment
from tests.repositories import Repo

START_TIMEOUT_S = 120.0
CALL_TIMEOUT_S = 90.0
_HEADERS = {"Accept": "application/json"}


class NodeUnreachable(Exception):
    """A node does not answer, so the result of the call is unknown."""


def call_node(
    url: str, tool: str, timeout_s: float = CALL_TIMEOUT_S, token: str | None = None, **arguments: Any
) -> ToolResponse:
    """Call a tool of a node, with a token if it needs one. Raises NodeUnreachable."""
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    timeout = httpx2.Timeout(timeout_s, connect=5.0)
    try:
        headers = _HEADERS if token is None else {**_HEADERS, "Authorization": f"Bearer {token}"}
        response = httpx2.post(f"{url}/mcp", json=message, headers=headers, timeout=timeout)
        response.raise_for_status()
        result = response.json()["result"]
    except (httpx2.HTTPError, json.JSONDecodeError, KeyError) as error:
        raise NodeUnreachable(str(error)) from error
    return ToolResponse(result["structuredContent"], result["content"][0]["text"], bool(result["isError"]))


class NodeProcess:
    """The process of one node. The fork server of other tests would keep signals from it."""

    def __init__(self, folder: Path, clone: Path, database_url: str, *options: str) -> None:
        folder.mkdir()
        self.clone = Repo(clone)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._folder = folder
        (folder / "server.toml").write_text("")
        self._command = [
            *(sys.executable, "-m", "docyard", "serve", "-C", str(clone), "--http", f"127.0.0.1:{port}"),
            *(() if "--token-file" in options else ("--no-token",)),
            *("--no-fsync", "--config", str(folder / "server.toml"), *options),
        ]
        self._variables = {
            **build_user_environment(folder),
            "DOCYARD_SERVER__ENGINE__URL": database_url,
            "DOCYARD_SERVER__ENGINE__NODE_URL": self.url,
        }
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env=self._variables,
            )

    def restart(self) -> None:
        """Start the process again after its end, with the same clone and URL."""
        self.process.wait(START_TIMEOUT_S)
        self._close_output()
        self.process = self._start()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait until the node accepts requests."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("http"), self.read_log()

    def read_log(self) -> str:
        """Return the standard error so far."""
        return (self._folder / "log").read_text()

    def call(self, tool: str, **arguments: Any) -> ToolResponse:
        """Call a tool. Raises NodeUnreachable."""
        return call_node(self.url, tool, **arguments)

    def send_signal(self, signal_number: int) -> None:
        """Send a signal to the process."""
        self.process.send_signal(signal_number)

    def end(self) -> None:
        """Kill the process, also if it is stopped."""
        self.process.kill()
        self.process.wait()
        self._close_output()

    def _close_output(self) -> None:
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def run_nodes(
    folder: Path, remote_repo: Repo, database_url: str, count: int, *options: str
) -> Iterator[list[NodeProcess]]:
    """Run nodes, each with a bare clone of the repository."""
    with ExitStack() as stack:
        nodes: list[NodeProcess] = []
        for number in range(count):
            clone = folder / f"node-{number}.git"
            remote_repo.git("clone", "-q", "--bare", str(remote_repo.path), str(clone))
            nodes.append(NodeProcess(folder / f"node-{number}", clone, database_url, *options))
            stack.callback(nodes[-1].end)
        for node in nodes:
            node.wait_until_ready()
        yield nodes


def find_writer(database_url: str, nodes: list[NodeProcess]) -> NodeProcess:
    """Return the node that has the lease, after waiting for one."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        url = read_lease(database_url)[0]
        for node in nodes:
            if node.url == url:
                return node
        assert time.monotonic() < deadline, "no node writes"
        time.sleep(0.1)


def read_lease(database_url: str) -> tuple[str | None, int]:
    """Return the URL of the node that has the lease, or None, and the last fencing token."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        try:
            row = connection.execute(
                "SELECT CASE WHEN expires_at > clock_timestamp() THEN url END, token "
                "FROM docyard_writer_leases"
            ).fetchone()
        except psycopg.errors.UndefinedTable:
            row = None
    return (None, 0) if row is None else (row[0], row[1])


@contextmanager
def stop_process(node: NodeProcess) -> Iterator[None]:
    """Stop a process during a block, as a machine that is paused."""
    os.kill(node.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(node.process.pid, signal.SIGCONT)
