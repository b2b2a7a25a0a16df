"""A server process that serves web pages, and an agent that calls the server's tools over HTTP."""

from __future__ import annotations

import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from tests.acceptance.server import build_user_environment
from tests.repositories import Repo

TIMEOUT_S = 60  # for the start or exit of a server


@dataclass(frozen=True, slots=True)
class PageServer:
    """A running server. `url` has no slash at the end; `token` is part of its printed address."""

    repo: Repo
    url: str
    token: str

    @contextmanager
    def connect_agent(self, name: str = "writing-agent") -> Iterator[Agent]:
        """Yield an agent with a connection to /mcp."""
        headers = {"Authorization": f"Bearer {self.token}"}
        with start_blocking_portal() as portal:
            http = httpx2.AsyncClient(headers=headers, timeout=TIMEOUT_S)
            transport = streamable_http_client(f"{self.url}/mcp", http_client=http)
            client = Client(transport, client_info=Implementation(name=name, version="1"))
            with (
                portal.wrap_async_context_manager(http),
                portal.wrap_async_context_manager(client) as connected_client,
            ):
                yield Agent(portal, connected_client)


class Agent:
    """A client of /mcp whose calls must succeed."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal = portal
        self._client = client

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool, and return its data."""
        result = self._portal.call(self._client.call_tool, tool, arguments)
        data = result.structured_content
        assert isinstance(data, dict)
        assert not result.is_error, data
        return data


@contextmanager
def start_page_server(repo: Repo, home: Path, *options: str) -> Iterator[PageServer]:
    """Start a server for the pages of a repository, on a free port; terminate the server after the block."""
    home.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "docyard", "serve", "-C", str(repo.path), "--no-fsync"]
    with (home / "log").open("w+b") as log:
        process = subprocess.Popen(
            [*command, "--http", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env=build_user_environment(home),
        )
        assert process.stdout is not None
        try:
            line = b""
            if select.select([process.stdout], [], [], TIMEOUT_S)[0]:
                line = process.stdout.readline()
            assert line, f"the server did not start:\n{(home / 'log').read_text()}"
            url = urlsplit(line.decode().strip())
            [token] = parse_qs(url.query).get("token", [""])
            yield PageServer(repo, f"http://{url.netloc}", token)
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)
            process.stdout.close()
